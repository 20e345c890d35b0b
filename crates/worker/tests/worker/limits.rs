//! Commands that take more than they may: each is stopped, the attempt says why, and nothing of it is left. Every
//! program here would end by itself before it could hurt the machine.

use crate::house::{House, eventually, lines, lives, number_in};
use leasehold_types::{JobStatus, LogStream, view::JobDetail};
use leasehold_worker::guard::strays;
use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, Uid},
};
use serde_json::json;
use std::{fmt::Write, os::unix::fs::PermissionsExt};

/// One command of this name, with these settings, that runs a script in the folder it is given. Its variable MARK
/// shows which processes are of its family.
fn book(settings: &str, program: &str, script: &str) -> String {
    let mut text = String::from("[commands.greedy]\n");
    writeln!(
        text,
        "program = \"{program}\"\nargs = [\"-c\", '''{script}''', \"greedy\", \"{{{{payload.folder}}}}\"]"
    )
    .unwrap();
    writeln!(text, "env = {{ inherit = [\"PATH\"], MARK = \"{{{{payload.folder}}}}\" }}").unwrap();
    writeln!(text, "timeout_seconds = 30\nmax_attempts = 3\n{settings}").unwrap();
    text.push_str("schema = { required = [\"folder\"], properties = { folder = { type = \"string\" } } }\n");
    text
}

/// The processes whose environment has the test's mark.
fn family(house: &House) -> Vec<i32> {
    let mark = format!("MARK={}", house.folder.path().display());
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let marked = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    pids.filter(marked).collect()
}

