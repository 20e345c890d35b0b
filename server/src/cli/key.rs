//! `leasehold key add`, `list` and `revoke`: API keys, `lh_<prefix>_<secret>`. The secret is shown once; its SHA-256
//! is stored.

use super::Out;
use crate::{auth::api_key::KeyScope, config::Config, secret, store};
use clap::{Subcommand, ValueEnum};
use leasehold_queue::{Engine, Scope, params::NewKey};
use leasehold_types::{KeyId, Problem, Timestamp, view::ApiKey};
use serde_json::{Value, json};
use std::time::Duration;

#[derive(Subcommand)]
pub enum Key {
    /// Make a key and show it, this once.
    Add {
        /// The tenant's slug.
        #[arg(long, value_name = "SLUG", required_unless_present = "installation")]
        tenant: Option<String>,
        /// For every tenant and, with the scope “admin”, for the installation itself.
        #[arg(long, conflicts_with = "tenant")]
        installation: bool,
        /// What it is for.
        #[arg(long)]
        name: String,
        /// What it may be used for; a worker that comes over HTTP needs “worker”.
        #[arg(long, alias = "scope", required = true, value_delimiter = ',')]
        scopes: Vec<KeyScope>,
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3650))]
        expires_days: Option<u32>,
    },
    /// List keys; their secrets are not kept.
    List {
        /// Only those of this tenant.
        #[arg(long, value_name = "SLUG")]
        tenant: Option<String>,
    },
    /// Make a key useless, at once and for good.
    Revoke {
        /// The part between lh_ and the secret.
        prefix: String,
    },
}

impl Key {
    pub async fn run(self, config: Config, out: Out) -> Result<(), Problem> {
        let scope = Scope::system("cli");
        let engine = store::engine(&config).await?;
        match self {
            Self::Add { tenant, installation: _, name, scopes, expires_days } => {
                let key = add(&engine, &scope, tenant.as_deref(), &name, &scopes, expires_days).await?;
                out.say(key["key"].as_str().unwrap_or_default(), &key);
            }
            Self::List { tenant } => {
                let scope = match tenant {
                    Some(slug) => scope.within(engine.tenant(&scope, &slug).await?.id),
                    None => scope,
                };
                let keys = engine.store().api_keys(&scope).await?;
                let lines: Vec<_> = keys.iter().map(|key| in_words(key, engine.now())).collect();
                out.say(&lines.join("\n"), &json!(keys));
            }
            Self::Revoke { prefix } => {
                let key = engine.store().revoke_key(&scope, &prefix).await?;
                out.say(&format!("The key {prefix} opens nothing any more."), &json!(key));
            }
        }
        Ok(())
    }
}

async fn add(
    engine: &Engine,
    scope: &Scope,
    tenant: Option<&str>,
    name: &str,
    scopes: &[KeyScope],
    expires_days: Option<u32>,
) -> Result<Value, Problem> {
    if name.trim().is_empty() || name.chars().count() > 100 || name.chars().any(char::is_control) {
        return Err(Problem::invalid("name", "Please say in up to 100 plain characters what it is for."));
    }
    let tenant_id = match tenant {
        Some(slug) => Some(engine.tenant(scope, slug).await?.id),
        None if scopes.contains(&KeyScope::Worker) => {
            return Err(Problem::invalid("scopes", "A worker works for one tenant; please name it."));
        }
        None => None,
    };
    let (prefix, hidden) = (secret::random_hex::<6>()?, secret::random_token()?);
    let expires_at =
        expires_days.map(|days| engine.now().plus(Duration::from_secs(86_400 * u64::from(days))));
    let key = NewKey {
        id: KeyId(uuid::Uuid::now_v7()),
        tenant_id,
        name: name.trim().to_owned(),
        prefix: prefix.clone(),
        secret_hash: secret::sha256_hex(&hidden),
        scopes: names(scopes),
        expires_at,
    };
    let mut answer = json!(engine.store().create_key(scope, key).await?);
    answer["key"] = json!(format!("lh_{prefix}_{hidden}"));
    Ok(answer)
}

fn in_words(key: &ApiKey, now: Timestamp) -> String {
    let state = match (key.revoked_at, key.expires_at) {
        (Some(at), _) => format!("revoked {at}"),
        (None, Some(at)) if at <= now => format!("expired {at}"),
        (None, Some(at)) => format!("until {at}"),
        (None, None) => "valid".to_owned(),
    };
    let used = key.last_used_at.map_or_else(|| "never used".to_owned(), |at| format!("last used {at}"));
    format!("{}  {}  {state}, {used}  {}", key.prefix, key.scopes.join(","), key.name)
}

/// In the order of their strength, each once.
fn names(scopes: &[KeyScope]) -> Vec<String> {
    let known = KeyScope::value_variants().iter().filter(|scope| scopes.contains(scope));
    known.map(|scope| scope.name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_stored_once_each() {
        assert_eq!(names(&[KeyScope::Write, KeyScope::Read, KeyScope::Write]), ["read", "write"]);
    }
}
