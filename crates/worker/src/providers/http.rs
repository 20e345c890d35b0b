//! What an HTTP answer, or the lack of one, means for a unit.

use leasehold_queue::units::UnitError;
use leasehold_types::ErrorClass;
use std::time::Duration;

/// So much of a provider's own words is kept.
const WORDS_KEPT: usize = 300;

/// The error for a status that is not a success. `said` is the beginning of the body, without the key.
pub fn refused(status: u16, retry_after: Option<&str>, said: &str) -> UnitError {
    let message = match said.trim() {
        "" => format!("The provider answered with status {status}."),
        said => {
            let said: String = said.chars().take(WORDS_KEPT).collect();
            format!("The provider answered with status {status}: {said}")
        }
    };
    let wish = retry_after.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
    let passing = |code, class| UnitError { retry_after: wish, ..UnitError::passing(code, class, &*message) };
    match status {
        429 => passing("rate_limited", ErrorClass::RateLimited),
        408 => passing("provider_timeout", ErrorClass::NetworkTimeout),
        500..=599 => passing("model_overloaded", ErrorClass::ModelOverloaded),
        401 | 403 => UnitError::permanent("provider_refused_key", ErrorClass::DependencyUnavailable, message),
        _ => UnitError::permanent("provider_refused", ErrorClass::ValidationError, message),
    }
}

/// The error when there was no answer, or only half of one.
pub fn unreachable(error: &reqwest::Error) -> UnitError {
    // The address is the operator's business; the reason is enough here.
    let why = if error.is_timeout() {
        "it took too long"
    } else if error.is_connect() {
        "no connection could be made"
    } else {
        "the connection broke"
    };
    let code = if error.is_timeout() { "provider_timeout" } else { "provider_unreachable" };
    UnitError::passing(code, ErrorClass::NetworkTimeout, format!("The provider could not be asked: {why}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_retried_and_what_will_not_is_not() {
        let busy = refused(429, Some("7"), "slow down");
        assert_eq!((busy.code.as_str(), busy.retryable), ("rate_limited", true));
        assert_eq!(busy.retry_after, Some(Duration::from_secs(7)));
        assert!(refused(503, None, "").retryable && refused(408, None, "").retryable);
        for status in [400, 401, 404, 422] {
            assert!(!refused(status, None, "no").retryable, "{status}");
        }
    }

    #[test]
    fn long_words_are_cut() {
        assert!(refused(500, None, &"x".repeat(10_000)).message.len() < 400);
    }
}
