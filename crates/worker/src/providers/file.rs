//! `providers.toml` as it is written. Unknown words are errors: a misspelt setting must not be silently ignored.

use serde::Deserialize;
use std::{collections::BTreeMap, path::PathBuf};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    #[serde(default)]
    pub providers: BTreeMap<String, toml::Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    #[serde(rename = "type")]
    pub kind: String,
    pub engine: String,
    #[serde(default = "default_rate")]
    pub requests_per_second: f64,
    #[serde(default = "default_concurrency")]
    pub max_concurrency: i32,
    #[serde(default = "default_retries")]
    pub max_retries: i32,
    #[serde(default = "default_delay")]
    pub retry_delay_seconds: f64,
    #[serde(default = "default_timeout")]
    pub timeout_seconds: u64,
    /// Of `openai`.
    pub base_url: Option<String>,
    pub model: Option<String>,
    pub api_key_env: Option<String>,
    /// Of `tesseract`.
    pub program: Option<PathBuf>,
    pub languages: Option<String>,
    pub folder: Option<PathBuf>,
}

fn default_rate() -> f64 {
    1.0
}

fn default_concurrency() -> i32 {
    2
}

fn default_retries() -> i32 {
    2
}

fn default_delay() -> f64 {
    1.0
}

fn default_timeout() -> u64 {
    120
}
