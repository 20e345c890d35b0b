//! `leasehold definition add`, `list` and `show`. Those that are added here are run over HTTP; those of commands come
//! from `commands.toml` by themselves. Whoever has an API key and not the database lists and shows over the API.

use super::{
    Out,
    client::{Definitions, definition_text, definitions_text},
    failed, terminal,
};
use crate::{config::Config, store};
use clap::{Args, Subcommand};
use leasehold_queue::params::NewDefinition;
use leasehold_types::{DefinitionLimits, Problem, view::RetryPolicy};
use serde_json::{Value, json};
use std::{path::PathBuf, process::ExitCode};

#[derive(Subcommand)]
pub enum Kind {
    /// Create a definition whose jobs workers over HTTP run.
    Add(Add),
    /// List the definitions; over the API when LEASEHOLD_API_KEY is set, else from the database.
    List(Definitions),
    /// Show one definition with the schema of its payload; over the API when LEASEHOLD_API_KEY is set.
    Show {
        /// Its key.
        key: String,
        #[command(flatten)]
        from: Definitions,
    },
}

#[derive(Args)]
pub struct Add {
    /// Its name: letters, digits, - _ .
    key: String,
    /// What it does, in a sentence.
    #[arg(long, default_value = "")]
    description: String,
    #[arg(long, default_value = "remote")]
    domain: String,
    #[arg(long, default_value = "default")]
    queue: String,
    /// A file with the JSON Schema of its payload; without one any object is taken.
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    #[arg(long, value_name = "SECONDS", default_value_t = 3_600, value_parser = clap::value_parser!(i32).range(1..=31_536_000))]
    timeout_seconds: i32,
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(i32).range(1..=100))]
    max_attempts: i32,
}

impl Kind {
    /// Who names a database means it, whatever key there is.
    pub fn is_for_server(&self, db: Option<&str>) -> bool {
        match self {
            Self::Add(_) => false,
            Self::List(from) | Self::Show { from, .. } => db.is_none() && from.is_for_server(),
        }
    }

    pub fn ask(self, out: Out) -> ExitCode {
        match self {
            // Never for a server.
            Self::Add(_) => ExitCode::FAILURE,
            Self::List(from) => from.list(out),
            Self::Show { key, from } => from.show(&key, out),
        }
    }

    pub async fn run(self, config: Config, out: Out) -> Result<(), Problem> {
        let engine = store::engine(&config).await?;
        match self {
            Self::Add(add) => {
                let made = engine.create_definition(&terminal(), add.definition()?, true).await?;
                out.say(
                    &format!("Workers over HTTP may run {}/{} now.", made.domain, made.key),
                    &json!(made),
                );
            }
            Self::List(from) => {
                let all = engine.seen_definitions(&terminal(), from.domain.as_deref()).await?;
                out.say(&definitions_text(&json!(all)), &json!(all));
            }
            Self::Show { key, .. } => {
                let found = json!(engine.definition(&key).await?);
                out.say(&definition_text(&found), &found);
            }
        }
        Ok(())
    }
}

impl Add {
    fn definition(self) -> Result<NewDefinition, Problem> {
        let arg_schema = self.schema.map_or_else(|| Ok(json!({"type": "object"})), read_schema)?;
        Ok(NewDefinition {
            job_type: self.key.clone(),
            key: self.key,
            description: self.description,
            domain: self.domain,
            queue: self.queue,
            executor: "remote".into(),
            arg_schema,
            timeout_seconds: self.timeout_seconds,
            max_attempts: self.max_attempts,
            retry: RetryPolicy::default(),
            stages: Vec::new(),
            limits: DefinitionLimits::default(),
        })
    }
}

fn read_schema(path: PathBuf) -> Result<Value, Problem> {
    let what = format!("read {}", path.display());
    let text = std::fs::read_to_string(&path).map_err(|error| failed(&what, error))?;
    serde_json::from_str(&text)
        .map_err(|error| Problem::invalid("schema", format!("{} is not JSON: {error}.", path.display())))
}
