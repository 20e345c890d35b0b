//! Style sheets and public files.

use std::fs;
use std::path::Path;

use super::{entries, write_if_changed};
use crate::workspace::Workspace;

pub fn build(workspace: &Workspace) -> Result<(), String> {
    let site = workspace.site();
    let style = joined_style(&workspace.root.join("style"))?;
    write_if_changed(&site.join("style.css"), style.as_bytes())?;
    copy(&workspace.root.join("public"), &site)
}

/// One file instead of several requests; the names' numbers (`00-tokens.css`, …) give the order.
fn joined_style(folder: &Path) -> Result<String, String> {
    let mut style = String::new();
    for path in entries(folder)?.iter().filter(|path| path.extension().is_some_and(|e| e == "css")) {
        style.push_str(&fs::read_to_string(path).map_err(|e| format!("reading {}: {e}", path.display()))?);
        style.push('\n');
    }
    Ok(style)
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    for path in entries(from)? {
        let Some(name) = path.file_name() else { continue };
        let target = to.join(name);
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            let bytes = fs::read(&path).map_err(|e| format!("reading {}: {e}", path.display()))?;
            write_if_changed(&target, &bytes)?;
        }
    }
    Ok(())
}