async fn run(settings: &str, program: &str, script: &str) -> (House, JobDetail) {
    let house = House::with_commands(&book(settings, program, script)).await;
    // Whoever the command runs as may write here.
    std::fs::set_permissions(house.folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let worker = house.start(House::config());
    let number = house.enqueue("greedy", json!({"folder": house.folder.path()})).await;
    let job = house.finished(number).await;
    worker.stop().await;
    eventually("the end of the whole family", || family(&house).is_empty()).await;
    (house, job)
}

async fn is_stopped(settings: &str, program: &str, script: &str, code: &str, limit: &str) -> House {
    let (house, job) = run(settings, program, script).await;
    let message = job.error_message.clone().unwrap_or_default();
    assert_eq!(job.row.error_code.as_deref(), Some(code), "{message}");
    assert_eq!(job.error_class.as_deref(), Some("resource_exhausted"));
    assert!(message.contains(limit) && message.contains("commands.toml"), "{message}");
    // Trying again would break the limit again.
    assert_eq!((job.row.status, job.attempts.len()), (JobStatus::Failed, 1));
    house
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_takes_too_much_memory_is_stopped() {
    let script = "head -c 300000000 /dev/zero | tail";
    is_stopped("memory = \"32MB\"", "/bin/sh", script, "memory_limit", "32 MB").await;
}

/// None of the four is over the limit by itself.
#[tokio::test(flavor = "multi_thread")]
async fn memory_is_counted_over_the_whole_family() {
    let script = "import os, time\nos.fork(); os.fork()\nheld = bytearray(40_000_000)\ntime.sleep(20)";
    is_stopped("memory = \"100MB\"", "/usr/bin/python3", script, "memory_limit", "100 MB").await;
}

/// What four processes hold together counts once.
#[tokio::test(flavor = "multi_thread")]
async fn memory_that_is_shared_is_counted_once() {
    let script = "import os, time\nheld = bytearray(40_000_000)\nos.fork(); os.fork()\ntime.sleep(1)";
    let (_, job) = run("memory = \"100MB\"", "/usr/bin/python3", script).await;
    assert_eq!(job.row.status, JobStatus::Completed, "{:?}", job.error_message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_allocation_far_beyond_the_limit_is_refused_and_named() {
    let script = "held = bytearray(2_000_000_000)";
    is_stopped("memory = \"64MB\"", "/usr/bin/python3", script, "memory_limit", "MemoryError").await;
}

/// At most 2⁷ − 1 inner processes and their leaves, each of which sleeps and ends.
const BOMB: &str =
    r#"f() { if [ "$1" -le 0 ]; then exec sleep 20; fi; f $(($1 - 1)) & f $(($1 - 1)) & wait; }; f 6"#;
/// The same with each process in a session of its own.
const ESCAPING_BOMB: &str = r#"
echo 'if [ "$1" -le 0 ]; then exec sleep 20; fi
setsid sh "$0" $(($1 - 1)) & setsid sh "$0" $(($1 - 1)) & wait' > "$1/bomb"
sh "$1/bomb" 6"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_is_stopped() {
    is_stopped("processes = 20", "/bin/sh", BOMB, "process_limit", "20").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_that_leaves_its_process_group_is_stopped() {
    is_stopped("processes = 20", "/bin/sh", ESCAPING_BOMB, "process_limit", "20").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_of_an_ordinary_user_is_stopped() {
    if !Uid::effective().is_root() {
        return eprintln!(
            "skipped: only root runs commands as somebody else; the test above is the same here"
        );
    }
    let settings = "processes = 20\nuser = \"nobody\"";
    is_stopped(settings, "/bin/sh", ESCAPING_BOMB, "process_limit", "20").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_cannot_grow_beyond_its_limit() {
    let script = "head -c 20000000 /dev/zero > \"$1/file\"";
    let house = is_stopped("file_size = \"1MB\"", "/bin/sh", script, "file_size_limit", "1 MB").await;
    assert_eq!(house.folder.path().join("file").metadata().unwrap().len(), 1 << 20);
    // Some languages ignore the signal and say it in words.
    let script = "import sys\nopen(sys.argv[2] + '/file', 'wb').write(bytes(20_000_000))";
    is_stopped("file_size = \"1MB\"", "/usr/bin/python3", script, "file_size_limit", "1 MB").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_computes_for_too_long_is_stopped() {
    let burn = "timeout 20 sh -c 'while :; do :; done'";
    is_stopped("cpu_seconds = 1", "/bin/sh", burn, "cpu_limit", "1 s").await;
    // No single process of this one lives for long.
    let burn = "for i in $(seq 4000); do seq 20000 > /dev/null; done";
    is_stopped("cpu_seconds = 1", "/bin/sh", burn, "cpu_limit", "1 s").await;
    // Nor of this one, and nobody of the family waits for them: they are the guardian's when they end.
    let burn = "for i in $(seq 60); do (sh -c 'n=0; while [ $n -lt 60000 ]; do n=$((n+1)); done' &); sleep 0.1; done";
    is_stopped("cpu_seconds = 1", "/bin/sh", burn, "cpu_limit", "1 s").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_opens_too_many_files_is_told_so() {
    let script = "held = [open('/dev/null') for _ in range(200)]";
    is_stopped("open_files = 32", "/usr/bin/python3", script, "open_files_limit", "32").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn defaults_of_the_file_hold_where_a_command_says_nothing() {
    let print = "ulimit -n; ulimit -f; ulimit -t; ulimit -d; grep NoNewPrivs /proc/self/status";
    let defaults = "open_files = 77\nfile_size = \"1MB\"\ncpu_seconds = 50\nmemory = \"64MB\"";
    let book = |settings: &str| format!("{}\n[defaults]\n{defaults}\n", book(settings, "/bin/sh", print));
    // The kernel's limit on one process's memory is twice what the guardian lets the whole family have.
    for (settings, expected) in [
        ("", ["77", "2048", "50", "131072", "NoNewPrivs:\t1"]),
        (
            "open_files = 99\nfile_size = \"unlimited\"\ncpu_seconds = 70",
            ["99", "unlimited", "70", "131072", "NoNewPrivs:\t1"],
        ),
        ("allow_new_privileges = true", ["77", "2048", "50", "131072", "NoNewPrivs:\t0"]),
    ] {
        let house = House::with_commands(&book(settings)).await;
        let worker = house.start(House::config());
        let job = house.finished(house.enqueue("greedy", json!({"folder": "/"})).await).await;
        assert_eq!(lines(&job.attempts[0], LogStream::Stdout), expected, "{settings}");
        worker.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_may_run_as_another_user() {
    if !Uid::effective().is_root() {
        return eprintln!("skipped: only root runs commands as somebody else");
    }
    let (_, job) = run("user = \"nobody\"", "/bin/sh", "id -un; id -G; id -ru").await;
    let said = lines(&job.attempts[0], LogStream::Stdout);
    assert_eq!((said[0], said[2]), ("nobody", "65534"), "{:?}", job.error_message);
    assert!(!said[1].split(' ').any(|group| group == "0"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_in_a_session_of_its_own_ends_with_the_program() {
    let script = "setsid sleep 300 & sleep 0.2; exit 0";
    let (_, job) = run("", "/bin/sh", script).await;
    assert_eq!(job.row.status, JobStatus::Completed);
}

/// The worker gets what the guardian had adopted, and ends it.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_survives_the_death_of_the_guardian_either() {
    strays::adopt();
    let script = r#"
        sleep 300 & setsid sh -c 'setsid sleep 300 & sleep 300' &
        sleep 0.2; echo $PPID > "$1/new"; mv "$1/new" "$1/guardian"; wait"#;
    let house = House::with_commands(&book("", "/bin/sh", script)).await;
    let worker = house.start(House::config());
    let beside = house.enqueue("greedy", json!({"folder": "/nowhere"})).await;
    house.until(beside, |job| job.attempts.iter().any(|attempt| attempt.pid.is_some())).await;
    let number = house.enqueue("greedy", json!({"folder": house.folder.path()})).await;
    let guardian = number_in(&house.folder.path().join("guardian")).await;
    let members = family(&house);
    assert!(members.len() >= 5, "the program, three sleepers and a shell: {members:?}");
    kill(Pid::from_raw(guardian), Signal::SIGKILL).unwrap();
    let failed = |job: &JobDetail| job.attempts[0].error_code.is_some();
    let job = house.until(number, failed).await;
    assert_eq!(job.attempts[0].error_code.as_deref(), Some("guardian_lost"));
    eventually("the end of the whole family", || members.iter().all(|pid| !lives(*pid))).await;
    let other = house.job(beside).await;
    assert!(other.attempts[0].pid.is_some_and(lives), "another guardian's command goes on: {other:#?}");
    house.cancel(number).await;
    house.cancel(beside).await;
    worker.stop().await;
}

/// Here the worker adopts nobody, and the kernel ends the program alone: the rest of its group is the worker's to kill.
#[tokio::test(flavor = "multi_thread")]
async fn the_group_ends_with_the_guardian_although_nobody_adopts_it() {
    let script =
        r#"sleep 300 & echo "$!" > "$1/child"; echo $PPID > "$1/new"; mv "$1/new" "$1/guardian"; wait"#;
    let house = House::with_commands(&book("", "/bin/sh", script)).await;
    let worker = house.start(House::config());
    let number = house.enqueue("greedy", json!({"folder": house.folder.path()})).await;
    let guardian = number_in(&house.folder.path().join("guardian")).await;
    let child = number_in(&house.folder.path().join("child")).await;
    // The worker must know the group before it can kill it.
    house.until(number, |job| job.attempts.iter().any(|attempt| attempt.pid.is_some())).await;
    kill(Pid::from_raw(guardian), Signal::SIGKILL).unwrap();
    eventually("the end of the rest of the group", || !lives(child)).await;
    house.cancel(number).await;
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_is_not_executable_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("import.sh");
    std::fs::write(&script, "#!/bin/sh\nexit 0\n").unwrap();
    let text = format!("[commands.import]\nprogram = \"{}\"\nmax_attempts = 1", script.display());
    let house = House::with_commands(&text).await;
    let worker = house.start(House::config());
    let job = house.finished(house.enqueue("import", json!({})).await).await;
    assert_eq!(job.row.error_code.as_deref(), Some("spawn_failed"));
    let message = job.error_message.unwrap();
    assert!(message.contains(&format!("chmod +x {}", script.display())), "{message}");
    worker.stop().await;
}
