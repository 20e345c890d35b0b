//! `leasehold key add`, `list` and `revoke`: API keys, `lh_<prefix>_<secret>`. The secret is shown once; its SHA-256
//! is stored.

use super::{Out, terminal};
use crate::{
    auth::{api_key::KeyScope, new_secrets},
    config::Config,
    store,
};
use clap::Subcommand;
use leasehold_queue::{Engine, Scope, engine::KeyRequest};
use leasehold_types::{Problem, Timestamp, view::ApiKey};
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
        let scope = terminal();
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
    let tenant = match tenant {
        Some(slug) => Some(engine.tenant(scope, slug).await?.id),
        None => None,
    };
    let expires_at =
        expires_days.map(|days| engine.now().plus(Duration::from_secs(86_400 * u64::from(days))));
    let scopes = scopes.iter().map(|scope| scope.name()).collect();
    let request = KeyRequest { tenant, name: name.to_owned(), scopes, expires_at };
    let (key, shown) = new_secrets::key(engine, scope, request).await?;
    let mut answer = json!(key);
    answer["key"] = json!(shown);
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
