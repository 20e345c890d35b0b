//! `leasehold provider`: whom composite jobs may call, as the database knows it.

use super::{
    Out, terminal,
    text::{Style, Table},
};
use crate::{config::Config, store};
use clap::Subcommand;
use leasehold_types::{Problem, unit::ProviderView};
use serde_json::json;

#[derive(Subcommand)]
pub enum Provider {
    /// Show every provider and how much of its limits is used.
    List,
    /// Let calls begin again.
    On { name: String },
    /// Let no further call begin; units that ask for it fail.
    Off { name: String },
}

impl Provider {
    pub async fn run(self, config: Config, out: Out) -> Result<(), Problem> {
        let (engine, scope) = (store::engine(&config).await?, terminal());
        match &self {
            Self::List => {}
            Self::On { name } => engine.set_provider_active(&scope, name, true).await?,
            Self::Off { name } => engine.set_provider_active(&scope, name, false).await?,
        }
        let providers = engine.providers(&scope).await?;
        out.say(&in_words(&providers, Style::of_stdout()), &json!(providers));
        Ok(())
    }
}

fn in_words(providers: &[ProviderView], style: Style) -> String {
    let mut table = Table::new(["Name", "Kind", "State", "Running", "A second"]);
    for provider in providers {
        let ProviderView { name, kind, requests_per_second, max_concurrency, running, .. } = provider;
        let local = if provider.is_local { ", local, deterministic" } else { "" };
        let state = if provider.is_active { "on" } else { "off" };
        table.row([
            name.into(),
            format!("{kind}{local}").into(),
            state.into(),
            format!("{running} of {max_concurrency}").into(),
            requests_per_second.to_string().into(),
        ]);
    }
    table.text(style.paint, "No provider is known yet.")
}
