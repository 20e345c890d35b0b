//! What a handler sees of its job.

use crate::{
    Error,
    client::{Client, Lease},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// The server keeps no more of one attempt.
const MOST_LINES: i64 = 5_000;
const LINES_AT_ONCE: usize = 500;

/// A job as the server hands it out.
#[derive(Clone, Debug, Deserialize)]
pub struct ClaimedJob {
    pub number: i64,
    pub id: String,
    pub lease_id: String,
    pub tenant: String,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
    #[serde(default)]
    pub payload: Value,
    /// What an earlier attempt left to go on from.
    #[serde(default)]
    pub checkpoint: Option<Value>,
    pub attempt: i32,
    pub max_attempts: i32,
    pub timeout_seconds: Option<u64>,
}

/// A file kept with a job.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Attachment {
    pub id: String,
    pub name: String,
    pub content_type: String,
    pub size: u64,
    pub sha256: String,
    /// The attempt that wrote it.
    pub attempt: i32,
    /// On the server; whoever has it may fetch the file for a while.
    pub url: String,
}

/// A job in the hands of a handler. Copies speak of the same job.
#[derive(Clone)]
pub struct Job(Arc<Inner>);

struct Inner {
    claimed: ClaimedJob,
    lease: Lease,
    client: Arc<Client>,
    cancelled: CancellationToken,
    lost: CancellationToken,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    numbered: i64,
    waiting: Vec<(i64, String)>,
}

impl Job {
    pub(crate) fn new(claimed: ClaimedJob, lease: Lease, client: Arc<Client>) -> Self {
        let (cancelled, lost) = (CancellationToken::new(), CancellationToken::new());
        Self(Arc::new(Inner { claimed, lease, client, cancelled, lost, log: Mutex::default() }))
    }

    pub fn claimed(&self) -> &ClaimedJob {
        &self.0.claimed
    }

    pub fn payload(&self) -> &Value {
        &self.0.claimed.payload
    }

    /// Somebody asked for the job to be cancelled, its time is up, or the worker stops. A handler that returns soon
    /// after is not dropped.
    pub async fn cancelled(&self) {
        self.0.cancelled.cancelled().await;
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.is_cancelled()
    }

    /// Adds a line to the job's log; it is sent soon.
    pub fn log(&self, text: impl Into<String>) {
        let mut log = self.log_lines();
        if log.numbered < MOST_LINES {
            log.numbered += 1;
            let seq = log.numbered;
            log.waiting.push((seq, text.into()));
        }
    }

    /// Moves the bar. It never goes back, and a stage the kind of job does not know is an error.
    pub async fn progress(
        &self,
        stage: Option<&str>,
        percent: Option<f64>,
        message: Option<&str>,
    ) -> Result<(), Error> {
        let report = json!({"stage": stage, "percent": percent, "message": message});
        let held = self.heard(self.0.client.progress(self.number(), self.lease(), report).await)?;
        if held.cancel_requested {
            self.cancel();
        }
        Ok(())
    }

    /// What an earlier attempt left with [`Job::save_checkpoint`].
    pub fn checkpoint(&self) -> Option<&Value> {
        self.0.claimed.checkpoint.as_ref()
    }

    /// Remembers how far the work is, for the next attempt. It is durable when the call returns.
    pub async fn save_checkpoint(&self, checkpoint: Value) -> Result<(), Error> {
        let held = self.0.client.checkpoint(self.number(), self.lease(), checkpoint).await;
        if self.heard(held)?.cancel_requested {
            self.cancel();
        }
        Ok(())
    }

    /// Keeps a file with the job; one of the same name is replaced. It is durable when the call returns.
    pub async fn attach(&self, name: &str, content_type: &str, bytes: &[u8]) -> Result<Attachment, Error> {
        self.heard(self.0.client.attach(self.number(), self.lease(), name, content_type, bytes).await)
    }

    /// The files kept with the job so far, by name.
    pub async fn attachments(&self) -> Result<Vec<Attachment>, Error> {
        self.heard(self.0.client.attachments(self.number(), self.lease()).await)
    }

    pub async fn fetch(&self, file: &Attachment) -> Result<Vec<u8>, Error> {
        self.0.client.fetch(file).await
    }

    pub(crate) fn number(&self) -> i64 {
        self.0.claimed.number
    }

    pub(crate) fn lease(&self) -> &Lease {
        &self.0.lease
    }

    pub(crate) fn client(&self) -> &Client {
        &self.0.client
    }

    pub(crate) fn cancel(&self) {
        self.0.cancelled.cancel();
    }

    pub(crate) fn lose(&self) {
        self.0.lost.cancel();
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.0.lost.is_cancelled()
    }

    pub(crate) async fn lost(&self) {
        self.0.lost.cancelled().await;
    }

    /// Sends the lines that wait; false when some still do. A line waits until the server has answered, so whoever
    /// is interrupted loses none; sent twice it keeps its number and is kept once.
    pub(crate) async fn send_log(&self) -> bool {
        loop {
            let batch: Vec<_> = self.log_lines().waiting.iter().take(LINES_AT_ONCE).cloned().collect();
            let Some((last, _)) = batch.last().filter(|_| !self.is_lost()) else { return true };
            let sent = self.heard(self.0.client.logs(self.number(), self.lease(), &batch).await);
            if sent.is_err_and(|error| error.is_passing()) {
                return false;
            }
            self.log_lines().waiting.retain(|(seq, _)| seq > last);
        }
    }

    fn log_lines(&self) -> MutexGuard<'_, Log> {
        self.0.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notices when an answer says that the job is lost.
    pub(crate) fn heard<T>(&self, answer: Result<T, Error>) -> Result<T, Error> {
        if answer.as_ref().is_err_and(Error::is_lost) {
            self.lose();
        }
        answer
    }
}
