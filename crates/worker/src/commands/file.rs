//! `commands.toml` as it is written. Unknown words are errors: a misspelt setting must not be silently ignored.

use super::resources::{Amount, Defaults};
use leasehold_types::{
    DefinitionLimits, Stage,
    view::{Jitter, RetryPolicy},
};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    #[serde(default)]
    pub defaults: Defaults,
    #[serde(default)]
    pub commands: BTreeMap<String, toml::Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    #[serde(default)]
    pub description: String,
    #[serde(default = "default_domain")]
    pub domain: String,
    #[serde(default = "default_queue")]
    pub queue: String,
    pub program: String,
    #[serde(default)]
    pub args: Vec<Arg>,
    pub working_dir: Option<String>,
    #[serde(default)]
    pub env: Env,
    #[serde(default = "default_timeout")]
    pub timeout_seconds: i32,
    #[serde(default = "default_grace")]
    pub grace_seconds: u64,
    #[serde(default = "default_attempts")]
    pub max_attempts: i32,
    #[serde(default)]
    pub retry: Retry,
    #[serde(default)]
    pub stages: Vec<Stage>,
    #[serde(default)]
    pub limits: DefinitionLimits,
    pub memory: Option<Amount>,
    pub cpu_seconds: Option<Amount>,
    pub open_files: Option<Amount>,
    pub processes: Option<Amount>,
    pub file_size: Option<Amount>,
    /// Whom it runs as.
    pub user: Option<String>,
    #[serde(default)]
    pub allow_new_privileges: bool,
    #[serde(default)]
    pub schema: Option<toml::Table>,
}

impl Entry {
    pub fn resources(&self) -> Defaults {
        Defaults {
            memory: self.memory.clone(),
            cpu_seconds: self.cpu_seconds.clone(),
            open_files: self.open_files.clone(),
            processes: self.processes.clone(),
            file_size: self.file_size.clone(),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
pub enum Arg {
    Plain(String),
    Table(ArgTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArgTable {
    pub arg: String,
    #[serde(default)]
    pub optional: bool,
}

#[derive(Deserialize, Default)]
pub struct Env {
    #[serde(default)]
    pub inherit: Vec<String>,
    #[serde(flatten)]
    pub set: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Retry {
    pub base_seconds: f64,
    pub cap_seconds: f64,
    pub jitter: Jitter,
    pub retryable_classes: Vec<String>,
}

impl Default for Retry {
    fn default() -> Self {
        let RetryPolicy { base_seconds, cap_seconds, jitter, retryable_classes } = RetryPolicy::default();
        Self { base_seconds, cap_seconds, jitter, retryable_classes }
    }
}

fn default_domain() -> String {
    "commands".into()
}

fn default_queue() -> String {
    "default".into()
}

fn default_timeout() -> i32 {
    3_600
}

fn default_grace() -> u64 {
    5
}

fn default_attempts() -> i32 {
    3
}
