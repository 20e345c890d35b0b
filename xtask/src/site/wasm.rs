//! Rust → wasm → JavaScript glue → (release) smaller wasm.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::UNIX_EPOCH;

use wasm_bindgen_cli_support::Bindgen;

use super::write_if_changed;
use crate::exec;
use crate::workspace::{Profile, Workspace};

/// What rustc emits for this target by default; wasm-opt refuses instructions it was not told of.
const WASM_OPT: [&str; 8] = [
    "-Oz",
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

pub fn build(workspace: &Workspace, profile: Profile) -> Result<(), String> {
    let compiled = compile(workspace, profile)?;
    let package = workspace.site().join("pkg");
    let stamp = workspace.stamps().join("bindgen");
    let wanted = fingerprint(&compiled)?;
    let is_there = ["leasehold.js", "leasehold.wasm"].iter().all(|name| package.join(name).is_file());
    if is_there && fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    bind(&compiled, &package)?;
    if profile == Profile::Release {
        shrink(workspace, &package.join("leasehold.wasm"))?;
    }
    write_if_changed(&stamp, wanted.as_bytes())
}

/// How the browser's part of the app is compiled; clippy looks at the same.
pub const CARGO_ARGUMENTS: [&str; 8] = [
    "-p",
    "leasehold-app",
    "--lib",
    "--target",
    "wasm32-unknown-unknown",
    "--no-default-features",
    "--features",
    "hydrate",
];

fn compile(workspace: &Workspace, profile: Profile) -> Result<PathBuf, String> {
    let profile_name = match profile {
        Profile::Debug => "wasm-dev",
        Profile::Release => "wasm-release",
    };
    let mut cargo = workspace.cargo();
    cargo.arg("build").args(CARGO_ARGUMENTS).args(["--profile", profile_name]);
    exec::run(&mut cargo)?;
    Ok(workspace.target.join("wasm32-unknown-unknown").join(profile_name).join("leasehold_app.wasm"))
}

fn fingerprint(path: &Path) -> Result<String, String> {
    let problem = |e| format!("reading {}: {e}", path.display());
    let about = fs::metadata(path).map_err(problem)?;
    let changed = about.modified().map_err(problem)?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(format!("{} {} {}", path.display(), about.len(), changed.as_nanos()))
}

fn bind(compiled: &Path, package: &Path) -> Result<(), String> {
    let mut bindgen = Bindgen::new();
    bindgen.input_path(compiled).out_name("leasehold").typescript(false).omit_default_module_path(false);
    bindgen.remove_name_section(true).remove_producers_section(true);
    let written = bindgen.web(true).and_then(|bindgen| bindgen.generate(package));
    written.map_err(|e| format!("wasm-bindgen: {e:#}"))?;
    // The page asks for NAME.wasm, wasm-bindgen writes NAME_bg.wasm.
    fs::rename(package.join("leasehold_bg.wasm"), package.join("leasehold.wasm"))
        .map_err(|e| format!("naming the wasm: {e}"))
}

fn shrink(workspace: &Workspace, wasm: &Path) -> Result<(), String> {
    let wasm_opt = workspace.end2end().join("node_modules/binaryen/bin/wasm-opt");
    if !wasm_opt.is_file() {
        return Err("wasm-opt is missing; run `npm ci` in end2end".to_owned());
    }
    exec::run(Command::new("node").arg(wasm_opt).args(WASM_OPT).arg(wasm).arg("-o").arg(wasm))
}
