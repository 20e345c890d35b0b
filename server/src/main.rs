//! `leasehold`: one binary that serves the dashboard, runs the workers and administers the installation.

mod api;
mod assets;
mod attachments;
mod auth;
mod body;
mod cli;
mod config;
mod database;
mod functions;
mod headers;
mod hosts;
mod http;
mod job_files;
mod metrics;
mod problem;
mod proxies;
mod rates;
mod reached;
mod redacted_log;
mod router;
mod secret;
mod sse;
mod store;

use std::process::ExitCode;
use tikv_jemallocator::Jemalloc;

/// The system's allocator keeps what a burst of jobs has left behind, for ever; this one gives it back within seconds.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    cli::main()
}
