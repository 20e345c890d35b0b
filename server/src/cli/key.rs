//! `leasehold key add`: an API key, `lh_<prefix>_<secret>`. The secret is shown once; its SHA-256 is stored.

use super::Out;
use crate::{config::Config, secret, store};
use clap::{Subcommand, ValueEnum};
use leasehold_queue::{Scope, params::NewKey};
use leasehold_types::{KeyId, Problem};
use serde_json::json;
use std::time::Duration;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KeyScope {
    Read,
    Write,
    Worker,
    Admin,
}

#[derive(Subcommand)]
pub enum Key {
    /// Make a key and show it, this once.
    Add {
        /// The tenant's slug.
        #[arg(long, value_name = "SLUG")]
        tenant: String,
        /// What it is for.
        #[arg(long)]
        name: String,
        #[arg(long, required = true, value_delimiter = ',')]
        scopes: Vec<KeyScope>,
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3650))]
        expires_days: Option<u32>,
    },
}

impl Key {
    pub async fn run(self, config: Config, out: Out) -> Result<(), Problem> {
        let Self::Add { tenant, name, scopes, expires_days } = self;
        if name.trim().is_empty() || name.chars().count() > 100 || name.chars().any(char::is_control) {
            return Err(Problem::invalid("name", "Please say in up to 100 plain characters what it is for."));
        }
        let scope = Scope::system("cli");
        let engine = store::engine(&config).await?;
        let tenant = engine.tenant(&scope, &tenant).await?;
        let (prefix, hidden) = (secret::random_hex::<6>()?, secret::random_token()?);
        let expires_at =
            expires_days.map(|days| engine.now().plus(Duration::from_secs(86_400 * u64::from(days))));
        let key = NewKey {
            id: KeyId(uuid::Uuid::now_v7()),
            tenant_id: tenant.id,
            name: name.trim().to_owned(),
            prefix: prefix.clone(),
            secret_hash: secret::sha256_hex(&hidden),
            scopes: names(&scopes),
            expires_at,
        };
        let stored = engine.store().create_key(&scope, key).await?;
        let shown = format!("lh_{prefix}_{hidden}");
        let mut answer = json!(stored);
        answer["key"] = json!(shown);
        out.say(&shown, &answer);
        Ok(())
    }
}

/// In the order of their strength, each once.
fn names(scopes: &[KeyScope]) -> Vec<String> {
    let known = KeyScope::value_variants().iter().filter(|scope| scopes.contains(scope));
    known.filter_map(|scope| scope.to_possible_value()).map(|value| value.get_name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_stored_once_each() {
        assert_eq!(names(&[KeyScope::Write, KeyScope::Read, KeyScope::Write]), ["read", "write"]);
    }
}
