//! What a handler keeps beyond its attempt: checkpoints and files. Both are durable when the call returns, and both
//! need the lease: a handler that has lost it hears so here and ends.

use super::{Ctx, Halt, Stop, StopSignal, failure};
use leasehold_queue::{
    Engine, Scope, StoreError, StoreResult,
    attachments::{Attachment, NewAttachment},
    params::{ClaimedJob, Lease, RenewAnswer, Renewal},
    payload,
};
use leasehold_types::{
    AttachmentId, ErrorClass, JobRef, JobStatus, Problem, ProblemCode,
    view::{AttachmentView, LinkedAttachment},
};
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// How often the database is asked before a handler gives up; the next attempt begins where the checkpoint says.
const TRIES: u32 = 5;

/// The job's place in the store.
pub struct Desk {
    engine: Arc<Engine>,
    lease: Lease,
    /// No handler reads another tenant's files, nor, where people are kept to domains, another domain's.
    scope: Scope,
    lease_for: Duration,
    stop: StopSignal,
}

impl Desk {
    pub fn new(engine: Arc<Engine>, job: &ClaimedJob, lease_for: Duration, stop: StopSignal) -> Self {
        let scope = Scope::system("worker").within(job.tenant_id);
        let scope = engine.config().domains.confine_job(scope, &job.domain);
        Self { engine, lease: job.lease.clone(), scope, lease_for, stop }
    }

    /// Asks again while the database is away for a moment, unless the attempt must end.
    async fn patiently<T, F>(&self, call: impl Fn() -> F) -> Result<T, Halt>
    where
        F: Future<Output = StoreResult<T>>,
    {
        let (mut tries, mut wait) = (1, Duration::from_millis(100));
        loop {
            match call().await {
                Err(StoreError::Database { transient: true, .. }) if tries < TRIES => {}
                answer => return answer.map_err(|error| self.halt(error)),
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                _ = self.stop.wait(|stop| stop == Stop::LeaseLost) => return Err(Halt::Stopped),
            }
            (tries, wait) = (tries + 1, wait * 2);
        }
    }

    fn halt(&self, error: StoreError) -> Halt {
        match error {
            StoreError::Problem(Problem { code: ProblemCode::StaleLease, .. }) => {
                self.stop.raise(Stop::LeaseLost);
                Halt::Stopped
            }
            StoreError::Problem(problem) => refused(&problem),
            StoreError::Corrupt { .. } => {
                Halt::Failed(failure("unreadable", ErrorClass::CorruptionDetected, error.to_string()))
            }
            StoreError::Database { .. } => {
                tracing::warn!(job = self.lease.number, %error, "a handler cannot reach the database");
                let message = "The database did not answer in time.";
                Halt::Failed(failure("database_unavailable", ErrorClass::TransientStorage, message))
            }
        }
    }

    fn renewal(&self, checkpoint: Value) -> Renewal {
        let (lease, extend_by) = (self.lease.clone(), self.lease_for);
        Renewal { lease, extend_by, progress: None, pid: None, checkpoint: Some(checkpoint) }
    }
}

fn refused(problem: &Problem) -> Halt {
    let code = problem.code.as_str().to_ascii_lowercase();
    Halt::Failed(failure(&code, ErrorClass::ValidationError, problem.detail.clone()))
}

impl Ctx {
    /// Remembers how far the work is. The next attempt finds it in [`ClaimedJob::checkpoint`].
    pub async fn checkpoint(&self, value: Value) -> Result<(), Halt> {
        payload::check_shape(&value, self.max_json_bytes).map_err(|problem| refused(&problem))?;
        let desk = self.desk()?;
        let renewals = || desk.engine.renew(vec![desk.renewal(value.clone())]);
        match desk.patiently(renewals).await?.first() {
            Some(RenewAnswer::Held { cancel_requested }) => {
                if *cancel_requested {
                    desk.stop.raise(Stop::Cancelled);
                }
                Ok(())
            }
            Some(RenewAnswer::Lost) | None => {
                desk.stop.raise(Stop::LeaseLost);
                Err(Halt::Stopped)
            }
        }
    }

    /// Keeps a file with the job, and says so in the log; a file of the same name is replaced.
    pub async fn attach(
        &self,
        name: &str,
        content_type: &str,
        bytes: Vec<u8>,
    ) -> Result<AttachmentView, Halt> {
        let desk = self.desk()?;
        let file = NewAttachment::new(name, content_type, bytes);
        let kept = desk.patiently(|| desk.engine.attach(&desk.lease, file.clone(), &self.redactor)).await?;
        self.note(format!("Kept {}, {} bytes.", kept.name, kept.size));
        Ok(kept)
    }

    /// A link under which a file can be fetched for a while.
    pub async fn link(&self, file: AttachmentView) -> Result<LinkedAttachment, Halt> {
        let desk = self.desk()?;
        desk.patiently(|| async { Ok(desk.engine.link(file.clone()).await?) }).await
    }

    /// The state and the files of a job of the same tenant; none when there is no such job.
    pub async fn files_of(&self, job: JobRef) -> Result<Option<(JobStatus, Vec<AttachmentView>)>, Halt> {
        let desk = self.desk()?;
        let store = desk.engine.store();
        let Some(found) = desk.patiently(|| store.job(&desk.scope, job, 0)).await? else { return Ok(None) };
        let files = desk.patiently(|| store.attachments(&desk.scope, job)).await?;
        Ok(Some((found.row.status, files)))
    }

    /// A file of the same tenant.
    pub async fn file(&self, id: AttachmentId) -> Result<Option<Attachment>, Halt> {
        let desk = self.desk()?;
        desk.patiently(|| desk.engine.store().attachment(&desk.scope, id)).await
    }
}
