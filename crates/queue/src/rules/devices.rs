//! Devices that have signed in before. A browser keeps a token that says so, signed with the installation's secret and
//! bound to one account. It opens nothing: it only lets its owner try a password while others are braked.

use crate::signing::Signer;
use leasehold_types::Timestamp;
use std::time::Duration;

/// How long a device is remembered after the last sign-in.
pub const REMEMBERED: Duration = Duration::from_secs(180 * 86_400);
/// A longer one was not made here.
const LONGEST_TOKEN: usize = 200;
const PURPOSE: &str = "device";

/// The token of a device for an account; both are names without spaces, such as hashes.
pub fn token(signer: &Signer, device: &str, account: &str, now: Timestamp) -> String {
    let expires = now.plus(REMEMBERED).secs();
    format!("{device}.{expires}.{}", signer.signature(PURPOSE, &statement(device, account, expires)))
}

/// The device's name, if the token is genuine, for this account, and not too old.
pub fn check<'a>(signer: &Signer, token: &'a str, account: &str, now: Timestamp) -> Option<&'a str> {
    if token.len() > LONGEST_TOKEN {
        return None;
    }
    let (device, rest) = token.split_once('.')?;
    let (expires, signature) = rest.split_once('.')?;
    let expires: i64 = expires.parse().ok()?;
    let genuine = signer.is_genuine(PURPOSE, &statement(device, account, expires), signature, now);
    (genuine && now < Timestamp::from_secs(expires)).then_some(device)
}

fn statement(device: &str, account: &str, expires: i64) -> String {
    format!("{device} of {account} until {expires}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signing::SigningKey;

    const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);

    fn signer(secret: &str) -> Signer {
        let key = SigningKey { secret: secret.to_owned(), created_at: NOW };
        Signer::new(&[key], Duration::from_secs(3_600)).unwrap()
    }

    #[test]
    fn a_device_is_known_for_its_account_and_its_time() {
        let (ours, theirs) = (signer("secret"), signer("other"));
        let made = token(&ours, "d1", "ann", NOW);
        assert_eq!(check(&ours, &made, "ann", NOW), Some("d1"));
        assert_eq!(check(&ours, &made, "bob", NOW), None, "of one account only");
        assert_eq!(check(&ours, &made, "ann", NOW.plus(REMEMBERED)), None, "not for ever");
        assert_eq!(check(&theirs, &made, "ann", NOW), None);
        for wrong in ["", "d1", "d1.9", "d1.x.00", &made.replace("d1.", "d2."), &"x".repeat(500)] {
            assert_eq!(check(&ours, wrong, "ann", NOW), None, "{wrong}");
        }
    }
}
