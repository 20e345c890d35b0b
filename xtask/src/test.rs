//! `test`: everything CI checks, step by step.
//!
//! A step that fails does not keep the others from running, so that one run shows everything that is
//! wrong. The last line is always `N passed, N failed`: the tests of all runners added up, plus one failure
//! for each step that failed without naming a failed test.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use scratch_postgres::{ScratchPostgres, StartOptions};

use crate::tally::Tally;
use crate::workspace::Workspace;

mod steps;

struct Step {
    name: &'static str,
    title: &'static str,
    run: fn(&mut Context) -> Result<Tally, String>,
}

const STEPS: [Step; 12] = [
    Step { name: "tools", title: "tools are there", run: steps::tools },
    Step { name: "format", title: "cargo fmt", run: steps::format },
    Step { name: "deps", title: "who may depend on whom", run: steps::deps },
    Step { name: "house", title: "length of files, twin stores", run: steps::house },
    Step { name: "clippy", title: "clippy, everything on this machine", run: steps::clippy },
    Step { name: "clippy-wasm", title: "clippy, the browser's part", run: steps::clippy_wasm },
    Step { name: "build", title: "wasm, site, server and tests (debug)", run: steps::build },
    Step { name: "queries", title: "checked-query metadata is up to date", run: steps::queries },
    Step { name: "rust", title: "unit, store and server tests, SQLite and Postgres", run: steps::rust },
    Step { name: "types", title: "types of the browser tests", run: steps::types },
    Step { name: "sqlite", title: "browser tests on SQLite", run: steps::browser_sqlite },
    Step { name: "postgres", title: "browser tests on Postgres", run: steps::browser_postgres },
];

/// What steps share.
struct Context<'a> {
    workspace: &'a Workspace,
    cluster: Option<ScratchPostgres>,
}

impl Context<'_> {
    /// One throw-away cluster for all steps, started by the first that needs it.
    fn cluster(&mut self) -> Result<&ScratchPostgres, String> {
        if self.cluster.is_none() {
            self.cluster = Some(ScratchPostgres::start(StartOptions { fsync: false })?);
        }
        self.cluster.as_ref().ok_or_else(|| "the scratch cluster is gone".to_owned())
    }

    /// A cluster that has stopped by itself fails the step it stopped in; the next that needs one starts another.
    fn cluster_problem(&mut self) -> Option<String> {
        let why = self.cluster.as_ref()?.why_it_stopped()?;
        self.cluster = None;
        Some(format!("the scratch Postgres stopped by itself. The end of its log:\n{why}"))
    }
}

struct Done {
    name: &'static str,
    tally: Tally,
    problem: Option<String>,
    took: Duration,
}

pub fn test(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    let wanted = chosen(arguments)?;
    let mut context = Context { workspace, cluster: None };
    let mut done = Vec::new();
    for step in wanted {
        println!("\n──── {} · {}", step.name, step.title);
        let start = Instant::now();
        let result = (step.run)(&mut context);
        let result = context.cluster_problem().map_or(result, Err);
        let outcome = judged(step.name, result, start.elapsed());
        if let Some(problem) = &outcome.problem {
            println!("{problem}");
        }
        done.push(outcome);
    }
    // Before the last line, so that nothing is printed after it.
    drop(context);
    print!("{}", summary(&done));
    if done.iter().any(|step| step.problem.is_some()) { Err(String::new()) } else { Ok(()) }
}

fn chosen(arguments: &[String]) -> Result<Vec<&'static Step>, String> {
    let names = || STEPS.iter().map(|step| step.name).collect::<Vec<_>>().join(", ");
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok(STEPS.iter().collect()),
        ["--only", name] => {
            let step = STEPS.iter().find(|step| step.name == name);
            step.map(|step| vec![step])
                .ok_or_else(|| format!("there is no step `{name}`; steps: {}", names()))
        }
        _ => Err(format!("test takes only --only STEP; steps: {}", names())),
    }
}

fn judged(name: &'static str, result: Result<Tally, String>, took: Duration) -> Done {
    match result {
        Ok(tally) if tally.failed == 0 => Done { name, tally, problem: None, took },
        Ok(tally) => Done { name, tally, problem: Some(format!("{} tests failed", tally.failed)), took },
        Err(problem) => Done { name, tally: Tally { passed: 0, failed: 1 }, problem: Some(problem), took },
    }
}

fn summary(done: &[Done]) -> String {
    let mut text = "\n──── summary\n".to_owned();
    let mut all = Tally::default();
    for step in done {
        let verdict = if step.problem.is_some() { "FAILED" } else { "ok" };
        let tests = step.tally.passed + step.tally.failed;
        let counted = if step.tally.passed > 0 { format!("{tests} tests") } else { String::new() };
        // Writing to a String cannot fail.
        writeln!(text, "{:<12} {verdict:<6} {:>6.1} s  {counted}", step.name, step.took.as_secs_f64()).ok();
        all.add(step.tally);
    }
    writeln!(text, "\n{} passed, {} failed", all.passed, all.failed).ok();
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_without_tests_counts_as_one_failure() {
        let fine = judged("rust", Ok(Tally { passed: 7, failed: 0 }), Duration::ZERO);
        let broken = judged("clippy", Err("warnings".to_owned()), Duration::ZERO);
        let text = summary(&[fine, broken]);
        assert!(text.contains("clippy       FAILED"), "{text}");
        assert!(text.ends_with("\n7 passed, 1 failed\n"), "{text}");
    }

    #[test]
    fn an_unknown_step_is_answered_with_the_known_ones() {
        let problem = chosen(&["--only".to_owned(), "nothing".to_owned()]).err().unwrap();
        assert!(problem.contains("tools, format"), "{problem}");
    }
}
