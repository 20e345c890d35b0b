//! The body of a request, bounded in size and in time: one that grows too large or stops coming is cut off, and the
//! reason is noted for the answer.

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use leasehold_queue::EngineConfig;
use leasehold_types::{Problem, ProblemCode};
use std::{
    pin::Pin,
    sync::{Arc, LazyLock, OnceLock},
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, Sleep},
};
use tokio_util::sync::PollSemaphore;

const MIB: usize = 1024 * 1024;
/// Most bodies; larger ones wait for a turn, so that memory stays bounded however many there are.
const ORDINARY: usize = 2 * MIB;
static LARGE: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(8)));

/// What is in a body beside the payload, result or file itself.
const ENVELOPE: usize = 64 * 1024;
/// Ten thousand jobs of one and a half kilobytes.
const BULK: usize = 16 * MIB;

/// How much a body may carry, by where it is sent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Caps {
    json: usize,
    bulk: usize,
    /// The payload in a form is written in up to three characters each.
    form: usize,
    /// In base64.
    attachment: usize,
}

impl Caps {
    pub fn of_engine(config: &EngineConfig) -> Self {
        let json = config.max_json_bytes.saturating_add(ENVELOPE).max(ORDINARY);
        let form = config.max_json_bytes.saturating_mul(3).saturating_add(ENVELOPE).max(ORDINARY);
        let file = config.max_attachment_bytes.div_ceil(3).saturating_mul(4).saturating_add(ENVELOPE);
        Self { json, bulk: json.max(BULK), form, attachment: file.max(ORDINARY) }
    }

    pub fn of(&self, path: &str) -> usize {
        match path.strip_prefix("/api/v1/") {
            Some("jobs/bulk") => self.bulk,
            Some(rest) if rest.starts_with("jobs/") && rest.ends_with("/attachments") => self.attachment,
            Some(_) => self.json,
            None if path == "/do/enqueue" => self.form,
            None => ORDINARY,
        }
    }
}

/// How long a body may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Without a byte for so long, it is not coming any more.
    pub idle: Duration,
    /// A byte now and then does not keep a place for ever.
    pub whole: Duration,
}

/// Two minutes for two megabytes, which take less on any line, and in proportion for more.
pub fn patience(most: usize) -> Patience {
    let megabytes = u32::try_from(most.div_ceil(MIB)).unwrap_or(u32::MAX).max(2);
    Patience { idle: Duration::from_secs(30), whole: Duration::from_secs(60) * megabytes }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// With how much there may be.
    TooLarge(usize),
    TooSlow,
    /// Too many large ones at a time.
    Crowded,
}

impl Cut {
    pub fn problem(self) -> Problem {
        match self {
            Self::TooLarge(most) => {
                let detail = format!(
                    "A request to this address may carry at most {}. Nothing was changed.",
                    size(most)
                );
                Problem::new(ProblemCode::PayloadTooLarge, detail)
            }
            Self::TooSlow => {
                let detail = "The request's body did not arrive in time. Nothing was changed.";
                Problem::new(ProblemCode::RequestTimeout, detail)
            }
            Self::Crowded => {
                let detail = "Too many large requests are being dealt with. Nothing was changed; please try again soon.";
                Problem::new(ProblemCode::RateLimited, detail).retry_after(10)
            }
        }
    }
}

/// `2 MiB`, `33.4 MiB`.
fn size(bytes: usize) -> String {
    let tenths = bytes * 10 / MIB;
    match tenths % 10 {
        0 => format!("{} MiB", tenths / 10),
        tenth => format!("{}.{tenth} MiB", tenths / 10),
    }
}

/// What became of a body, for whoever answers; a large one keeps its turn until then.
#[derive(Default)]
pub struct Ledger {
    cut: OnceLock<Cut>,
    turn: OnceLock<OwnedSemaphorePermit>,
}

impl Ledger {
    pub fn cut(&self) -> Option<Cut> {
        self.cut.get().copied()
    }
}

pub struct Bounded {
    body: Body,
    most: usize,
    read: usize,
    idle: Duration,
    end: Instant,
    waiting: Pin<Box<Sleep>>,
    turns: PollSemaphore,
    ledger: Arc<Ledger>,
}

impl Bounded {
    pub fn new(body: Body, most: usize, patience: Patience, ledger: Arc<Ledger>) -> Self {
        let now = Instant::now();
        let waiting = Box::pin(tokio::time::sleep_until(now + patience.idle));
        let turns = PollSemaphore::new(LARGE.clone());
        Self { body, most, read: 0, idle: patience.idle, end: now + patience.whole, waiting, turns, ledger }
    }

    fn give_up(&self, why: Cut) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // The first reason stays.
        let _ = self.ledger.cut.set(why);
        Poll::Ready(Some(Err(axum::Error::new(why.problem()))))
    }

    /// Whether it may go on: ordinary bodies always may.
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.read <= ORDINARY || self.ledger.turn.get().is_some() {
            return Poll::Ready(());
        }
        self.turns.poll_acquire(cx).map(|turn| {
            // It is never closed.
            if let Some(turn) = turn {
                let _ = self.ledger.turn.set(turn);
            }
        })
    }
}

impl HttpBody for Bounded {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.poll_turn(cx).is_pending() {
            let late = self.waiting.as_mut().poll(cx).is_ready();
            return if late { self.give_up(Cut::Crowded) } else { Poll::Pending };
        }
        let frame = match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(frame) => frame,
            Poll::Pending if self.waiting.as_mut().poll(cx).is_ready() => return self.give_up(Cut::TooSlow),
            Poll::Pending => return Poll::Pending,
        };
        let length =
            frame.as_ref().and_then(|f| f.as_ref().ok()).and_then(Frame::data_ref).map_or(0, Bytes::len);
        self.read += length;
        if self.read > self.most {
            return self.give_up(Cut::TooLarge(self.most));
        }
        let until = (Instant::now() + self.idle).min(self.end);
        self.waiting.as_mut().reset(until);
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
