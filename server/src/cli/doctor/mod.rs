//! `leasehold doctor`: what is wrong with an installation, and how to fix it. It looks and, unless asked
//! to `--fix`, changes nothing, works when the database does not, and ends with 1 when something is an error.

mod configuration;
mod database;
mod finding;
mod fix;
mod installation;
mod machine;

use super::{Out, failed};
use crate::{config::Config, store};
use finding::{Finding, Level, report, text};
use leasehold_queue::Store;
use std::{process::ExitCode, sync::Arc, time::Duration};

/// A database that hangs is as good as down.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(clap::Args)]
pub struct Doctor {
    /// Mend what can be mended: file modes, and counters that differ from a recount.
    #[arg(long)]
    fix: bool,
}

impl Doctor {
    pub fn run(self, db: Option<String>, out: Out) -> ExitCode {
        let flags: Vec<_> = db.map(|url| ("JOBS_DB_URL", url)).into_iter().collect();
        let runtime = match tokio::runtime::Runtime::new() {
            Ok(runtime) => runtime,
            Err(error) => {
                out.fail(&failed("start", error));
                return ExitCode::FAILURE;
            }
        };
        let findings = runtime.block_on(async {
            let mut done = if self.fix { fix::all(flags.clone()).await } else { Vec::new() };
            done.extend(examine(flags).await);
            done
        });
        out.say(&text(&findings), &report(&findings));
        let sick = findings.iter().any(|finding| finding.level == Level::Error);
        // A pool that still tries to connect must not keep us.
        runtime.shutdown_background();
        if sick { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

async fn examine(flags: Vec<(&'static str, String)>) -> Vec<Finding> {
    let (config, problems) = Config::inspect(flags);
    let mut found = configuration::look(config.as_ref(), &problems);
    let Some(config) = config else { return found };
    found.extend(machine::look(&config).await);
    if let Some(finding) = database::is_missing(&config) {
        found.push(finding);
        return found;
    }
    match tokio::time::timeout(PATIENCE, open(&config)).await {
        Ok(Ok(store)) => found.extend(look_inside(&config, store).await),
        Ok(Err(finding)) => found.push(finding),
        Err(_) => found.push(database::unreachable("it does not answer")),
    }
    found
}

async fn open(config: &Config) -> Result<Arc<dyn Store>, Finding> {
    store::open(config, config.clock()).await.map_err(|problem| database::unreachable(&problem.detail))
}

async fn look_inside(config: &Config, store: Arc<dyn Store>) -> Vec<Finding> {
    let mut found = vec![Finding::ok("database", "The database answers.")];
    match tokio::time::timeout(PATIENCE, store.schema_is_current()).await {
        Ok(Ok(true)) => found.push(Finding::ok("schema", "The schema is the one of this version.")),
        Ok(Ok(false)) => {
            found.push(database::stale_schema(config));
            return found;
        }
        Ok(Err(error)) => {
            found.push(database::unreachable(&error.to_string()));
            return found;
        }
        Err(_) => {
            found.push(database::unreachable("it does not answer"));
            return found;
        }
    }
    found.extend(database::look(&store).await);
    found.extend(installation::look(config, &store).await);
    found
}
