//! The browser tests: Playwright with the system's Chromium against the real server.

use std::process::Command;

use scratch_postgres::{ScratchPostgres, StartOptions};

use crate::workspace::{Profile, Workspace};
use crate::{exec, server, site, tools};

/// Builds what the tests need and runs them on both databases.
pub fn with_postgres(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    tools::wasm_target()?;
    tools::node_packages(workspace)?;
    tools::system_packages()?;
    site::build(workspace, Profile::Debug)?;
    server::build(workspace, Profile::Debug)?;
    let cluster = ScratchPostgres::start(StartOptions { fsync: false })?;
    exec::run(playwright(workspace)?.args(arguments).env("POSTGRES_TEST_DSN", cluster.url()))
}

pub fn playwright(workspace: &Workspace) -> Result<Command, String> {
    let chromium = tools::chromium().ok_or("Chromium is missing: apt-get install chromium")?;
    let folder = workspace.end2end();
    let mut command = Command::new("node");
    command.arg(folder.join("node_modules/@playwright/test/cli.js")).arg("test").current_dir(&folder);
    command.env("CHROMIUM_PATH", chromium).env("LEASEHOLD_BIN", workspace.server_binary(Profile::Debug));
    Ok(command)
}

/// The tests' own types.
pub fn typecheck(workspace: &Workspace) -> Result<(), String> {
    let folder = workspace.end2end();
    let compiler = folder.join("node_modules/.bin/tsc");
    exec::run(Command::new(compiler).arg("--noEmit").current_dir(&folder))
}
