//! The guardian: a tiny process between a worker and a command, so that nothing a command started outlives its
//! worker, even when the worker is killed with signal 9, and so that it keeps to its limits.
//!
//! Its standard input is one end of a socket pair; only the worker holds the other end. Over it the guardian says
//! the command's process id (`pid 4711`), the limit it broke (`limit memory`) and how it ended (`exit 3`, `signal 9`,
//! `refused <why>`), and the worker asks for signals (`T`, `K`). When the socket closes the worker is gone, and the
//! whole process group is killed. The command itself sees none of this: its input is empty, its output is the
//! guardian's, its environment is exactly the one the guardian was given, and it inherits no other descriptor.
//!
//! The guardian is the command's parent and reaps it last of all, so a signal can never hit a stranger that was
//! given the same process id. On Linux it also adopts what left the process group (`setsid`), and ends that too.
//! Should the guardian itself be killed, the kernel kills the command, and the worker ends what is left ([`strays`]).

mod launch;
mod limits;
pub mod strays;
mod tree;
mod watch;

pub use limits::{Limit, Limits};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use std::{
    ffi::{OsStr, OsString},
    io::{Read, Write},
    os::{
        fd::AsFd,
        unix::{net::UnixStream, process::ExitStatusExt},
    },
    process::{Child, ExitCode, ExitStatus},
    sync::{Mutex, PoisonError, mpsc},
};

/// What the worker may ask for, one byte each.
pub const ASK_TERMINATE: u8 = b'T';
pub const ASK_KILL: u8 = b'K';

/// The shell's words for "cannot be run" and "used wrongly".
const CANNOT_RUN: u8 = 126;
const USED_WRONGLY: u8 = 125;

const HOLD: &str = "hold";
const EXEC: &str = "exec";

/// What stands before the program and its arguments when a guardian is started.
pub fn words(limits: &Limits) -> [String; 4] {
    ["guard".into(), "--".into(), HOLD.into(), limits.to_string()]
}

/// Runs `hold LIMITS program args…` under guard; the caller has taken off everything up to and including `--`.
///
/// Call it before anything else is set up: no runtime, no logging, no configuration is needed or wanted.
pub fn main<A: Into<OsString>>(args: impl IntoIterator<Item = A>) -> ExitCode {
    let mut args = args.into_iter().map(Into::into);
    let (Some(word), Some(limits)) = (args.next(), args.next()) else {
        return used_wrongly("it is started by workers only");
    };
    let Some(limits) = limits.to_str().and_then(|text| text.parse::<Limits>().ok()) else {
        return used_wrongly("its limits cannot be read");
    };
    let Some(program) = args.next() else { return used_wrongly("no program was named") };
    match word.to_str() {
        Some(HOLD) => hold(&limits, &program, args),
        Some(EXEC) => launch::launch(&limits, &program, args),
        _ => used_wrongly("it is started by workers only"),
    }
}

/// Keeps other processes of the same user from reading this one's environment and memory, where the kernel lets us.
/// Costs core dumps of this process; root may look all the same.
pub fn forbid_inspection() {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_dumpable(false);
}

fn hold(limits: &Limits, program: &OsStr, args: impl Iterator<Item = OsString>) -> ExitCode {
    close_inherited();
    forbid_inspection();
    let mut worker = match std::io::stdin().as_fd().try_clone_to_owned() {
        Ok(socket) => UnixStream::from(socket),
        Err(error) => return used_wrongly(&format!("there is no worker to report to: {error}")),
    };
    tree::adopt_orphans();
    match launch::start(limits, program, args) {
        Ok(child) => stand_guard(child, worker, limits),
        Err(error) => {
            let one_line: String = error.to_string().chars().filter(|c| !c.is_control()).collect();
            say(&mut worker, &format!("refused {one_line}"));
            ExitCode::from(CANNOT_RUN)
        }
    }
}

fn used_wrongly(why: &str) -> ExitCode {
    eprintln!("guard: {why}");
    ExitCode::from(USED_WRONGLY)
}

/// Whatever the worker's own parent left open is nothing for a command. Nothing of ours is open yet.
fn close_inherited() {
    let folder = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    let Ok(open) = std::fs::read_dir(folder) else { return };
    let numbers: Vec<i32> =
        open.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // One of them was the folder itself, which is closed already.
        let _ = nix::unistd::close(number);
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

fn stand_guard(mut child: Child, mut worker: UnixStream, limits: &Limits) -> ExitCode {
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
        let (over, ended) = mpsc::channel();
        let watching = scope.spawn(move || watch::watch(limits, pid, group, &ended));
        wait_for(&mut child, pid);
        drop(over);
        let broken = watching.join().ok().flatten();
        let status = group.end(&mut child);
        tree::kill_orphans();
        if let Some(limit) = broken {
            say(&mut worker, &format!("limit {limit}"));
        }
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

/// Elsewhere the command is reaped first; its number could in theory be taken before the group is killed.
#[cfg(not(target_os = "linux"))]
fn wait_for(child: &mut Child, _: Pid) {
    let _ = child.wait();
}
