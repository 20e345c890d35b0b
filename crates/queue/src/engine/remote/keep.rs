//! What a worker over HTTP keeps beyond its attempt: a checkpoint and files, by the same rules as a builtin handler.

use super::{Engine, Held, Renewed, stale};
use crate::{attachments::NewAttachment, reports::check_json, scope::Scope};
use leasehold_types::{Problem, view::LinkedAttachment};
use serde_json::Value;
use std::time::Duration;

impl Engine {
    /// Remembers how far the work is; the next attempt's claim brings it.
    pub async fn remote_checkpoint(
        &self,
        scope: &Scope,
        held: &Held,
        mut checkpoint: Value,
    ) -> Result<Renewed, Problem> {
        check_json("checkpoint", &checkpoint, self.config.max_json_bytes)?;
        let job = self.held_job(scope, held, false).await?;
        self.config.secrets.keep_for_worker(&mut checkpoint);
        self.renew_held(&job, held, Duration::ZERO, None, Some(checkpoint)).await
    }

    /// Keeps a file with the job; one of the same name is replaced. Text is kept without the secrets in it.
    pub async fn remote_attach(
        &self,
        scope: &Scope,
        held: &Held,
        file: NewAttachment,
    ) -> Result<LinkedAttachment, Problem> {
        file.check(self.config.max_attachment_bytes)?;
        let job = self.held_job(scope, held, true).await?;
        let kept = self.attach(&held.lease(job.number), file, &self.redactor_of(&job)).await?;
        self.link(kept).await
    }

    /// The files of a job the worker holds, by name.
    pub async fn remote_attachments(
        &self,
        scope: &Scope,
        held: &Held,
    ) -> Result<Vec<LinkedAttachment>, Problem> {
        let job = self.held_job(scope, held, false).await?;
        if !held.is_current(&job) {
            return Err(stale(job.number));
        }
        self.linked(self.store.attachments(scope, held.job).await?).await
    }
}
