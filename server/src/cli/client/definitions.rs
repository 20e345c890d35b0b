//! `leasehold definition list` and `show`, for those who have a key and not the database.

use super::{
    Target,
    call::{Call, KEY, encoded},
    run, show,
};
use crate::cli::{Out, text::Style};
use clap::Args;
use serde_json::Value;
use std::process::ExitCode;

/// Which definitions, and where from.
#[derive(Args)]
pub struct Definitions {
    /// Only those of this domain.
    #[arg(long)]
    pub domain: Option<String>,
    #[command(flatten)]
    target: Target,
}

/// Whether a server is meant: it is when there is a key for one.
fn has_key() -> bool {
    std::env::var(KEY).is_ok_and(|key| !key.trim().is_empty())
}

impl Definitions {
    pub fn is_for_server(&self) -> bool {
        self.target.curl || has_key()
    }

    pub fn list(self, out: Out) -> ExitCode {
        let call = Call::get("/jobs/definitions").with("domain", self.domain);
        run(&self.target, call, out, show::definitions)
    }

    pub fn show(self, key: &str, out: Out) -> ExitCode {
        run(&self.target, Call::get(format!("/jobs/definitions/{}", encoded(key))), out, show::definition)
    }
}

/// The same texts for those who asked the database.
pub fn definitions_text(definitions: &Value) -> String {
    show::definitions(definitions, Style::of_stdout())
}

pub fn definition_text(definition: &Value) -> String {
    show::definition(definition, Style::of_stdout())
}
