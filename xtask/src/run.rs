//! `run` and `pg`.

use std::os::unix::process::CommandExt;
use std::process::Command;

use scratch_postgres::{ScratchPostgres, StartOptions};

use crate::workspace::{Profile, Workspace};
use crate::{exec, server, site, tools};

/// Builds everything in debug and becomes the server.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    tools::wasm_target()?;
    site::build(workspace, Profile::Debug)?;
    let binary = server::build(workspace, Profile::Debug)?;
    // `exec` rather than a child: Ctrl-C and SIGTERM reach the server itself, and its exit code is ours.
    let failure = Command::new(&binary).arg("serve").args(arguments).current_dir(&workspace.root).exec();
    Err(format!("starting {}: {failure}", workspace.short(&binary)))
}

/// Runs a command beside a throw-away Postgres, from the folder xtask was called in.
pub fn with_postgres(arguments: &[String]) -> Result<(), String> {
    let words = arguments.strip_prefix(&["--".to_owned()]).unwrap_or(arguments);
    let (program, rest) = words.split_first().ok_or("pg -- COMMAND…: which command?")?;
    let cluster = ScratchPostgres::start(StartOptions { fsync: false })?;
    let mut command = Command::new(program);
    command.args(rest).env("POSTGRES_TEST_DSN", cluster.url());
    exec::run(&mut command)
}
