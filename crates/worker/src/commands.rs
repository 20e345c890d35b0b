//! The command book: which programs of this machine jobs may run, and how a payload becomes their arguments.
//!
//! Only the machine's owner writes it (`commands.toml`); nothing that comes over the network can add a program or
//! an argument. Everything that can be wrong with it is found when it is read, not when a job runs.

mod check;
mod file;
mod resources;
pub mod runnable;
pub mod template;

use crate::guard::Limits;
use leasehold_queue::params::NewDefinition;
use leasehold_types::{DefinitionLimits, Stage, view::RetryPolicy};
pub use resources::in_words;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};
use template::Template;

#[derive(Debug, thiserror::Error)]
pub enum BookError {
    #[error("{}: cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}: {message}", path.display())]
    Syntax { path: PathBuf, message: String },
    #[error("{}: command “{command}”, {field}: {message}", path.display())]
    Command { path: PathBuf, command: String, field: String, message: String },
    #[error("{}: [defaults], {field}: {message}", path.display())]
    Defaults { path: PathBuf, field: String, message: String },
}

/// The program of a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Program {
    /// Leasehold's own binary, written `@leasehold`.
    Leasehold,
    At(PathBuf),
}

impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Leasehold => f.write_str("@leasehold"),
            Self::At(path) => write!(f, "{}", path.display()),
        }
    }
}

/// One template, one argument; an optional one is left out when its payload property is not there.
#[derive(Clone, PartialEq, Debug)]
pub struct Argument {
    pub template: Template,
    pub optional: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct CommandSpec {
    pub key: String,
    pub description: String,
    pub domain: String,
    pub queue: String,
    pub program: Program,
    pub args: Vec<Argument>,
    pub working_dir: Option<PathBuf>,
    /// Names taken over from the worker's own environment, if set there.
    pub env_inherit: Vec<String>,
    pub env_set: Vec<(String, Template)>,
    pub timeout_seconds: i32,
    pub grace: Duration,
    pub max_attempts: i32,
    pub retry: RetryPolicy,
    pub stages: Vec<Stage>,
    pub limits: DefinitionLimits,
    /// What it may use of its machine.
    pub resources: Limits,
    pub schema: Value,
}

impl CommandSpec {
    /// The schema's default for a top-level property.
    pub fn default_of(&self, property: &str) -> Option<Value> {
        self.schema.get("properties")?.get(property)?.get("default").cloned()
    }

    /// Whether some argument or variable makes use of a payload property.
    pub fn uses(&self, property: &str) -> bool {
        self.templates().any(|template| template.payload_properties().any(|used| used == property))
    }

    fn templates(&self) -> impl Iterator<Item = &Template> {
        self.args.iter().map(|a| &a.template).chain(self.env_set.iter().map(|(_, template)| template))
    }

    fn definition(&self) -> NewDefinition {
        NewDefinition {
            key: self.key.clone(),
            description: self.description.clone(),
            domain: self.domain.clone(),
            job_type: self.key.clone(),
            queue: self.queue.clone(),
            executor: "command".into(),
            arg_schema: self.schema.clone(),
            timeout_seconds: self.timeout_seconds,
            max_attempts: self.max_attempts,
            retry: self.retry.clone(),
            stages: self.stages.clone(),
            limits: self.limits.clone(),
        }
    }
}

/// All commands of one machine, by key.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CommandBook {
    commands: BTreeMap<String, CommandSpec>,
}

impl CommandBook {
    pub fn empty() -> Self {
        Self::default()
    }

    pub fn load(path: &Path) -> Result<Self, BookError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| BookError::Read { path: path.to_owned(), source })?;
        Self::parse(&text, path)
    }

    /// Reads a book from text; `path` is only for the errors.
    pub fn parse(text: &str, path: &Path) -> Result<Self, BookError> {
        let syntax = |e: toml::de::Error| BookError::Syntax { path: path.to_owned(), message: e.to_string() };
        let file: file::File = toml::from_str(text).map_err(syntax)?;
        let defaults = file.defaults.limits().map_err(|wrong| BookError::Defaults {
            path: path.to_owned(),
            field: wrong.field,
            message: wrong.message,
        })?;
        let mut commands = BTreeMap::new();
        for (key, table) in file.commands {
            let spec = check::command(&key, table, defaults).map_err(|wrong| BookError::Command {
                path: path.to_owned(),
                command: key.clone(),
                field: wrong.field,
                message: wrong.message,
            })?;
            commands.insert(key, spec);
        }
        Ok(Self { commands })
    }

    /// Where jobs of a command are: a definition that was there before the command keeps its domain.
    pub fn place(&mut self, key: &str, domain: &str) {
        if let Some(command) = self.commands.get_mut(key) {
            domain.clone_into(&mut command.domain);
        }
    }

    pub fn get(&self, key: &str) -> Option<&CommandSpec> {
        self.commands.get(key)
    }

    pub fn iter(&self) -> impl Iterator<Item = &CommandSpec> {
        self.commands.values()
    }

    pub fn keys(&self) -> Vec<String> {
        self.commands.keys().cloned().collect()
    }

    /// The definitions this book stands for, to be ensured in the database.
    pub fn definitions(&self) -> Vec<NewDefinition> {
        self.commands.values().map(CommandSpec::definition).collect()
    }
}

#[cfg(test)]
#[path = "commands/tests.rs"]
mod tests;
