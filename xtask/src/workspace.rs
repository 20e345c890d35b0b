//! Where things are.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    Debug,
    Release,
}

#[derive(Debug, Clone)]
pub struct Workspace {
    pub root: PathBuf,
    /// Cargo's output, wherever `CARGO_TARGET_DIR` puts it.
    pub target: PathBuf,
}

impl Workspace {
    pub fn find() -> Result<Self, String> {
        // Cargo says at run time where xtask lies; what the compiler knew may be an earlier place of the clone.
        let compiled = || env!("CARGO_MANIFEST_DIR").into();
        let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(compiled));
        let root = manifest.parent().ok_or("xtask lies outside the workspace")?.to_path_buf();
        let target =
            env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir));
        Ok(Self { root, target })
    }

    /// What the browser gets. The server's sources name this folder, so it does not move with
    /// `CARGO_TARGET_DIR`.
    pub fn site(&self) -> PathBuf {
        self.root.join("target").join("site")
    }

    pub fn end2end(&self) -> PathBuf {
        self.root.join("end2end")
    }

    /// Notes of earlier runs, so that unchanged work is not done twice.
    pub fn stamps(&self) -> PathBuf {
        self.root.join("target").join("xtask")
    }

    pub fn server_binary(&self, profile: Profile) -> PathBuf {
        let folder = match profile {
            Profile::Debug => "debug",
            Profile::Release => "release",
        };
        self.target.join(folder).join("leasehold")
    }

    pub fn cargo(&self) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(&self.root);
        // Set for us by `cargo run`; inherited, they would make the inner cargo rebuild what did not change.
        for (name, _) in env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("CARGO_PKG_") || name == "CARGO_MANIFEST_DIR" || name == "CARGO_MANIFEST_PATH"
            {
                cargo.env_remove(&*name);
            }
        }
        cargo
    }

    /// A path as people of this workspace would write it.
    pub fn short<'a>(&self, path: &'a Path) -> std::path::Display<'a> {
        path.strip_prefix(&self.root).unwrap_or(path).display()
    }
}
