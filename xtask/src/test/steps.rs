//! The steps of `test`, in the order in which they run.

use std::process::Command;

use super::Context;
use crate::tally::Tally;
use crate::workspace::Profile;
use crate::{
    deps as dependencies, end2end, exec, house as house_rules, queries as metadata, site, tools as toolbox,
};

type Outcome = Result<Tally, String>;

const NO_TESTS: Tally = Tally { passed: 0, failed: 0 };

pub fn tools(context: &mut Context) -> Outcome {
    let workspace = context.workspace;
    toolbox::wasm_target()?;
    toolbox::rust_components(workspace)?;
    toolbox::node_packages(workspace)?;
    toolbox::system_packages()?;
    toolbox::schemathesis(workspace)?;
    Ok(NO_TESTS)
}

pub fn format(context: &mut Context) -> Outcome {
    exec::run(context.workspace.cargo().args(["fmt", "--all", "--check"]))?;
    Ok(NO_TESTS)
}

pub fn deps(context: &mut Context) -> Outcome {
    dependencies::check(context.workspace)?;
    Ok(NO_TESTS)
}

pub fn house(context: &mut Context) -> Outcome {
    house_rules::check(context.workspace)?;
    Ok(NO_TESTS)
}

pub fn clippy(context: &mut Context) -> Outcome {
    let mut cargo = context.workspace.cargo();
    exec::run(cargo.args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    Ok(NO_TESTS)
}

/// In the profile of the build that follows: proc macros and build scripts are then compiled once.
pub fn clippy_wasm(context: &mut Context) -> Outcome {
    let mut cargo = context.workspace.cargo();
    cargo.arg("clippy").args(site::WASM_ARGUMENTS).args(["--profile", "wasm-dev", "--", "-D", "warnings"]);
    exec::run(&mut cargo)?;
    Ok(NO_TESTS)
}

/// All targets at once: the server for the browser tests then shares its dependencies with the tests.
pub fn build(context: &mut Context) -> Outcome {
    site::build(context.workspace, Profile::Debug)?;
    exec::run(context.workspace.cargo().args(["build", "--workspace", "--all-targets"]))?;
    Ok(NO_TESTS)
}

pub fn queries(context: &mut Context) -> Outcome {
    let workspace = context.workspace;
    metadata::both(workspace, context.cluster()?, true)?;
    Ok(NO_TESTS)
}

pub fn rust(context: &mut Context) -> Outcome {
    let workspace = context.workspace;
    let dsn = context.cluster()?.url();
    let mut cargo = workspace.cargo();
    cargo.env("POSTGRES_TEST_DSN", dsn);
    cargo.env("SCHEMATHESIS_PATH", toolbox::schemathesis(workspace)?);
    cargo.env("PROMTOOL", toolbox::promtool(workspace)?);
    if !toolbox::has_nextest(workspace) {
        return counted(cargo.args(["test", "--workspace", "--no-fail-fast"]), Tally::read_cargo_test);
    }
    let mut tally =
        counted(cargo.args(["nextest", "run", "--workspace", "--no-fail-fast"]), Tally::read_nextest)?;
    // nextest leaves the examples in the documentation out.
    let mut examples = workspace.cargo();
    tally.add(counted(examples.args(["test", "--doc", "--workspace"]), Tally::read_cargo_test)?);
    Ok(tally)
}

pub fn types(context: &mut Context) -> Outcome {
    end2end::typecheck(context.workspace)?;
    Ok(NO_TESTS)
}

pub fn browser_sqlite(context: &mut Context) -> Outcome {
    let mut command = end2end::playwright(context.workspace)?;
    counted(command.arg("--project=sqlite"), Tally::read_playwright)
}

pub fn browser_postgres(context: &mut Context) -> Outcome {
    let workspace = context.workspace;
    let dsn = context.cluster()?.url();
    let mut command = end2end::playwright(workspace)?;
    counted(command.arg("--project=postgres").env("POSTGRES_TEST_DSN", dsn), Tally::read_playwright)
}

/// Runs a test runner and counts. One that fails without naming a failed test (it did not compile, it did
/// not start) is a failure too.
fn counted(command: &mut Command, read: fn(&mut Tally, &str)) -> Outcome {
    let mut tally = NO_TESTS;
    let followed = exec::follow(command, |line| read(&mut tally, line))?;
    if !followed.succeeded && tally.failed == 0 {
        tally.failed = 1;
    }
    Ok(tally)
}
