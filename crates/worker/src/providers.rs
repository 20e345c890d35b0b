//! Providers: who answers the work units of composite jobs, as `providers.toml` describes them.
//!
//! The file stands beside the command book and is read the same way: everything wrong with it is an error at start
//! that names the provider and the setting. Its limits go into the database, where they hold for all processes; keys
//! stay in the environment and are never stored, logged or shown.

mod check;
mod file;
mod http;
mod local;
mod openai;
mod sse;
mod tesseract;

use async_trait::async_trait;
use leasehold_queue::units::{ProviderSpec, UnitOutcome};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

#[derive(Debug, thiserror::Error)]
pub enum ProvidersError {
    #[error("{}: cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}: {message}", path.display())]
    Syntax { path: PathBuf, message: String },
    #[error("{}: provider “{provider}”, {field}: {message}", path.display())]
    Provider { path: PathBuf, provider: String, field: String, message: String },
}

/// Told how many characters of the answer are there.
pub type Heard = dyn Fn(usize) + Send + Sync;

#[async_trait]
pub trait Provider: Send + Sync + 'static {
    /// Makes one call. Dropping the future cancels it, and nothing of it goes on after that.
    async fn call(&self, request: &Value, heard: &Heard) -> UnitOutcome;
}

#[derive(Clone)]
struct Known {
    spec: ProviderSpec,
    provider: Arc<dyn Provider>,
}

/// All providers this worker can call, by name.
#[derive(Clone, Default)]
pub struct ProviderBook {
    known: BTreeMap<String, Known>,
}

impl ProviderBook {
    /// `guard_program` is the binary that offers the `guard` subcommand: programs of providers run under it.
    pub fn load(path: &Path, guard_program: &Path) -> Result<Self, ProvidersError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ProvidersError::Read { path: path.to_owned(), source })?;
        Self::parse(&text, path, guard_program)
    }

    /// Reads a book from text; `path` is only for the errors.
    pub fn parse(text: &str, path: &Path, guard_program: &Path) -> Result<Self, ProvidersError> {
        let syntax =
            |e: toml::de::Error| ProvidersError::Syntax { path: path.to_owned(), message: e.to_string() };
        let file: file::File = toml::from_str(text).map_err(syntax)?;
        let mut book = Self::default();
        for (name, table) in file.providers {
            let (spec, provider) =
                check::provider(&name, table, guard_program).map_err(|wrong| ProvidersError::Provider {
                    path: path.to_owned(),
                    provider: name.clone(),
                    field: wrong.field,
                    message: wrong.message,
                })?;
            book.insert(spec, provider);
        }
        Ok(book)
    }

    pub fn insert(&mut self, spec: ProviderSpec, provider: Arc<dyn Provider>) {
        self.known.insert(spec.name.clone(), Known { spec, provider });
    }

    pub fn get(&self, name: &str) -> Option<Arc<dyn Provider>> {
        self.known.get(name).map(|known| known.provider.clone())
    }

    pub fn names(&self) -> Vec<String> {
        self.known.keys().cloned().collect()
    }

    /// What is to be ensured in the database.
    pub fn specs(&self) -> impl Iterator<Item = &ProviderSpec> {
        self.known.values().map(|known| &known.spec)
    }
}

#[cfg(test)]
#[path = "providers/tests.rs"]
mod tests;
