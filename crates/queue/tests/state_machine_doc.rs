//! `docs/state-machine.md` is drawn from the table the code uses. `UPDATE_DOCS=1` writes it anew.

use leasehold_queue::transition::MOVES;
use leasehold_types::JobStatus;
use std::{fmt::Write, path::Path};

fn drawn() -> String {
    let mut text = String::from(
        "# The state machine\n\n\
         Drawn from `MOVES` in `crates/queue/src/transition.rs`; a test keeps the two equal.\n\
         Nothing leaves a terminal state: a retry of a finished job is a new job that names it as parent.\n\n\
         ```mermaid\nstateDiagram-v2\n    [*] --> queued\n",
    );
    for (from, to, why) in MOVES {
        writeln!(text, "    {from} --> {to}: {why}").unwrap();
    }
    for status in JobStatus::ALL.iter().filter(|s| s.is_terminal()) {
        writeln!(text, "    {status} --> [*]").unwrap();
    }
    text.push_str("```\n\n| from | to | when |\n|---|---|---|\n");
    for (from, to, why) in MOVES {
        writeln!(text, "| {from} | {to} | {why} |").unwrap();
    }
    text.push_str(
        "\nWhen an attempt fails, in this order: a cancellation was asked for → cancelled; the error must not be \
         retried → failed; the same error code as often in a row as `JOBS_QUARANTINE_THRESHOLD` says → \
         quarantined; every attempt used → dead_letter; otherwise queued again after its backoff.\n",
    );
    text
}

#[test]
fn the_document_is_drawn_from_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/state-machine.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, drawn()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == drawn(), "docs/state-machine.md is out of date: run this test with UPDATE_DOCS=1");
}
