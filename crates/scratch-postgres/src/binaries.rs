//! Finds the folder with the server's binaries.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const INSTALL: &str = "install the Postgres server (Debian and Ubuntu: apt-get install postgresql; macOS: brew install postgresql)";

/// The first folder that holds a whole server: what `pg_config` names, then Debian's folders, then `PATH`.
pub(crate) fn find() -> Result<PathBuf, String> {
    let candidates = from_pg_config().into_iter().chain(debian_folders()).chain(path_folders());
    candidates
        .into_iter()
        .find(|folder| is_whole(folder))
        .ok_or_else(|| format!("no Postgres server found: {INSTALL}"))
}

/// Debian puts some of the binaries on `PATH` through wrappers, so one of them alone proves nothing.
fn is_whole(folder: &Path) -> bool {
    ["initdb", "pg_ctl", "postgres"].iter().all(|name| folder.join(name).is_file())
}

fn from_pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (!text.trim().is_empty()).then(|| PathBuf::from(text.trim()))
}

/// Newest version first.
fn debian_folders() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir("/usr/lib/postgresql") else { return Vec::new() };
    let mut versions: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|e| Some((e.file_name().to_str()?.parse().ok()?, e.path().join("bin"))))
        .collect();
    versions.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    versions.into_iter().map(|(_, folder)| folder).collect()
}

fn path_folders() -> Vec<PathBuf> {
    env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default()
}
