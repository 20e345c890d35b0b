//! What a worker says, made fit to be kept: without secrets, bounded, and without what a database cannot hold.
//!
//! In this order, always: a secret that was cut is no longer known as one.

use crate::{
    payload,
    secrets::Redactor,
    transition::{Ending, Snooze},
};
use leasehold_types::{Problem, ProblemCode};
use serde_json::Value;

/// The most of one line that is kept, in characters.
pub const LONGEST_LINE: usize = 8 * 1024;
pub const LONGEST_MESSAGE: usize = 500;
const LONGEST_ERROR: usize = 4_000;
const LONGEST_STACK: usize = 64 * 1024;
pub const LONGEST_CODE: usize = 64;

/// A result or a checkpoint: `PAYLOAD_TOO_LARGE` beyond `most` bytes of JSON; `INVALID_INPUT` for what no database can keep.
pub fn check_json(what: &str, value: &Value, most: usize) -> Result<(), Problem> {
    let size = value.to_string().len();
    if size > most {
        let detail = format!("The {what} has {size} bytes; at most {most} are allowed. Nothing was changed.");
        return Err(Problem::new(ProblemCode::PayloadTooLarge, detail));
    }
    payload::check_content(value).map_err(|_| {
        Problem::invalid(what, "It is nested too deeply or contains a NUL character. Nothing was changed.")
    })
}

pub fn bounded(ending: Ending, redactor: &Redactor) -> Ending {
    let mut failure = match ending {
        Ending::Failed(failure) => failure,
        Ending::Snoozed(snooze) => {
            let message = said(redactor, &snooze.message, LONGEST_ERROR);
            return Ending::Snoozed(Snooze { message, ..snooze });
        }
        ending => return ending,
    };
    failure.message = said(redactor, &failure.message, LONGEST_ERROR);
    failure.stack = failure.stack.map(|stack| said(redactor, &stack, LONGEST_STACK));
    failure.error_code =
        failure.error_code.map(|code| said(redactor, &code, LONGEST_CODE)).filter(|c| !c.is_empty());
    Ending::Failed(failure)
}

/// The first `most` characters of what is left without secrets.
pub fn said(redactor: &Redactor, text: &str, most: usize) -> String {
    clean(&redactor.text(text), most)
}

/// Text a database can keep.
pub fn clean(text: &str, most: usize) -> String {
    text.chars().map(|c| if c == '\0' { '\u{fffd}' } else { c }).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::corpus;
    use crate::transition::Failure;

    #[test]
    fn no_secret_survives_being_cut_wherever_the_cut_falls() {
        let redactor = Redactor::default();
        for secret in corpus::secrets() {
            let text = format!("{} {}", "x".repeat(LONGEST_CODE - 20), secret.text);
            let failure = Failure {
                error_code: Some(text.clone()),
                message: format!("{} {}", "x".repeat(LONGEST_ERROR - 20), secret.text),
                stack: Some(format!("{} {}", "x".repeat(LONGEST_STACK - 20), secret.text)),
                ..Failure::default()
            };
            let Ending::Failed(kept) = bounded(Ending::Failed(failure), &redactor) else { panic!() };
            let shown = format!("{:?} {} {:?}", kept.error_code, kept.message, kept.stack);
            // What was before the cut is at most what announces the secret.
            let seen = &secret.core[..6];
            assert!(!shown.contains(seen), "{}: {shown}", secret.kind);
        }
    }
}
