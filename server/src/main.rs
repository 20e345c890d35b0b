//! `leasehold`: one binary that serves the dashboard, runs the workers and administers the installation.

mod api;
mod assets;
mod attachments;
mod auth;
mod body;
mod cli;
mod config;
mod functions;
mod headers;
mod http;
mod metrics;
mod problem;
mod redacted_log;
mod router;
mod secret;
mod sse;
mod store;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
