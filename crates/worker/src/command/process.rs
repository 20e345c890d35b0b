//! A running command, seen from the worker: the guardian, its socket and the two pipes.
//!
//! Dropping it closes the socket, and the guardian then kills the command: a task that is aborted or panics leaves
//! nothing running.

use super::prepare::Call;
use crate::{
    executor::Ctx,
    guard::{self, ASK_KILL, ASK_TERMINATE, Limit, Limits, strays},
};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use std::{os::fd::OwnedFd, path::Path, process::Stdio};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    process::{Child, ChildStderr, ChildStdout, Command},
};

/// How the program ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// The guardian killed it for a limit it broke.
    OverLimit(Limit),
    /// It never ran, and why.
    Refused(String),
    /// The guardian died before it could say.
    Unknown,
}

impl Exit {
    /// The number a shell would show.
    pub fn code(&self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(*code),
            Self::Signal(signal) => Some(128 + signal),
            Self::OverLimit(_) => Some(128 + Signal::SIGKILL as i32),
            Self::Refused(_) | Self::Unknown => None,
        }
    }
}

pub struct Guarded {
    child: Child,
    said: Lines<BufReader<OwnedReadHalf>>,
    ask: OwnedWriteHalf,
    pid: Option<i32>,
    exit: Option<Exit>,
    broken: Option<Limit>,
}

/// Starts the guardian, which starts the program.
pub fn start(call: &Call, limits: &Limits, guard_program: &Path) -> std::io::Result<Guarded> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let mut command = Command::new(guard_program);
    command
        .args(guard::words(limits))
        .arg(&call.program)
        .args(&call.args)
        .env_clear()
        .envs(call.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&call.working_dir)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C at the worker's terminal is for the worker alone; it decides what becomes of its commands.
        .process_group(0);
    let child = strays::spawn(&mut command)?;
    // With it goes this process's copy of the guardian's end of the socket.
    drop(command);
    let (said, ask) = UnixStream::from_std(ours)?.into_split();
    Ok(Guarded { child, said: BufReader::new(said).lines(), ask, pid: None, exit: None, broken: None })
}

impl Guarded {
    pub fn take_pipes(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.child.stdout.take(), self.child.stderr.take())
    }

    /// The program's own process id, once the guardian has said it.
    pub fn pid(&self) -> Option<i32> {
        self.pid
    }

    /// Waits for the end. May be dropped and asked again.
    pub async fn ended(&mut self, ctx: &Ctx) -> Exit {
        while self.exit.is_none() {
            let line = self.said.next_line().await.ok().flatten();
            self.hear(line.as_deref(), ctx);
        }
        let _ = self.child.wait().await;
        if self.exit == Some(Exit::Unknown) {
            // Only now has the kernel handed over what the guardian had adopted.
            let _ = tokio::task::spawn_blocking(strays::sweep).await;
        }
        self.exit.clone().unwrap_or(Exit::Unknown)
    }

    fn hear(&mut self, line: Option<&str>, ctx: &Ctx) {
        let Some(line) = line else {
            self.exit = Some(Exit::Unknown);
            self.kill_without_guardian();
            return;
        };
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (word, rest.parse::<i32>()) {
            ("pid", Ok(pid)) => {
                self.pid = Some(pid);
                ctx.pid(pid);
            }
            ("limit", _) => self.broken = rest.parse().ok(),
            ("exit", Ok(code)) => self.exit = Some(self.broken.map_or(Exit::Code(code), Exit::OverLimit)),
            ("signal", Ok(signal)) => {
                self.exit = Some(self.broken.map_or(Exit::Signal(signal), Exit::OverLimit));
            }
            ("refused", _) => self.exit = Some(Exit::Refused(rest.to_owned())),
            _ => tracing::warn!(line, "the guardian said something unknown"),
        }
    }

    /// Asks the whole process group to end.
    pub async fn terminate(&mut self) {
        self.ask(ASK_TERMINATE).await;
    }

    pub async fn kill(&mut self) {
        self.ask(ASK_KILL).await;
    }

    async fn ask(&mut self, what: u8) {
        if self.ask.write_all(&[what]).await.is_err() {
            self.kill_without_guardian();
        }
    }

    /// The guardian itself was killed: do its last duty, as far as it can be done from here.
    fn kill_without_guardian(&self) {
        if let Some(pid) = self
            .pid
            .filter(|_| !matches!(self.exit, Some(Exit::Code(_) | Exit::Signal(_) | Exit::OverLimit(_))))
        {
            let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}
