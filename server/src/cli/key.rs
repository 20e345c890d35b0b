//! `leasehold key add`, `list` and `revoke`: API keys, `lh_<prefix>_<secret>`. The secret is shown once; its SHA-256
//! is stored.

use super::{
    Out, terminal,
    text::{Cell, Colour, Style, Table},
};
use crate::{
    auth::{api_key::KeyScope, new_secrets},
    config::Config,
    store,
};
use clap::Subcommand;
use leasehold_queue::{Engine, Scope, engine::KeyRequest};
use leasehold_types::{Problem, view::ApiKey};
use serde_json::{Value, json};
use std::time::Duration;

#[derive(Subcommand)]
pub enum Key {
    /// Create a key and show it, this once.
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
    /// Revoke a key, at once and for good.
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
                out.say(&in_words(&keys, Style::of_stdout()), &json!(keys));
            }
            Self::Revoke { prefix } => {
                let key = engine.revoke_key(&scope, &prefix).await?;
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

fn in_words(keys: &[ApiKey], style: Style) -> String {
    let mut table = Table::new(["Prefix", "Name", "Scopes", "State", "Last used"]);
    for key in keys {
        let (state, colour) = match (key.revoked_at, key.expires_at) {
            (Some(at), _) => (format!("revoked {}", style.ago(at)), Some(Colour::Dim)),
            (None, Some(at)) if at <= style.now => {
                (format!("expired {}", style.ago(at)), Some(Colour::Yellow))
            }
            (None, Some(at)) => (format!("valid until {at}"), None),
            (None, None) => ("valid".to_owned(), None),
        };
        let used = key.last_used_at.map_or_else(|| "never".to_owned(), |at| style.ago(at));
        let state = Cell::from(state).coloured(colour);
        table.row([
            (&key.prefix).into(),
            (&key.name).into(),
            key.scopes.join(", ").into(),
            state,
            used.into(),
        ]);
    }
    table.text(style.paint, "No keys.")
}
