//! What this machine brings: programs to run, room to write, an address to listen on.

use super::finding::Finding;
use crate::{cli::running, config::Config};
use leasehold_worker::commands::Program;
use std::{os::unix::fs::PermissionsExt, path::Path};

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
    let missing: Vec<_> = book
        .iter()
        .filter_map(|command| match &command.program {
            Program::At(path) if !is_program(path) => Some(format!("{} ({})", command.key, path.display())),
            _ => None,
        })
        .collect();
    if missing.is_empty() {
        return Finding::ok("commands", format!("{} commands, all programs present.", book.iter().count()));
    }
    let says = format!("Programs that are missing or cannot be run: {}.", missing.join(", "));
    Finding::error("commands", says, "Install them, or correct `program` in commands.toml.")
}

fn is_program(path: &Path) -> bool {
    let on_path = || {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).any(|folder| can_run(&folder.join(path)))
    };
    if path.components().count() == 1 { on_path() } else { can_run(path) }
}

fn can_run(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
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
