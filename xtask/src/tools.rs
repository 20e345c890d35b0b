//! Tools the build and the tests need: found, installed where we may, or named exactly.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use scratch_postgres::ScratchPostgres;

use crate::exec;
use crate::workspace::Workspace;

const WASM: &str = "wasm32-unknown-unknown";
const OLDEST_NODE: u32 = 20;

/// The compiler's standard library for the browser.
pub fn wasm_target() -> Result<(), String> {
    let sysroot = exec::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(WASM).join("lib").is_dir() {
        return Ok(());
    }
    exec::run(Command::new("rustup").args(["target", "add", WASM]))
        .map_err(|e| format!("{e}; the compiler needs the target {WASM}: rustup target add {WASM}"))
}

/// rustfmt and clippy belong to the toolchain, but a minimal one comes without.
pub fn rust_components(workspace: &Workspace) -> Result<(), String> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        let mut probe = workspace.cargo();
        if exec::output(probe.args([subcommand, "--version"])).is_err() {
            exec::run(Command::new("rustup").args(["component", "add", component])).map_err(|e| {
                format!("{e}; cargo {subcommand} is missing: rustup component add {component}")
            })?;
        }
    }
    Ok(())
}

pub fn node() -> Result<(), String> {
    let wish = format!("install Node.js {OLDEST_NODE} or newer (https://nodejs.org)");
    let version = exec::output(Command::new("node").arg("--version")).map_err(|e| format!("{e}; {wish}"))?;
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|n| n.parse::<u32>().ok());
    if major.is_some_and(|found| found >= OLDEST_NODE) {
        return Ok(());
    }
    Err(format!("Node.js {} is too old; {wish}", version.trim()))
}

/// `npm ci` in end2end, unless the lock file is the one that was installed last.
pub fn node_packages(workspace: &Workspace) -> Result<(), String> {
    node()?;
    let folder = workspace.end2end();
    let lock =
        fs::read(folder.join("package-lock.json")).map_err(|e| format!("end2end/package-lock.json: {e}"))?;
    let installed = folder.join("node_modules").join(".installed-lock.json");
    if fs::read(&installed).is_ok_and(|found| found == lock) {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.arg("ci").current_dir(&folder);
    // The tests use the system's Chromium; Playwright's own would come from outside the registries.
    exec::run(npm.env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1"))?;
    fs::write(&installed, lock).map_err(|e| format!("noting the installed packages: {e}"))
}

/// The browser the tests drive.
pub fn chromium() -> Option<PathBuf> {
    if let Some(path) = env::var_os("CHROMIUM_PATH") {
        return Some(path.into()).filter(|path: &PathBuf| path.is_file());
    }
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names.iter().find_map(|name| on_path(name))
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Chromium, Postgres, Python, curl, and the programs that open exported decks and read pages: installed when we are
/// root on Debian, else named.
pub fn system_packages() -> Result<(), String> {
    let mut missing = Vec::new();
    if chromium().is_none() {
        missing.push("chromium");
    }
    if !ScratchPostgres::is_available() {
        missing.push("postgresql");
    }
    if on_path("soffice").is_none() {
        missing.push("libreoffice-impress");
    }
    if on_path("pdftotext").is_none() || on_path("pdfinfo").is_none() {
        missing.push("poppler-utils");
    }
    // Debian's Python comes without the module that makes environments.
    if exec::output(Command::new("python3").args(["-c", "import ensurepip, venv"])).is_err() {
        missing.push("python3-venv");
    }
    if on_path("tesseract").is_none() {
        missing.push("tesseract-ocr");
    }
    if on_path("curl").is_none() {
        missing.push("curl");
    }
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    let is_root = exec::output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if !is_root || on_path("apt-get").is_none() {
        return Err(format!("missing: {names}. Install them: sudo apt-get install -y {names}"));
    }
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    exec::run(apt().args(["update", "-q"]))?;
    exec::run(apt().args(["install", "-y", "-q", "--no-install-recommends"]).args(&missing))
}

/// The program that makes requests from the API's description, in an environment of its own; its path.
pub fn schemathesis(workspace: &Workspace) -> Result<PathBuf, String> {
    let wanted = workspace.end2end().join("requirements.txt");
    let list = fs::read(&wanted).map_err(|e| format!("end2end/requirements.txt: {e}"))?;
    let home = workspace.target.join("tools").join("python");
    let (program, installed) = (home.join("bin").join("schemathesis"), home.join(".installed-requirements"));
    if program.is_file() && fs::read(&installed).is_ok_and(|found| found == list) {
        return Ok(program);
    }
    exec::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home))?;
    let mut python = Command::new(home.join("bin").join("python"));
    python.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
    exec::run(python.arg(&wanted))?;
    fs::write(&installed, list).map_err(|e| format!("noting the installed packages: {e}"))?;
    Ok(program)
}

/// The program that reads metrics and alert rules as Prometheus would; its path. Unpacked from Debian's package, because
/// installing that would start a service.
pub fn promtool(workspace: &Workspace) -> Result<PathBuf, String> {
    if let Some(path) = env::var_os("PROMTOOL").map(PathBuf::from).or_else(|| on_path("promtool")) {
        return Ok(path);
    }
    let home = workspace.target.join("tools").join("prometheus");
    let program = home.join("usr/bin/promtool");
    if program.is_file() {
        return Ok(program);
    }
    fs::create_dir_all(&home).map_err(|e| format!("creating {}: {e}", home.display()))?;
    let wish =
        "promtool is missing: put it on the PATH (it comes with Prometheus), or its path into PROMTOOL";
    let download = |e| format!("{e}; {wish}");
    let fetch =
        || exec::run(Command::new("apt-get").args(["download", "-q", "prometheus"]).current_dir(&home));
    // A machine that had everything else already may never have read the list of packages.
    if fetch().is_err() {
        exec::run(Command::new("apt-get").args(["update", "-q"])).map_err(download)?;
        fetch().map_err(download)?;
    }
    let files = fs::read_dir(&home).map_err(|e| format!("reading {}: {e}", home.display()))?;
    let package = files.filter_map(Result::ok).map(|file| file.path());
    let package = package.filter(|path| path.extension().is_some_and(|e| e == "deb")).max();
    let package = package.ok_or_else(|| wish.to_owned())?;
    exec::run(Command::new("dpkg").arg("-x").arg(&package).arg(&home)).map_err(download)?;
    if program.is_file() { Ok(program) } else { Err(wish.to_owned()) }
}

pub fn has_nextest(workspace: &Workspace) -> bool {
    exec::output(workspace.cargo().args(["nextest", "--version"])).is_ok()
}
