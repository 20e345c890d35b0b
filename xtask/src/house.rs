//! The house rules that a compiler does not know: how long a file may be, and that the two stores are twins.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::workspace::Workspace;

/// A file that needs more has two subjects.
const LONGEST_FILE: usize = 400;
/// What only SQLite needs: its file on disk, its memory, and in Rust what Postgres does inside its large statements
/// (looking up keys, picking candidates, where a job stands before it is settled).
const ONLY_SQLITE: [&str; 5] = ["files.rs", "keys.rs", "memory.rs", "pick.rs", "standing.rs"];
/// What only Postgres needs: leadership by a session's lock, and creating in two steps, planned and inserted as arrays.
const ONLY_POSTGRES: [&str; 3] = ["create/insert.rs", "create/plan.rs", "leader.rs"];

pub fn check(workspace: &Workspace) -> Result<(), String> {
    let mut broken = too_long(workspace)?;
    broken.extend(differing_twins(workspace)?);
    if broken.is_empty() {
        println!("no file is longer than {LONGEST_FILE} lines, and the stores are twins");
        return Ok(());
    }
    Err(broken.join("\n"))
}

fn too_long(workspace: &Workspace) -> Result<Vec<String>, String> {
    let mut broken = Vec::new();
    for folder in ["app", "crates", "server", "xtask"] {
        for file in rust_files(&workspace.root.join(folder))? {
            let lines = read(&file)?.lines().count();
            if lines > LONGEST_FILE {
                let shown = file.strip_prefix(&workspace.root).unwrap_or(&file).display();
                broken.push(format!("{shown} has {lines} lines; {LONGEST_FILE} are allowed"));
            }
        }
    }
    Ok(broken)
}

/// The same files on both sides, and in them the same verbs in the same order.
fn differing_twins(workspace: &Workspace) -> Result<Vec<String>, String> {
    let [postgres, sqlite] =
        ["store-postgres", "store-sqlite"].map(|name| workspace.root.join("crates").join(name).join("src"));
    let (left, right) = (relative_files(&postgres)?, relative_files(&sqlite)?);
    let alone = |files: &BTreeSet<PathBuf>, others: &BTreeSet<PathBuf>, known: &[&str], store: &str| {
        let unknown = files.difference(others).filter(|file| !known.iter().any(|k| Path::new(k) == *file));
        unknown.map(|file| format!("only {store} has {}", file.display())).collect::<Vec<_>>()
    };
    let mut broken = alone(&left, &right, &ONLY_POSTGRES, "store-postgres");
    broken.extend(alone(&right, &left, &ONLY_SQLITE, "store-sqlite"));
    for file in left.intersection(&right) {
        let (here, there) = (verbs(&read(&postgres.join(file))?), verbs(&read(&sqlite.join(file))?));
        if here != there {
            let shown = file.display();
            broken.push(format!(
                "{shown} differs between the stores:\n  postgres: {here:?}\n  sqlite:   {there:?}"
            ));
        }
    }
    Ok(broken)
}

/// The functions of each trait that the file implements for the store or its transaction, as `Trait::function`, in
/// their order. Conversions of rows are each store's own.
fn verbs(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut of: Option<String> = None;
    for line in source.lines() {
        if let Some(implemented) = line.strip_prefix("impl ") {
            let (name, implementor) = implemented.split_once(" for ").unwrap_or_default();
            let implementor = implementor.trim_end_matches(" {");
            let is_port = implementor.ends_with("Store") || implementor.ends_with("Tx");
            of = is_port.then(|| name.to_owned());
        } else if line == "}" {
            of = None;
        } else if let (Some(of), Some(function)) = (&of, function_named(line)) {
            found.push(format!("{of}::{function}"));
        }
    }
    found
}

fn function_named(line: &str) -> Option<&str> {
    let line = line.strip_prefix("    ")?;
    let line = line.strip_prefix("async ").unwrap_or(line);
    let name = line.strip_prefix("fn ")?;
    name.split(['(', '<']).next()
}

fn relative_files(folder: &Path) -> Result<BTreeSet<PathBuf>, String> {
    let files = rust_files(folder)?;
    Ok(files.iter().filter_map(|file| file.strip_prefix(folder).ok()).map(Path::to_owned).collect())
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| format!("reading {}: {e}", folder.display()))? {
        let path = entry.map_err(|e| format!("reading {}: {e}", folder.display()))?.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target" && name != "node_modules") {
                files.extend(rust_files(&path)?);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("reading {}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_those_of_the_ports_in_their_order() {
        let source = "impl From<A> for B {\n    fn from(a: A) -> Self {\n    }\n}\n\n#[async_trait]\nimpl TenantRows for PostgresTx {\n    async fn insert_tenant(&mut self) {\n    }\n\n    fn now(&self) {}\n}\n\nasync fn helper() {}\n";
        assert_eq!(verbs(source), ["TenantRows::insert_tenant", "TenantRows::now"]);
    }
}
