//! The site: what the browser gets, in `target/site`.
//!
//! ```text
//! pkg/leasehold.js, pkg/leasehold.wasm   the islands (names fixed by LEPTOS_OUTPUT_NAME)
//! style.css                              style/*.css in the order of their names
//! favicon.svg …                          public/
//! *.br                                   release only: the server sends these when the browser accepts them
//! ```
//!
//! Invariant: the folder holds one profile's files only. A `.br` left over from a release would be sent
//! instead of the fresh debug file beside it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::workspace::{Profile, Workspace};

mod assets;
mod compress;
mod wasm;

pub use wasm::CARGO_ARGUMENTS as WASM_ARGUMENTS;

pub fn build(workspace: &Workspace, profile: Profile) -> Result<(), String> {
    forget_other_profile(workspace, profile)?;
    wasm::build(workspace, profile)?;
    assets::build(workspace)?;
    if profile == Profile::Release {
        compress::build(&workspace.site())?;
    }
    Ok(())
}

/// Style and public files only: what `watch` redoes when no Rust source changed.
pub fn build_assets(workspace: &Workspace) -> Result<(), String> {
    assets::build(workspace)
}

fn forget_other_profile(workspace: &Workspace, profile: Profile) -> Result<(), String> {
    let stamp = workspace.stamps().join("site-profile");
    let wanted = format!("{profile:?}");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    remove_contents(&workspace.site())?;
    write_if_changed(&stamp, wanted.as_bytes())
}

/// The folder itself stays: a server that runs in debug, or a build that watches it, keeps its handle.
fn remove_contents(folder: &Path) -> Result<(), String> {
    for path in entries(folder)? {
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(|e| format!("removing {}: {e}", path.display()))?;
    }
    Ok(())
}

/// The entries of a folder in the order of their names; none when it does not exist.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let problem = |e| format!("reading {}: {e}", folder.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(problem)? {
        paths.push(entry.map_err(problem)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// Unchanged files keep their time, so the release server is not rebuilt for nothing.
fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|found| found == bytes) {
        return Ok(());
    }
    let problem = |e| format!("writing {}: {e}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(problem)?;
    }
    fs::write(path, bytes).map_err(problem)
}
