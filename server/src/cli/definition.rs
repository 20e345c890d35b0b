//! `leasehold definition add`, `list`, `show` and `sync`. Those that are added here are run over HTTP; those of commands come
//! from `commands.toml` by themselves, and `sync` applies what was changed there afterwards. Whoever has an API key and
//! not the database lists and shows over the API.

use super::{
    Out,
    client::{Definitions, definition_text, definitions_text},
    failed, running, terminal,
};
use crate::{config::Config, store};
use clap::{Args, Subcommand};
use leasehold_queue::{
    Engine,
    params::{NewDefinition, REMOTE},
};
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
    /// Apply what commands.toml says now to the definitions that are there already.
    Sync {
        /// Only say what would change.
        #[arg(long)]
        dry_run: bool,
        /// Another file than JOBS_COMMANDS_FILE or ./commands.toml.
        #[arg(long, value_name = "FILE")]
        commands: Option<PathBuf>,
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
            Self::Add(_) | Self::Sync { .. } => false,
            Self::List(from) | Self::Show { from, .. } => db.is_none() && from.is_for_server(),
        }
    }

    pub fn ask(self, out: Out) -> ExitCode {
        match self {
            // Never for a server.
            Self::Add(_) | Self::Sync { .. } => ExitCode::FAILURE,
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
            Self::Sync { dry_run, commands } => {
                let commands_file = commands.or_else(|| config.commands_file.clone());
                sync(&Config { commands_file, ..config }, &engine, dry_run, out).await?;
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
            executor: REMOTE.into(),
            arg_schema,
            timeout_seconds: self.timeout_seconds,
            max_attempts: self.max_attempts,
            retry: RetryPolicy::default(),
            stages: Vec::new(),
            limits: DefinitionLimits::default(),
        })
    }
}

async fn sync(config: &Config, engine: &Engine, dry_run: bool, out: Out) -> Result<(), Problem> {
    let book = running::command_book(config)?;
    let differences = engine.differences(&book.definitions()).await?;
    let mut lines = Vec::new();
    let mut changes = Vec::new();
    for difference in differences {
        lines.push(format!("{}  {difference}", difference.key));
        let fields = difference.fields.iter();
        let fields = fields.map(|(field, from, to)| json!({"field": field, "from": from, "to": to}));
        changes.push(json!({"key": difference.key, "fields": fields.collect::<Vec<_>>()}));
        if !dry_run {
            engine.update_definition(&terminal(), difference.id, difference.change).await?;
        }
    }
    lines.push(match (lines.len(), dry_run) {
        (0, _) => "The definitions say what commands.toml says.".to_owned(),
        (count, true) => format!("{count} to change; nothing was changed."),
        (count, false) => {
            format!("{count} changed. Jobs that exist already keep the attempts they were given.")
        }
    });
    out.say(&lines.join("\n"), &json!({"dry_run": dry_run, "changes": changes}));
    Ok(())
}

fn read_schema(path: PathBuf) -> Result<Value, Problem> {
    let what = format!("read {}", path.display());
    let text = std::fs::read_to_string(&path).map_err(|error| failed(&what, error))?;
    serde_json::from_str(&text)
        .map_err(|error| Problem::invalid("schema", format!("{} is not JSON: {error}.", path.display())))
}
