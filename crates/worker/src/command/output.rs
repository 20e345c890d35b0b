//! Both pipes of a command, drained together for as long as anything comes. Draining never waits for the database:
//! lines go into bounded places, and a program that prints faster than we can keep loses its middle, not its speed.

use super::{
    lines::{LINE_BYTES, LineSplitter, cut},
    marker::{self, Marker},
    process::Exit,
    tail::Tail,
};
use crate::executor::Ctx;
use leasehold_queue::{
    params::AttemptFacts,
    secrets::{KeyBlock, REDACTED},
    transition::Failure,
};
use leasehold_types::LogStream;
use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncRead, AsyncReadExt};

const CHUNK: usize = 64 * 1024;
/// So many complaints about bad markers; after that they are only ordinary lines.
const COMPLAINTS: u32 = 5;

pub struct Output<'a> {
    ctx: &'a Ctx,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    stdout: Stream,
    stderr: Stream,
    result: Option<Given>,
    error: Option<Failure>,
    complaints: u32,
}

#[derive(Default)]
struct Stream {
    tail: Tail,
    key: KeyBlock,
}

/// A result as the program gave it.
#[derive(Clone, PartialEq, Debug)]
pub enum Given {
    Value(Value),
    /// Reading stopped at the limit.
    TooLarge,
}

impl<'a> Output<'a> {
    pub fn new(ctx: &'a Ctx) -> Self {
        Self { ctx, state: Mutex::default() }
    }

    /// Reads both pipes to their ends.
    pub async fn drain(
        &self,
        stdout: Option<impl AsyncRead + Unpin>,
        stderr: Option<impl AsyncRead + Unpin>,
    ) {
        tokio::join!(self.drain_one(LogStream::Stdout, stdout), self.drain_one(LogStream::Stderr, stderr));
    }

    async fn drain_one(&self, stream: LogStream, pipe: Option<impl AsyncRead + Unpin>) {
        let Some(mut pipe) = pipe else { return };
        let mut splitter = LineSplitter::new(self.ctx.max_json_bytes);
        let mut chunk = vec![0; CHUNK];
        loop {
            match pipe.read(&mut chunk).await {
                Ok(0) | Err(_) => break,
                Ok(n) => splitter.feed(&chunk[..n], |line| self.line(stream, line)),
            }
        }
        splitter.finish(|line| self.line(stream, line));
    }

    fn line(&self, stream: LogStream, line: &str) {
        if let Some(result) = marker::result(line) {
            return self.take_result(stream, line, result);
        }
        // Before anything is read off it or cut: half a secret is not recognised as one.
        let marker = if marker::is_one(line) { self.ctx.redactor.text(line) } else { line.into() };
        match marker::parse(&marker) {
            Some(Ok(marker)) => self.obey(marker),
            Some(Err(why)) => {
                self.keep(stream, line);
                self.complain(&why);
            }
            None => self.keep(stream, line),
        }
    }

    fn keep(&self, stream: LogStream, line: &str) {
        let mut state = self.state();
        let kept = if stream == LogStream::Stderr { &mut state.stderr } else { &mut state.stdout };
        let line = if kept.key.covers(line) { REDACTED } else { line };
        if line.len() <= LINE_BYTES {
            kept.tail.push(line);
            drop(state);
            self.ctx.log(stream, line.to_owned());
            return;
        }
        // Redact before cutting: half a secret is not recognised as one.
        let whole = self.ctx.redactor.text(line);
        let text = format!("{} … (cut)", cut(&whole, LINE_BYTES - 16));
        kept.tail.push(&text);
        drop(state);
        self.ctx.log(stream, text);
    }

    fn obey(&self, marker: Marker) {
        match marker {
            Marker::Progress(report) => {
                if let Err(problem) = self.ctx.progress(report) {
                    self.complain(&problem.detail);
                }
            }
            Marker::Error(failure) => self.state().error = Some(failure),
        }
    }

    /// The last one counts. Whether it can be kept is decided when the program has ended.
    fn take_result(&self, stream: LogStream, line: &str, text: &str) {
        if text.len() > self.ctx.max_json_bytes {
            self.state().result = Some(Given::TooLarge);
            return;
        }
        match serde_json::from_str(text) {
            Ok(value) => self.state().result = Some(Given::Value(value)),
            Err(error) => {
                self.keep(stream, line);
                self.complain(&format!("the result is not JSON: {error}"));
            }
        }
    }

    fn complain(&self, why: &str) {
        let mut state = self.state();
        state.complaints += 1;
        if state.complaints > COMPLAINTS {
            return;
        }
        drop(state);
        self.ctx.note(format!("Not understood: {}", cut(why, 500)));
    }

    /// The last result the program gave.
    pub fn result(&self) -> Option<Given> {
        self.state().result.clone()
    }

    /// What the program itself said about its failure.
    pub fn error(&self) -> Option<Failure> {
        self.state().error.clone()
    }

    /// The last thing it said on stderr.
    pub fn last_words(&self) -> Option<String> {
        self.state().stderr.tail.last_line(&self.ctx.redactor)
    }

    pub fn facts(&self, pid: Option<i32>, exit: Option<&Exit>) -> AttemptFacts {
        let state = self.state();
        AttemptFacts {
            pid,
            exit_code: exit.and_then(Exit::code),
            stdout_tail: state.stdout.tail.text(&self.ctx.redactor),
            stderr_tail: state.stderr.tail.text(&self.ctx.redactor),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
