//! The programs in Python that the tests use, from `end2end/requirements.txt`.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// One of them; all are in one folder.
pub fn tool(name: &str) -> Command {
    let folder = folder();
    let mut command = Command::new(folder.join(name));
    // They call each other by name.
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", folder.display()));
    command
}

/// What it printed; fails with all of it when the program did.
pub fn said(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let Output { status, stdout, stderr } = output;
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}\n{stdout}\n{stderr}");
    stdout.into_owned()
}

fn folder() -> PathBuf {
    let program = std::env::var_os("SCHEMATHESIS_PATH").map(PathBuf::from);
    let program =
        program.expect("SCHEMATHESIS_PATH names no program: run through `make test`, which installs it");
    program.parent().unwrap_or(Path::new("")).to_owned()
}
