//! Builds, runs and checks Leasehold: the one place that knows how the browser's part, the site and the
//! server fit together. The `Makefile` calls it; people may call it as `cargo xtask …`.
//!
//! Nothing here needs the network except the package registries, and nothing needs a tool that the
//! workspace cannot build or say how to install.

mod deps;
mod end2end;
mod exec;
mod house;
mod queries;
mod run;
mod server;
mod site;
mod tally;
mod test;
mod tools;
mod watch;
mod workspace;

use std::process::ExitCode;

use workspace::{Profile, Workspace};

const USAGE: &str = "\
cargo xtask COMMAND

  build [--release]           the browser's part, the site and the server
  run [ARGUMENTS…]            build (debug), then `leasehold serve ARGUMENTS…`
  watch [ARGUMENTS…]          the same, rebuilt and restarted whenever a source changes
  test [--only STEP]          everything CI checks; ends with `N passed, N failed`
  end2end [ARGUMENTS…]        the browser tests alone; ARGUMENTS go to `playwright test`
  pg -- COMMAND…              run COMMAND with POSTGRES_TEST_DSN naming a throw-away Postgres
  prepare-queries [--check]   write (or compare) the stores' checked-query metadata in .sqlx
  deps                        check which crate may depend on which
  house                       check the length of files and that the stores are twins
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            if !problem.is_empty() {
                eprintln!("xtask: {problem}");
            }
            ExitCode::FAILURE
        }
    }
}

/// An empty error means that everything worth saying was said already.
fn dispatch(arguments: &[String]) -> Result<(), String> {
    let workspace = Workspace::find()?;
    let (command, rest) = arguments.split_first().ok_or(USAGE)?;
    match command.as_str() {
        "build" => build(&workspace, rest),
        "run" => run::run(&workspace, rest),
        "watch" | "dev" => watch::watch(&workspace, rest),
        "test" => test::test(&workspace, rest),
        "end2end" => end2end::with_postgres(&workspace, rest),
        "pg" => run::with_postgres(rest),
        "prepare-queries" => queries::prepare(&workspace, rest),
        "deps" => deps::check(&workspace),
        "house" => house::check(&workspace),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            Ok(())
        }
        unknown => Err(format!("there is no command `{unknown}`\n\n{USAGE}")),
    }
}

fn build(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    let profile = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Profile::Debug,
        ["--release"] => Profile::Release,
        _ => return Err(format!("build takes only --release, not {arguments:?}")),
    };
    tools::wasm_target()?;
    if profile == Profile::Release {
        tools::node_packages(workspace)?;
    }
    site::build(workspace, profile)?;
    let binary = server::build(workspace, profile)?;
    println!("built {}", workspace.short(&binary));
    Ok(())
}
