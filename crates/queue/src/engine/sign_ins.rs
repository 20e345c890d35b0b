//! Knocking: attempts at a password are counted, known devices pass, and what came of it is in the audit log.

use super::{Engine, attachments::KEYS_FRESH};
use crate::{
    audit::NewAuditEntry,
    devices,
    refusals::Refusal,
    scope::{Actor, Permission, Reach, Scope},
    signing::fresh_secret,
    throttle::{Brake, Counter, network},
};
use leasehold_types::{Problem, view::User};
use sha2::{Digest, Sha256};
use std::{net::IpAddr, sync::PoisonError, time::Duration};

/// The actor of what nobody who is known did.
const NOBODY: &str = "not signed in";
/// Said of an account that does not exist. What was typed is not kept: people type passwords into the wrong field.
const NO_ACCOUNT: &str = "no such account";

/// From where a password is tried.
#[derive(Clone, Copy, Debug)]
pub enum TriedFrom<'a> {
    Browser {
        address: Option<IpAddr>,
        /// What the browser keeps from an earlier sign-in.
        device: Option<&'a str>,
    },
    /// Somebody who is signed in.
    Session(&'a str),
}

/// An attempt that is counted.
#[derive(Clone, Debug)]
pub struct Knock {
    /// The account as it is tried from there.
    own: Vec<Counter>,
    /// The address, whatever it tries.
    shared: Vec<Counter>,
    address: Option<String>,
}

impl Engine {
    /// Counts an attempt at an account's password, whether there is such an account or not. `TOO_MANY_ATTEMPTS`.
    pub async fn knock(&self, email: &str, from: TriedFrom<'_>) -> Result<Knock, Problem> {
        let knock = self.knock_of(&hashed(&["account", email]), from).await?;
        let counters = [knock.own.as_slice(), &knock.shared].concat();
        self.store.begin_attempt(&counters).await?.map_err(too_many)?;
        Ok(knock)
    }

    async fn knock_of(&self, account: &str, from: TriedFrom<'_>) -> Result<Knock, Problem> {
        let own = |what: &[&str]| vec![Counter { key: hashed(what), brake: Brake::ACCOUNT }];
        let (address, device) = match from {
            TriedFrom::Session(id) => {
                let own = own(&["session", id, account]);
                return Ok(Knock { own, shared: Vec::new(), address: None });
            }
            TriedFrom::Browser { address, device } => (address.map(network), device),
        };
        let signer = self.signer(KEYS_FRESH).await?;
        let known = device.and_then(|token| devices::check(&signer, token, account, self.now()));
        if let Some(device) = known {
            return Ok(Knock { own: own(&["device", device, account]), shared: Vec::new(), address });
        }
        let place = address.clone().unwrap_or_default();
        let shared = vec![Counter { key: hashed(&["address", &place]), brake: Brake::ADDRESS }];
        Ok(Knock { own: own(&["address", &place, account]), shared, address })
    }

    /// Nobody guessed anything: who was sent away in a crowd keeps their attempts.
    pub async fn forgive(&self, knock: &Knock) -> Result<(), Problem> {
        Ok(self.store.forgive_attempt(&[knock.own.as_slice(), &knock.shared].concat()).await?)
    }

    /// The password was right.
    pub async fn passed(&self, knock: &Knock) -> Result<(), Problem> {
        self.store.clear_attempts(&knock.own).await?;
        Ok(self.store.forgive_attempt(&knock.shared).await?)
    }

    /// The password was wrong, or there is no such account.
    pub fn failed_sign_in(&self, knock: &Knock, account: Option<&User>) {
        self.refused(Refusal {
            tenant: None,
            actor: NOBODY.into(),
            action: "user.sign_in_failed",
            object_type: "user",
            object_id: account.map_or_else(|| NO_ACCOUNT.to_owned(), |user| user.email.clone()),
            why: "wrong e-mail or password".into(),
            address: knock.address.clone(),
        });
    }

    /// For the audit log, within a second.
    pub fn refused(&self, refusal: Refusal) {
        let now = self.now();
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).note(refusal, now);
    }

    /// Writes down who was refused; with `all` also what would still be counted, because this process ends.
    pub async fn write_refusals(&self, all: bool) -> Result<(), Problem> {
        let now = self.now();
        let rows = self.refusals.lock().unwrap_or_else(PoisonError::into_inner).take(now, all);
        if rows.is_empty() {
            return Ok(());
        }
        Ok(self.store.record_refusals(rows).await?)
    }

    /// Somebody has signed in, `how` for the audit log; the token by which their device will be known.
    pub async fn signed_in(
        &self,
        user: &User,
        how: &str,
        device: Option<&str>,
        origin: Option<String>,
    ) -> Result<String, Problem> {
        let entry = NewAuditEntry::new(None, "user.sign_in", "user", &user.email).because(how);
        self.store.record(&themselves(user, origin), entry).await?;
        let (signer, account) = (self.signer(KEYS_FRESH).await?, hashed(&["account", &user.email]));
        let known = device.and_then(|token| devices::check(&signer, token, &account, self.now()));
        let device = match known {
            Some(device) => device.to_owned(),
            None => fresh_secret()?.chars().take(32).collect(),
        };
        Ok(devices::token(&signer, &device, &account, self.now()))
    }

    pub async fn signed_out(&self, user: &User, origin: Option<String>) -> Result<(), Problem> {
        let entry = NewAuditEntry::new(None, "user.sign_out", "user", &user.email);
        Ok(self.store.record(&themselves(user, origin), entry).await?)
    }
}

fn themselves(user: &User, origin: Option<String>) -> Scope {
    let actor = Actor::user(user);
    Scope::new(Reach::All, actor, Permission::View).coming_from(origin)
}

/// With lengths, so that no two lists read the same.
fn hashed(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    parts.iter().for_each(|part| digest.update(format!("{}:{part};", part.len())));
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn too_many(wait: Duration) -> Problem {
    // The answer says whole seconds; one that comes a moment too early would be refused again.
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    Problem::too_many_attempts(u32::try_from(seconds.max(1)).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_attempts_say_how_long_to_wait() {
        assert_eq!(too_many(Duration::from_millis(60_100)).retry_after_seconds, Some(61));
        assert_eq!(too_many(Duration::from_micros(1)).retry_after_seconds, Some(1));
    }

    #[test]
    fn neighbouring_parts_cannot_lend_each_other_letters() {
        assert_ne!(hashed(&["ab", "c"]), hashed(&["a", "bc"]));
    }
}
