//! Opening the database a URL names, and making sure its schema is the one this binary was built for.

use crate::config::Config;
use leasehold_queue::{Clock, Engine, Store, StoreError};
use leasehold_store_postgres::PostgresStore;
use leasehold_store_sqlite::{
    SqliteStore,
    files::{self, Exposed},
};
use leasehold_types::{Problem, ProblemCode};
use std::{path::Path, sync::Arc};

/// An engine on a database whose schema is current; migrates it first unless that is switched off.
pub async fn engine(config: &Config) -> Result<Arc<Engine>, Problem> {
    let clock = config.clock();
    let store = open(config, clock.clone()).await?;
    if config.auto_migrate {
        store.migrate().await.map_err(|error| failed("be brought up to date", &error))?;
    } else if !store.schema_is_current().await.map_err(|error| failed("be read", &error))? {
        return Err(Problem::new(
            ProblemCode::Unavailable,
            "The database's schema is not the one of this version, and JOBS_AUTO_MIGRATE is off. \
             Run `leasehold migrate` with the same settings, then start again.",
        ));
    }
    for exposed in exposed_files(config) {
        tracing::warn!(
            "{} has mode {:o}: others on this machine may use it; run `chmod {:o} {}`",
            exposed.path.display(),
            exposed.mode,
            exposed.wanted,
            exposed.path.display()
        );
    }
    Ok(Arc::new(Engine::new(store, clock, config.engine.clone())))
}

/// The database's files that others than their owner may use.
fn exposed_files(config: &Config) -> Vec<Exposed> {
    let path = config.db_url.strip_prefix("sqlite:").map(|path| path.trim_start_matches("//"));
    let path = path.map(|path| path.split('?').next().unwrap_or(path));
    path.map(|path| files::exposed(Path::new(path))).unwrap_or_default()
}

/// Opens without looking at the schema.
pub async fn open(config: &Config, clock: Clock) -> Result<Arc<dyn Store>, Problem> {
    let url = config.db_url.as_str();
    let opened: Result<Arc<dyn Store>, StoreError> = match url.split_once(':').map(|(scheme, _)| scheme) {
        Some("postgres" | "postgresql") => {
            let options = leasehold_store_postgres::Options {
                longest_lease: config.longest_lease,
                ..Default::default()
            };
            PostgresStore::connect(url, clock, options).await.map(|store| store as Arc<dyn Store>)
        }
        Some("sqlite") => {
            let options =
                leasehold_store_sqlite::Options { longest_lease: config.longest_lease, ..Default::default() };
            SqliteStore::connect(url, clock, options).await.map(|store| store as Arc<dyn Store>)
        }
        _ => {
            let message = "The database's address must begin with postgres:// or sqlite:.";
            return Err(Problem::invalid("JOBS_DB_URL", message));
        }
    };
    opened.map_err(|error| failed("be opened", &error))
}

/// On a terminal the database's own words help; they go to whoever runs the server, not to browsers.
pub fn failed(what: &str, error: &StoreError) -> Problem {
    Problem::new(ProblemCode::Unavailable, format!("The database cannot {what}: {error}."))
}
