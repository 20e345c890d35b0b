//! What `--fix` mends, and what it says about it. Everything else needs somebody's decision.

use super::{PATIENCE, database, finding::Finding, open};
use crate::config::Config;
use leasehold_store_sqlite::files;
use std::{fs::Permissions, os::unix::fs::PermissionsExt, path::Path};

pub async fn all(flags: Vec<(&'static str, String)>) -> Vec<Finding> {
    // What is wrong with the configuration or the database itself is found by the examination that follows.
    let (Some(config), _) = Config::inspect(flags) else { return Vec::new() };
    let mut done = Vec::new();
    if let Some(file) = database::file_of(&config) {
        done.extend(files::exposed(Path::new(file)).iter().map(close));
    }
    if database::is_missing(&config).is_none() {
        done.extend(counters(&config).await);
    }
    done
}

fn close(found: &files::Exposed) -> Finding {
    let path = found.path.display();
    match std::fs::set_permissions(&found.path, Permissions::from_mode(found.wanted)) {
        Ok(()) => {
            Finding::ok("fixed", format!("{path} has mode {:o} now, it was {:o}.", found.wanted, found.mode))
        }
        Err(error) => {
            let fix = format!("Run `chmod {:o} {path}` as its owner.", found.wanted);
            Finding::error("fixed", format!("The mode of {path} cannot be changed: {error}."), fix)
        }
    }
}

async fn counters(config: &Config) -> Option<Finding> {
    let recount = async {
        let store = open(config).await.ok()?;
        if !store.schema_is_current().await.ok()? {
            return None;
        }
        store.recount().await.ok()
    };
    let wrong = tokio::time::timeout(PATIENCE, recount).await.ok().flatten()?;
    (wrong > 0).then(|| Finding::ok("fixed", format!("{wrong} counters were set right by a recount.")))
}
