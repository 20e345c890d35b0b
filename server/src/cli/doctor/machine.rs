//! What this machine brings: programs to run, room to write, an address to listen on.

use super::finding::Finding;
use crate::{cli::running, config::Config};

pub async fn look(config: &Config) -> Vec<Finding> {
    vec![commands(config), providers(config), port(config).await]
}

fn commands(config: &Config) -> Finding {
    let book = match running::command_book(config) {
        Ok(book) => book,
        Err(problem) => {
            let fix = "Correct the file, or name another one in JOBS_COMMANDS_FILE.";
            return Finding::error("commands", problem.detail, fix);
        }
    };
    let obstacles = book.obstacles();
    if obstacles.is_empty() {
        return Finding::ok("commands", format!("{} commands, all programs present.", book.iter().count()));
    }
    let each: Vec<_> = obstacles.iter().map(|(key, why)| format!("{key}: {why}")).collect();
    let fix = "Jobs of these commands fail until then. Do what it says for each of them.";
    Finding::error("commands", format!("Commands this machine cannot run: {}.", each.join("; ")), fix)
}

fn providers(config: &Config) -> Finding {
    match running::provider_book(config) {
        Ok(book) => Finding::ok("providers", format!("Providers: {}.", book.names().join(", "))),
        Err(problem) => {
            let fix = "Correct the file, or name another one in JOBS_PROVIDERS_FILE.";
            Finding::error("providers", problem.detail, fix)
        }
    }
}

/// A server that runs already is the usual reason why a port is taken, and no fault.
async fn port(config: &Config) -> Finding {
    match tokio::net::TcpListener::bind(config.addr).await {
        Ok(_) => Finding::ok("address", format!("{} is free to listen on.", config.addr)),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => Finding::warning(
            "address",
            format!("Something listens on {} already.", config.addr),
            "Fine if it is this installation's server; else choose another JOBS_ADDR.",
        ),
        Err(error) => Finding::error(
            "address",
            format!("{} cannot be listened on: {error}.", config.addr),
            "Choose an address of this machine in JOBS_ADDR, and a port above 1023.",
        ),
    }
}
