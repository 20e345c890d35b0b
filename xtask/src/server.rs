//! The server: one binary. A release carries the site inside; debug reads it from the site folder.

use std::path::PathBuf;

use crate::exec;
use crate::workspace::{Profile, Workspace};

pub fn build(workspace: &Workspace, profile: Profile) -> Result<PathBuf, String> {
    let mut cargo = workspace.cargo();
    cargo.args(["build", "-p", "leasehold"]);
    if profile == Profile::Release {
        cargo.arg("--release");
    }
    exec::run(&mut cargo)?;
    Ok(workspace.server_binary(profile))
}
