//! The guardian by itself: whatever happens to the worker, what it had started does not live on.

use leasehold_worker::guard::{self, Limits};
use std::{
    io::{BufRead, BufReader, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_secs(20);

/// A guardian as the worker starts it, with the worker's end of the socket.
fn guarded(script: &str, folder: &Path) -> (Child, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_leasehold-guard"))
        .args(guard::words(&Limits::default()))
        .args(["/bin/sh", "-c", script, "sh"])
        .arg(folder)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    (child, ours)
}

fn said(socket: &UnixStream) -> Vec<String> {
    BufReader::new(socket).lines().map_while(Result::ok).collect()
}

fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("never happened: {what}");
}

fn pid_in(path: &Path) -> i32 {
    until("a process id in a file", || std::fs::read_to_string(path).ok()?.trim().parse().ok())
}

fn lives(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn gone(pid: i32) {
    until("the end of a process", || (!lives(pid)).then_some(()));
}

#[test]
fn the_exit_code_comes_back_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (mut guard, socket) = guarded("exit 7", folder.path());
    let words = said(&socket);
    assert!(words[0].starts_with("pid "), "{words:?}");
    assert_eq!(words[1], "exit 7");
    assert_eq!(guard.wait().unwrap().code(), Some(7));
}

#[test]
fn a_signal_is_asked_for_over_the_socket() {
    let folder = tempfile::tempdir().unwrap();
    let (mut guard, mut socket) = guarded("exec sleep 300", folder.path());
    socket.write_all(b"T").unwrap();
    assert_eq!(said(&socket)[1], "signal 15");
    assert_eq!(guard.wait().unwrap().code(), Some(128 + 15));
}

#[test]
fn what_is_left_of_the_group_ends_with_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let (mut guard, socket) = guarded("sleep 300 & echo $! > $1/pid; exit 0", folder.path());
    assert_eq!(said(&socket)[1], "exit 0");
    assert_eq!(guard.wait().unwrap().code(), Some(0));
    gone(pid_in(&folder.path().join("pid")));
}

#[test]
fn a_program_that_cannot_run_is_refused_with_the_reason() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut guard = Command::new(env!("CARGO_BIN_EXE_leasehold-guard"))
        .args(guard::words(&Limits::default()))
        .arg("/nowhere/at/all")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()
        .unwrap();
    assert_eq!(guard.wait().unwrap().code(), Some(126));
    assert!(said(&ours)[0].starts_with("refused No such file"));
}

/// The worker's end of the socket is held by this very process here; closing it is what a kill -9 does.
#[test]
fn the_end_of_the_worker_is_the_end_of_the_group() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"trap "" TERM HUP; sleep 300 & echo $! > $1/child; echo $$ > $1/self; wait; sleep 300"#;
    let (mut guard, socket) = guarded(script, folder.path());
    let pids = ["self", "child"].map(|name| pid_in(&folder.path().join(name)));
    assert!(pids.iter().all(|pid| lives(*pid)));
    drop(socket);
    pids.into_iter().for_each(gone);
    assert_eq!(guard.wait().unwrap().code(), Some(128 + 9));
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_that_left_its_group_does_not_escape_either() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"setsid sh -c 'echo $$ > $0/escaped; exec sleep 300' $1 & sleep 300"#;
    let (mut guard, socket) = guarded(script, folder.path());
    let escaped = pid_in(&folder.path().join("escaped"));
    drop(socket);
    gone(escaped);
    guard.wait().unwrap();
}

/// The worker may be gone by then, too: there is nobody but the kernel to do it.
#[cfg(target_os = "linux")]
#[test]
fn a_program_ends_with_its_guardian() {
    let folder = tempfile::tempdir().unwrap();
    let (mut guard, _socket) = guarded("echo $$ > $1/self; exec sleep 300", folder.path());
    let program = pid_in(&folder.path().join("self"));
    assert!(lives(program));
    guard.kill().unwrap();
    guard.wait().unwrap();
    gone(program);
}

#[cfg(target_os = "linux")]
#[test]
fn no_descriptor_but_the_three_usual_ones_is_inherited() {
    use nix::fcntl::{FcntlArg, FdFlag, fcntl};
    let folder = tempfile::tempdir().unwrap();
    let secret = std::fs::File::create(folder.path().join("secret")).unwrap();
    // As whoever starts the worker may leave one open.
    fcntl(&secret, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
    let (mut guard, socket) = guarded("exec ls -l /proc/self/fd > $1/list", folder.path());
    assert_eq!(said(&socket)[1], "exit 0");
    guard.wait().unwrap();
    let list = std::fs::read_to_string(folder.path().join("list")).unwrap();
    // The fourth is the folder that `ls` itself reads.
    let open: Vec<_> = list.lines().filter_map(|line| line.split_once(" -> ")).collect();
    assert!(open.len() == 4 && !list.contains("secret") && !list.contains("socket"), "{list}");
}

/// Not a test of its own: the process that the next test kills.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn worker_to_be_killed() {
    let folder = std::env::var("GUARD_TEST_FOLDER").unwrap();
    let (mut guard, _socket) = guarded("echo $$ > $1/self; exec sleep 300", Path::new(&folder));
    guard.wait().unwrap();
}

#[test]
fn a_worker_killed_with_signal_nine_leaves_no_orphan() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "worker_to_be_killed"])
        .env("GUARD_TEST_FOLDER", folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let program = pid_in(&folder.path().join("self"));
    assert!(lives(program));
    // On Unix this is signal 9: no destructor, no farewell.
    worker.kill().unwrap();
    worker.wait().unwrap();
    gone(program);
}
