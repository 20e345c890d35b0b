//! The stores' queries are checked against a real schema while they compile; `.sqlx` in each store's
//! folder keeps the answers, so that a build needs no database. This writes those answers anew, or
//! compares them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use scratch_postgres::{ScratchPostgres, StartOptions};

use crate::workspace::Workspace;
use crate::{exec, tools};

type Answers = BTreeMap<String, Vec<u8>>;

pub fn prepare(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    let check = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--check"] => true,
        _ => return Err(format!("prepare-queries takes only --check, not {arguments:?}")),
    };
    let cluster = ScratchPostgres::start(StartOptions { fsync: false })?;
    both(workspace, &cluster, check)
}

pub fn both(workspace: &Workspace, cluster: &ScratchPostgres, check: bool) -> Result<(), String> {
    let scratch = workspace.stamps().join("queries");
    fs::create_dir_all(&scratch).map_err(|e| format!("creating {}: {e}", scratch.display()))?;
    let postgres = postgres_with_schema(workspace, cluster)?;
    let first = store(workspace, "store-postgres", ("LEASEHOLD_SQLX_POSTGRES_URL", &postgres), check);
    let sqlite = sqlite_with_schema(workspace, &scratch)?;
    let second = store(workspace, "store-sqlite", ("LEASEHOLD_SQLX_SQLITE_URL", &sqlite), check);
    first.and(second)
}

fn migrations(workspace: &Workspace, dialect: &str) -> Result<Vec<PathBuf>, String> {
    let folder = workspace.root.join("migrations").join(dialect);
    let problem = |e| format!("reading {}: {e}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).map_err(problem)? {
        files.push(entry.map_err(problem)?.path());
    }
    files.retain(|path| path.extension().is_some_and(|e| e == "sql"));
    files.sort();
    Ok(files)
}

fn postgres_with_schema(workspace: &Workspace, cluster: &ScratchPostgres) -> Result<String, String> {
    let psql = |url: &str| {
        let mut command = Command::new(cluster.binaries().join("psql"));
        command.args(["--no-psqlrc", "--quiet", "-v", "ON_ERROR_STOP=1", "-d", url]);
        command.env("PGOPTIONS", "-c client_min_messages=warning");
        command
    };
    exec::run(psql(&cluster.url()).args([
        "-c",
        "DROP DATABASE IF EXISTS queries",
        "-c",
        "CREATE DATABASE queries",
    ]))?;
    let url = cluster.url_of("queries");
    for file in migrations(workspace, "postgres")? {
        exec::run(psql(&url).arg("-f").arg(file))?;
    }
    Ok(url)
}

/// SQLite has no server to ask and its shell is rarely installed; end2end brings it as wasm.
fn sqlite_with_schema(workspace: &Workspace, scratch: &Path) -> Result<String, String> {
    tools::node_packages(workspace)?;
    let file = scratch.join("schema.db");
    let script = workspace.end2end().join("scripts").join("sqlite-schema.mjs");
    let mut node = Command::new("node");
    node.arg(script).arg(&file).args(migrations(workspace, "sqlite")?);
    exec::run(&mut node)?;
    // The address is a URL: a space in the path must be written as one.
    Ok(format!("sqlite://{}", file.display().to_string().replace('%', "%25").replace(' ', "%20")))
}

fn store(
    workspace: &Workspace,
    name: &str,
    (variable, url): (&str, &str),
    check: bool,
) -> Result<(), String> {
    let folder = workspace.root.join("crates").join(name);
    let fresh = workspace.stamps().join("queries").join(name);
    fs::remove_dir_all(&fresh).ok();
    fs::create_dir_all(&fresh).map_err(|e| format!("creating {}: {e}", fresh.display()))?;
    // The compiler does not know that the answers depend on the database; a new time makes it ask again.
    touch(&folder.join("src").join("lib.rs"))?;
    let mut cargo = workspace.cargo();
    cargo.args(["check", "--quiet", "-p", &format!("leasehold-{name}")]);
    exec::run(cargo.env(variable, url).env("SQLX_OFFLINE_DIR", &fresh).env("SQLX_OFFLINE", "false"))?;
    let (wanted, kept) = (read(&fresh)?, read(&folder.join(".sqlx"))?);
    if check { compare(name, &wanted, &kept) } else { replace(name, &folder.join(".sqlx"), &wanted, &kept) }
}

#[expect(clippy::disallowed_methods, reason = "a file's time, not the queue's")]
fn touch(path: &Path) -> Result<(), String> {
    let opened = File::options().append(true).open(path);
    opened
        .and_then(|f| f.set_modified(SystemTime::now()))
        .map_err(|e| format!("touching {}: {e}", path.display()))
}

fn read(folder: &Path) -> Result<Answers, String> {
    let mut answers = Answers::new();
    let Ok(entries) = fs::read_dir(folder) else { return Ok(answers) };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("query-") {
            answers.insert(name, fs::read(&path).map_err(|e| format!("reading {}: {e}", path.display()))?);
        }
    }
    Ok(answers)
}

fn compare(name: &str, wanted: &Answers, kept: &Answers) -> Result<(), String> {
    let changed = wanted.iter().filter(|(file, bytes)| kept.get(*file) != Some(bytes)).count();
    let stale = kept.keys().filter(|file| !wanted.contains_key(*file)).count();
    if changed + stale == 0 {
        println!("{name}: {} queries, metadata up to date", wanted.len());
        return Ok(());
    }
    Err(format!(
        "{name}/.sqlx: {changed} missing or changed, {stale} stale; run `cargo xtask prepare-queries`"
    ))
}

fn replace(name: &str, folder: &Path, wanted: &Answers, kept: &Answers) -> Result<(), String> {
    let problem = |e| format!("writing {}: {e}", folder.display());
    fs::create_dir_all(folder).map_err(problem)?;
    for file in kept.keys().filter(|file| !wanted.contains_key(*file)) {
        fs::remove_file(folder.join(file)).map_err(problem)?;
    }
    for (file, bytes) in wanted.iter().filter(|(file, bytes)| kept.get(*file) != Some(bytes)) {
        fs::write(folder.join(file), bytes).map_err(problem)?;
    }
    println!("{name}: metadata of {} queries written", wanted.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(files: &[(&str, &str)]) -> Answers {
        files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn the_comparison_names_changed_and_stale_metadata() {
        let wanted = answers(&[("query-a.json", "1"), ("query-b.json", "2")]);
        assert!(compare("store", &wanted, &wanted).is_ok());
        let kept = answers(&[("query-a.json", "old"), ("query-b.json", "2"), ("query-c.json", "3")]);
        let problem = compare("store", &wanted, &kept).unwrap_err();
        assert!(problem.contains("1 missing or changed, 1 stale"), "{problem}");
    }
}
