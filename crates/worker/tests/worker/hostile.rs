//! Values that would like to be more than a value.

use crate::house::{House, lines};
use leasehold_types::{JobStatus, LogStream};
use serde_json::json;

/// Says how many arguments it got, and how many bytes the one after the name has.
const BOOK: &str = r#"
[commands.tell]
program = "/bin/sh"
args = ["-c", 'echo "$# arguments"; printf %s "$1" | od -An -v -tx1 | tr -d " \n" | cut -c1-200; env | cut -d= -f1', "tell", "--name={{payload.value}}", "last"]
env = { inherit = ["PATH"], VALUE = "{{payload.value}}" }
max_attempts = 1
schema = { required = ["value"], properties = { value = { type = "string" } } }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn hostile_values_stay_one_argument() {
    let house = House::with_commands(BOOK).await;
    let worker = house.start(House::config());
    for value in [
        "--checkpoint-action=exec=sh",
        "$(id)",
        "`id`; rm -rf /",
        "two\nlines\r\nand a \ttab",
        "' \" \\ * ? ~ {a,b} | & < >",
        "{{payload.value}} {{tenant.id}}",
        "ünïcödé \u{202e} \u{1f980}",
        "",
    ] {
        let job = house.finished(house.enqueue("tell", json!({ "value": value })).await).await;
        assert_eq!(job.row.status, JobStatus::Completed, "{value:?}: {:?}", job.error_message);
        let said = lines(&job.attempts[0], LogStream::Stdout);
        let expected: String = format!("--name={value}").bytes().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(said[0], "2 arguments", "{value:?}");
        assert_eq!(said[1], expected.get(..200).unwrap_or(&expected), "{value:?}");
    }
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_no_program_can_take_is_a_plain_failure() {
    let house = House::with_commands(BOOK).await;
    let worker = house.start(House::config());
    // The kernel takes at most 128 KiB in one argument; nothing is cut off to make it fit.
    let job = house.finished(house.enqueue("tell", json!({"value": "x".repeat(1_000_000)})).await).await;
    assert_eq!(job.row.status, JobStatus::DeadLetter);
    assert_eq!(job.row.error_code.as_deref(), Some("spawn_failed"));
    assert!(lines(&job.attempts[0], LogStream::Stdout).is_empty(), "it never ran");
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_workers_own_environment_does_not_reach_the_command() {
    let house = House::with_commands(BOOK).await;
    let worker = house.start(House::config());
    let job = house.finished(house.enqueue("tell", json!({"value": "x"})).await).await;
    let mut names = lines(&job.attempts[0], LogStream::Stdout)[2..].to_vec();
    names.retain(|name| !matches!(*name, "PWD" | "_" | "OLDPWD" | "SHLVL"));
    names.sort_unstable();
    assert_eq!(names, ["PATH", "VALUE"], "neither the database's address nor a key");
    worker.stop().await;
}
