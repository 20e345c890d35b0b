//! A database of its own for every test, on the server the tests are given.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{binaries, checked};

/// Where the address of the tests' server stands.
const SERVER: &str = "POSTGRES_TEST_DSN";
/// Databases of tests that have ended, removed by one call: as many as come, and some more.
const REMOVED_AT_ONCE: usize = 3;

/// Makes an empty database and returns its address.
///
/// Its name holds the number of this process. Whoever asks next removes the databases of processes that have
/// ended, so that a run of a thousand tests does not need room for a thousand databases.
///
/// # Panics
/// When no server is named or it does not answer: a test cannot go on without.
#[must_use]
pub fn fresh_database() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let server = std::env::var(SERVER)
        .unwrap_or_else(|_| panic!("{SERVER} names no Postgres: run through `cargo xtask pg -- …`"));
    let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let name = format!("test_{process}_{count}");
    // Another test may remove the same ones at this moment; then the next call finds the rest.
    remove_left(&server, process).ok();
    // Process ids come round again.
    let replaced =
        [format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"), format!("CREATE DATABASE {name}")];
    psql(&server, &replaced).unwrap_or_else(|problem| panic!("making a database for the test: {problem}"));
    with_database(&server, &name)
}

fn remove_left(server: &str, own: u32) -> Result<(), String> {
    let names = psql(server, &[r"SELECT datname FROM pg_database WHERE datname LIKE 'test\_%'".to_owned()])?;
    let left = names.lines().filter(|name| process_of(name).is_some_and(|id| id != own && has_ended(id)));
    let drops: Vec<String> = left
        .take(REMOVED_AT_ONCE)
        .map(|name| format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        .collect();
    if drops.is_empty() { Ok(()) } else { psql(server, &drops).map(drop) }
}

fn process_of(database: &str) -> Option<u32> {
    database.strip_prefix("test_")?.split('_').next()?.parse().ok()
}

/// Where processes cannot be looked up nothing counts as ended, and the databases stay as long as the cluster.
fn has_ended(process: u32) -> bool {
    let folder = Path::new("/proc");
    folder.join("self").exists() && !folder.join(process.to_string()).exists()
}

/// Each statement in a transaction of its own, as those on databases need it.
fn psql(server: &str, statements: &[String]) -> Result<String, String> {
    let mut command = Command::new(binaries::find()?.join("psql"));
    command.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "-v", "ON_ERROR_STOP=1"]);
    command.env("PGOPTIONS", "-c client_min_messages=warning").args(["-d", server]);
    for statement in statements {
        command.args(["-c", statement]);
    }
    checked("psql", command.output())
}

/// The same server, another database.
fn with_database(server: &str, name: &str) -> String {
    let (address, options) = server.split_once('?').map_or((server, None), |(a, o)| (a, Some(o)));
    let scheme_end = address.find("://").map_or(0, |i| i + 3);
    let base = address[scheme_end..].find('/').map_or(address, |i| &address[..scheme_end + i]);
    match options {
        Some(options) => format!("{base}/{name}?{options}"),
        None => format!("{base}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_databases_of_ended_tests_are_removed() {
        assert_eq!(process_of("test_17_0"), Some(17));
        assert_eq!(process_of("postgres"), None);
        assert!(!has_ended(std::process::id()));
    }

    #[test]
    fn the_address_keeps_its_server_and_its_options() {
        assert_eq!(
            with_database("postgres://a@b:1/postgres?x=y", "test_1_0"),
            "postgres://a@b:1/test_1_0?x=y"
        );
        assert_eq!(with_database("postgres://a@b:1", "t"), "postgres://a@b:1/t");
    }
}
