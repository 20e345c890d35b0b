//! Where a deck job's input is: in its payload, in the files of an earlier job, or in one file. Always of the same tenant.

use super::fail;
use crate::executor::{Ctx, Halt};
use leasehold_types::{AttachmentId, ErrorClass, JobRef, view::AttachmentView};

#[derive(Clone, PartialEq, Debug)]
pub enum Origin {
    Inline(Vec<u8>),
    Job(i64),
    File(AttachmentId),
}

/// What is looked for.
pub struct Wanted {
    /// The kind of job that looks, for its error codes.
    pub kind: &'static str,
    /// The payload's word for inline input.
    pub inline: &'static str,
    /// In a sentence: "no …".
    pub what: &'static str,
    pub is_it: fn(&AttachmentView) -> bool,
}

impl Wanted {
    /// Exactly one of the three must be given.
    pub fn origin(
        &self,
        inline: Option<Vec<u8>>,
        job: Option<i64>,
        file: Option<AttachmentId>,
    ) -> Result<Origin, Halt> {
        match (inline, job, file) {
            (Some(bytes), None, None) => Ok(Origin::Inline(bytes)),
            (None, Some(number), None) => Ok(Origin::Job(number)),
            (None, None, Some(id)) => Ok(Origin::File(id)),
            _ => {
                let words = format!("Give one of {}, source_job and attachment, and only one.", self.inline);
                Err(fail(self.kind, ErrorClass::ValidationError, words))
            }
        }
    }

    pub async fn fetch(&self, ctx: &Ctx, origin: Origin) -> Result<Vec<u8>, Halt> {
        let id = match origin {
            Origin::Inline(bytes) => return Ok(bytes),
            Origin::File(id) => id,
            Origin::Job(number) => self.in_job(ctx, number).await?,
        };
        let found = ctx.file(id).await?;
        let missing = || {
            let words = format!("There is no file {id} in this tenant.");
            fail(self.kind, ErrorClass::ValidationError, words)
        };
        Ok(found.ok_or_else(missing)?.bytes)
    }

    async fn in_job(&self, ctx: &Ctx, number: i64) -> Result<AttachmentId, Halt> {
        let Some((status, files)) = ctx.files_of(JobRef::Number(number)).await? else {
            let words = format!("There is no job #{number} in this tenant.");
            return Err(fail(self.kind, ErrorClass::ValidationError, words));
        };
        if !status.is_finished() {
            // What it leaves behind may still change; this job comes back after its backoff.
            let words = format!("Job #{number} has not ended yet.");
            return Err(fail(self.kind, ErrorClass::TransientStorage, words));
        }
        let found = files.iter().find(|file| (self.is_it)(file)).map(|file| file.id);
        found.ok_or_else(|| {
            let words = format!("Job #{number} has left no {} behind.", self.what);
            fail(self.kind, ErrorClass::ValidationError, words)
        })
    }
}
