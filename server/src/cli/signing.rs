//! `leasehold signing`: the keys that sign links to files.

use super::{Out, terminal};
use crate::{config::Config, store};
use clap::Subcommand;
use leasehold_queue::signing::SigningKey;
use leasehold_types::Problem;
use serde_json::json;

#[derive(Subcommand)]
pub enum Signing {
    /// Sign links with a new key; links of the old one work until they expire.
    Rotate {
        /// Let no link of the old key work any more, for when it has leaked.
        #[arg(long)]
        revoke_old: bool,
    },
    /// Say since when there is which key.
    List,
}

impl Signing {
    pub async fn run(self, config: Config, out: Out) -> Result<(), Problem> {
        let engine = store::engine(&config).await?;
        match self {
            Self::Rotate { revoke_old } => {
                let keys = engine.rotate_signing_key(&terminal(), !revoke_old).await?;
                let old = match keys.len() {
                    1 => "Older links do not work any more".to_owned(),
                    _ => format!(
                        "Older links work until they expire, {} s at most",
                        config.engine.attachment_url_ttl.as_secs()
                    ),
                };
                let text = format!("A new key signs links; running processes use it within seconds. {old}.");
                out.say(&text, &shown(&keys));
            }
            Self::List => {
                let keys = engine.store().signing_keys().await?;
                let role = |i| if i == 0 { "signs" } else { "verifies" };
                let lines: Vec<_> = keys
                    .iter()
                    .enumerate()
                    .map(|(i, key)| format!("{}  since {}", role(i), key.created_at))
                    .collect();
                let text = if lines.is_empty() {
                    "The first key is made at its first use.".to_owned()
                } else {
                    lines.join("\n")
                };
                out.say(&text, &shown(&keys));
            }
        }
        Ok(())
    }
}

/// Never the secrets themselves.
fn shown(keys: &[SigningKey]) -> serde_json::Value {
    json!({"keys": keys.iter().map(|key| json!({"created_at": key.created_at})).collect::<Vec<_>>()})
}
