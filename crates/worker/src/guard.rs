//! The guardian: a tiny process between a worker and a command, so that nothing a command started outlives its
//! worker, even when the worker is killed with signal 9.
//!
//! Its standard input is one end of a socket pair; only the worker holds the other end. Over it the guardian says
//! the command's process id (`pid 4711`) and how it ended (`exit 3`, `signal 9`, `refused <why>`), and the worker
//! asks for signals (`T`, `K`). When the socket closes the worker is gone, and the whole process group is killed.
//! The command itself sees none of this: its input is empty, its output is the guardian's, its environment is
//! exactly the one the guardian was given.
//!
//! The guardian is the command's parent and reaps it last of all, so a signal can never hit a stranger that was
//! given the same process id. On Linux it also adopts what left the process group (`setsid`), and ends that too.

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use std::{
    ffi::OsString,
    io::{Read, Write},
    os::{
        fd::AsFd,
        unix::{
            net::UnixStream,
            process::{CommandExt, ExitStatusExt},
        },
    },
    process::{Child, Command, ExitCode, ExitStatus, Stdio},
    sync::{Mutex, PoisonError},
};

/// What the worker may ask for, one byte each.
pub const ASK_TERMINATE: u8 = b'T';
pub const ASK_KILL: u8 = b'K';

/// The shell's words for "cannot be run" and "used wrongly".
const CANNOT_RUN: u8 = 126;
const USED_WRONGLY: u8 = 125;

/// Runs `program args…` under guard; the caller has taken off everything up to and including `--`.
///
/// Call it before anything else is set up: no runtime, no logging, no configuration is needed or wanted.
pub fn main<A: Into<OsString>>(args: impl IntoIterator<Item = A>) -> ExitCode {
    let mut args = args.into_iter().map(Into::into);
    let Some(program) = args.next() else { return refuse("no program was named", None) };
    let worker = match std::io::stdin().as_fd().try_clone_to_owned() {
        Ok(socket) => UnixStream::from(socket),
        Err(error) => return refuse(&format!("there is no worker to report to: {error}"), None),
    };
    adopt_orphans();
    match start(program, args) {
        Ok(child) => stand_guard(child, worker),
        Err(error) => refuse(&error.to_string(), Some(worker)),
    }
}

fn start(program: OsString, args: impl Iterator<Item = OsString>) -> std::io::Result<Child> {
    Command::new(program).args(args).stdin(Stdio::null()).process_group(0).spawn()
}

fn refuse(why: &str, worker: Option<UnixStream>) -> ExitCode {
    match worker {
        Some(mut worker) => {
            let one_line: String = why.chars().filter(|c| !c.is_control()).collect();
            say(&mut worker, &format!("refused {one_line}"));
            ExitCode::from(CANNOT_RUN)
        }
        None => {
            eprintln!("guard: {why}");
            ExitCode::from(USED_WRONGLY)
        }
    }
}

/// A worker that is gone cannot be told; the other thread notices and kills.
fn say(worker: &mut UnixStream, line: &str) {
    let _ = writeln!(worker, "{line}");
}

/// The process group, until its leader is reaped and the number may belong to someone else.
struct Group {
    leader: Mutex<Option<Pid>>,
}

impl Group {
    fn signal(&self, signal: Signal) {
        let leader = self.leader.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leader) = *leader {
            // An empty group is what we want.
            let _ = killpg(leader, signal);
        }
    }

    /// Kills what is left and reaps the leader, with no gap in which a signal could go astray.
    fn end(&self, child: &mut Child) -> std::io::Result<ExitStatus> {
        let mut leader = self.leader.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pid) = leader.take() {
            let _ = killpg(pid, Signal::SIGKILL);
        }
        child.wait()
    }
}

fn stand_guard(mut child: Child, mut worker: UnixStream) -> ExitCode {
    let pid = Pid::from_raw(child.id().cast_signed());
    say(&mut worker, &format!("pid {pid}"));
    let group = Group { leader: Mutex::new(Some(pid)) };
    std::thread::scope(|scope| {
        let group = &group;
        let reader = worker.try_clone();
        scope.spawn(move || match reader {
            Ok(socket) => obey(socket, group),
            // Without ears there is no telling whether the worker lives: better safe than orphaned.
            Err(_) => group.signal(Signal::SIGKILL),
        });
        wait_for(&mut child, pid);
        let status = group.end(&mut child);
        kill_orphans();
        let code = report(&mut worker, status);
        // Ends the other thread's read.
        let _ = worker.shutdown(std::net::Shutdown::Both);
        code
    })
}

/// Does what the worker asks until it falls silent for good.
fn obey(mut worker: UnixStream, group: &Group) {
    let mut asked = [0; 1];
    loop {
        match worker.read(&mut asked) {
            Ok(0) => return group.signal(Signal::SIGKILL),
            Ok(_) if asked[0] == ASK_TERMINATE => group.signal(Signal::SIGTERM),
            Ok(_) => group.signal(Signal::SIGKILL),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return group.signal(Signal::SIGKILL),
        }
    }
}

fn report(worker: &mut UnixStream, status: std::io::Result<ExitStatus>) -> ExitCode {
    let Ok(status) = status else { return ExitCode::from(USED_WRONGLY) };
    if let Some(code) = status.code() {
        say(worker, &format!("exit {code}"));
        return ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX));
    }
    let signal = status.signal().unwrap_or_default();
    say(worker, &format!("signal {signal}"));
    ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))
}

/// Waits for the command's end and leaves it unreaped, so that its number stays taken.
#[cfg(target_os = "linux")]
fn wait_for(_: &mut Child, pid: Pid) {
    use nix::{
        errno::Errno,
        sys::wait::{Id, WaitPidFlag, waitid},
    };
    while waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) == Err(Errno::EINTR) {}
}

#[cfg(target_os = "linux")]
fn adopt_orphans() {
    // Where the kernel refuses, the process group is still watched.
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

/// Everything whose parents are gone has become our child; killing it may hand us its children in turn.
#[cfg(target_os = "linux")]
fn kill_orphans() {
    use nix::sys::{
        signal::kill,
        wait::{WaitPidFlag, waitpid},
    };
    const ROUNDS: usize = 64;
    for _ in 0..ROUNDS {
        let orphans = children();
        if orphans.is_empty() {
            return;
        }
        for orphan in orphans {
            let _ = kill(orphan, Signal::SIGKILL);
            let _ = waitpid(orphan, Some(WaitPidFlag::__WALL));
        }
    }
}

#[cfg(target_os = "linux")]
fn children() -> Vec<Pid> {
    let own = std::process::id().to_string();
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_child = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // "pid (name) state ppid …": the name may hold anything, so count from its last bracket.
        stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)) == Some(own.as_str())
    };
    pids.filter(is_child).map(Pid::from_raw).collect()
}

/// Elsewhere the command is reaped first; its number could in theory be taken before the group is killed.
#[cfg(not(target_os = "linux"))]
fn wait_for(child: &mut Child, _: Pid) {
    let _ = child.wait();
}

#[cfg(not(target_os = "linux"))]
fn adopt_orphans() {}
#[cfg(not(target_os = "linux"))]
fn kill_orphans() {}
