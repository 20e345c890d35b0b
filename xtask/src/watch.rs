//! `watch`: rebuild and restart whenever a source changes.
//!
//! Looks at the sources' times twice a second instead of asking the kernel: no extra crate, works on every
//! file system, and costs a few milliseconds. Memory is two numbers, however large the tree.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use crate::workspace::{Profile, Workspace};
use crate::{server, site, tools};

const LOOK_EVERY: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(15);

const CODE: [&str; 8] =
    ["app", "server", "crates", "migrations", "Cargo.toml", "Cargo.lock", "commands.toml", "leasehold.toml"];
const ASSETS: [&str; 2] = ["style", "public"];

pub fn watch(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    tools::wasm_target()?;
    let mut running: Option<Child> = None;
    let mut built_code = 0;
    let mut built_assets = fingerprint(workspace, &ASSETS);
    loop {
        let code = settled(workspace, &CODE);
        let assets = fingerprint(workspace, &ASSETS);
        if code != built_code {
            built_code = code;
            match rebuild(workspace) {
                Ok(()) => running = Some(restart(workspace, running.take(), arguments)?),
                Err(problem) => eprintln!("xtask: {problem}; waiting for the next change"),
            }
        } else if assets != built_assets {
            report(site::build_assets(workspace));
        }
        built_assets = assets;
        thread::sleep(LOOK_EVERY);
    }
}

fn rebuild(workspace: &Workspace) -> Result<(), String> {
    site::build(workspace, Profile::Debug)?;
    server::build(workspace, Profile::Debug).map(drop)
}

fn report(result: Result<(), String>) {
    match result {
        Ok(()) => println!("xtask: style and public files renewed"),
        Err(problem) => eprintln!("xtask: {problem}"),
    }
}

/// Editors and `git checkout` write many files in a row: wait until nothing moves any more.
fn settled(workspace: &Workspace, roots: &[&str]) -> u64 {
    let mut seen = fingerprint(workspace, roots);
    for _ in 0..20 {
        thread::sleep(Duration::from_millis(50));
        let again = fingerprint(workspace, roots);
        if again == seen {
            break;
        }
        seen = again;
    }
    seen
}

fn restart(workspace: &Workspace, old: Option<Child>, arguments: &[String]) -> Result<Child, String> {
    if let Some(child) = old {
        stop(child);
    }
    let binary = workspace.server_binary(Profile::Debug);
    let mut command = Command::new(&binary);
    command.arg("serve").args(arguments).current_dir(&workspace.root);
    command.spawn().map_err(|e| format!("starting {}: {e}", workspace.short(&binary)))
}

/// Politely first, so that running jobs are handed back.
fn stop(mut child: Child) {
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().ok();
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    child.kill().ok();
    child.wait().ok();
}

/// One number for the names, sizes and times of all files below the roots.
fn fingerprint(workspace: &Workspace, roots: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for root in roots {
        add(&workspace.root.join(root), &mut hasher);
    }
    hasher.finish()
}

fn add(path: &Path, hasher: &mut DefaultHasher) {
    // A file that vanishes while we look is a change like any other; the next look sees it.
    let Ok(about) = fs::symlink_metadata(path) else { return };
    path.hash(hasher);
    if about.is_dir() {
        let Ok(entries) = fs::read_dir(path) else { return };
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        paths.iter().for_each(|inner| add(inner, hasher));
    } else {
        about.len().hash(hasher);
        about.modified().ok().hash(hasher);
    }
}
