//! The last step before a command: a process that takes its limits upon itself and then becomes the program.
//!
//! It is this binary once more, because only the process itself can set what it hands on to the program it becomes,
//! and between fork and exec there is no room for safe code. Its standard input is a socket that closes when the
//! program runs, or carries the reason why it does not.

use super::{CANNOT_RUN, EXEC, Limits, used_wrongly};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::{
    ffi::{OsStr, OsString},
    io::{Error, ErrorKind, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    path::PathBuf,
    process::{Child, Command, ExitCode, Stdio},
};

/// The hard limit on computing comes this much later than the soft one, whose signal can be told apart.
const CPU_GRACE: u64 = 1;

/// Starts the program; called by the guardian.
pub fn start(
    limits: &Limits,
    program: &OsStr,
    args: impl Iterator<Item = OsString>,
) -> std::io::Result<Child> {
    let (mut ours, theirs) = UnixStream::pair()?;
    let mut launcher = Command::new(own_program()?);
    launcher.args(["guard", "--", EXEC, &limits.to_string()]).arg(program).args(args);
    launcher.stdin(Stdio::from(OwnedFd::from(theirs)));
    if let Some((user, group)) = limits.user {
        // The standard library leaves root's other groups behind as well.
        launcher.uid(user).gid(group);
    }
    let mut child = launcher.spawn()?;
    // Closes our copy of their end: now the program's start closes the last one.
    drop(launcher);
    let mut refused = String::new();
    ours.read_to_string(&mut refused)?;
    if refused.is_empty() {
        prefer_for_oom(&child);
        return Ok(child);
    }
    child.wait()?;
    Err(Error::other(refused))
}

/// Also when the file was replaced or removed meanwhile, by an upgrade.
fn own_program() -> std::io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}

/// When the machine runs out of memory, the command goes before the worker.
fn prefer_for_oom(child: &Child) {
    let _ = std::fs::write(format!("/proc/{}/oom_score_adj", child.id()), "500");
}

/// Becomes the program, or says why not.
pub fn launch(limits: &Limits, program: &OsStr, args: impl Iterator<Item = OsString>) -> ExitCode {
    let mut guardian = match std::io::stdin().as_fd().try_clone_to_owned() {
        Ok(socket) => UnixStream::from(socket),
        Err(error) => return used_wrongly(&format!("there is no guardian to report to: {error}")),
    };
    let error = match die_with(&mut guardian).and_then(|()| lead()).and_then(|()| restrict(limits)) {
        Ok(()) => Command::new(program).args(args).stdin(Stdio::null()).exec(),
        Err(error) => error,
    };
    let _ = write!(guardian, "{error}");
    ExitCode::from(CANNOT_RUN)
}

/// The kernel ends the program with its guardian, whatever ends that.
#[cfg(target_os = "linux")]
fn die_with(guardian: &mut UnixStream) -> std::io::Result<()> {
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
    // It may have ended just before: then its end of the socket is closed already.
    guardian.set_nonblocking(true)?;
    let alive = guardian.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
    guardian.set_nonblocking(false)?;
    if alive { Ok(()) } else { Err(Error::other("the guardian is gone")) }
}

#[cfg(not(target_os = "linux"))]
fn die_with(_: &mut UnixStream) -> std::io::Result<()> {
    Ok(())
}

/// A session of its own, and with it a process group. Linux shares the processor fairly between sessions, so a command
/// with a thousand processes does not keep its guardian from being heard.
fn lead() -> std::io::Result<()> {
    nix::unistd::setsid()?;
    Ok(())
}

fn restrict(limits: &Limits) -> std::io::Result<()> {
    let cpu = limits.cpu_seconds.map(|seconds| (seconds, seconds + CPU_GRACE));
    // The guardian watches what all processes hold together; this is for one that grows faster than it can look.
    let memory = limits.memory.map(|bytes| bytes.saturating_mul(2)).map(|bytes| (bytes, bytes));
    let both = |limit: Option<u64>| limit.map(|number| (number, number));
    for (resource, wanted) in [
        (Resource::RLIMIT_CPU, cpu),
        (Resource::RLIMIT_DATA, memory),
        (Resource::RLIMIT_NOFILE, both(limits.open_files)),
        (Resource::RLIMIT_FSIZE, both(limits.file_size)),
    ] {
        let Some((soft, hard)) = wanted else { continue };
        // What is already stricter stays so.
        let (_, most) = getrlimit(resource)?;
        setrlimit(resource, soft.min(most), hard.min(most))?;
    }
    #[cfg(target_os = "linux")]
    if !limits.new_privileges {
        nix::sys::prctl::set_no_new_privs()?;
    }
    Ok(())
}
