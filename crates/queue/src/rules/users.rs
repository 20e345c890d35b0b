//! Accounts: the first of them, the last who governs, and the links that open them.

use leasehold_types::{Problem, ProblemCode, Timestamp, UserId};

/// The setting that holds the hash of the one-time setup token.
pub const SETUP_TOKEN: &str = "setup_token";
/// Who made the first account.
pub const SETUP_LINK: &str = "the setup link";

/// The setup link works while it has not expired and nobody has an account.
pub fn check_setup_link(
    kept: Option<(String, Option<Timestamp>)>,
    token_hash: &str,
    has_users: bool,
    now: Timestamp,
) -> Result<(), Problem> {
    let fits = kept
        .is_some_and(|(hash, expires_at)| hash == token_hash && expires_at.is_none_or(|expiry| expiry > now));
    if fits && !has_users {
        return Ok(());
    }
    let detail = "This setup link was used, has expired or was never valid. Nothing was changed.";
    Err(Problem::new(ProblemCode::SetupLinkInvalid, detail))
}

/// Somebody who governs can always sign in. `governing` are those who can now.
pub fn check_super_admin_stays(governing: &[UserId], disabled: UserId) -> Result<(), Problem> {
    if governing != [disabled] {
        return Ok(());
    }
    let detail = "This is the last super-admin who can sign in. Nothing was changed.";
    Err(Problem::new(ProblemCode::Forbidden, detail))
}

pub fn no_such_user() -> Problem {
    Problem::not_found("This user")
}

pub fn email_taken() -> Problem {
    let detail = "A user with this e-mail exists already. Nothing was changed.";
    Problem::new(ProblemCode::AlreadyExists, detail).with_field("email", detail)
}

pub fn no_such_invitation() -> Problem {
    Problem::not_found("This invitation")
}

/// Says the same whatever is wrong with it: who tries links learns nothing.
pub fn link_invalid() -> Problem {
    let detail =
        "This link was used, has expired or was never valid. Ask for a new one; nothing was changed.";
    Problem::new(ProblemCode::SetupLinkInvalid, detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    const NOW: Timestamp = Timestamp::from_secs(1_000);

    #[test]
    fn the_setup_link_works_once_in_time_and_for_the_first() {
        let kept = |expiry| Some(("hash".to_owned(), expiry));
        let works = |kept, hash, users| check_setup_link(kept, hash, users, NOW).is_ok();
        assert!(works(kept(None), "hash", false));
        assert!(works(kept(Some(NOW.plus_secs(1))), "hash", false));
        assert!(!works(kept(Some(NOW)), "hash", false), "expired");
        assert!(!works(kept(None), "other", false));
        assert!(!works(kept(None), "hash", true));
        assert!(!works(None, "hash", false), "used");
    }

    #[test]
    fn one_super_admin_stays() {
        let (ann, bob) = (UserId(Uuid::from_u128(1)), UserId(Uuid::from_u128(2)));
        assert!(check_super_admin_stays(&[ann], ann).is_err());
        assert!(check_super_admin_stays(&[ann, bob], ann).is_ok());
        assert!(check_super_admin_stays(&[ann], bob).is_ok());
    }
}
