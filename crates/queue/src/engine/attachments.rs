//! Files of jobs, and the signed links under which they can be fetched.

use super::Engine;
use crate::{
    attachments::{Attachment, NewAttachment},
    params::Lease,
    scope::{Permission, Scope},
    signing::{Signer, fresh_secret},
    store::StoreResult,
};
use leasehold_types::{
    AttachmentId, JobRef, Problem,
    view::{AttachmentView, LinkedAttachment},
};

/// The installation's secret for links, made by whoever needs it first.
const SECRET: &str = "attachment_secret";

impl Engine {
    /// Keeps a file with a running job. What is wrong with the file is said before anything is written.
    pub async fn attach(&self, lease: &Lease, file: NewAttachment) -> StoreResult<AttachmentView> {
        file.check(self.config.max_attachment_bytes)?;
        self.store.attach(lease, file).await
    }

    /// The files of a job by name, each with a fresh link.
    pub async fn attachments(&self, scope: &Scope, job: JobRef) -> Result<Vec<LinkedAttachment>, Problem> {
        scope.require(Permission::View)?;
        let mut linked = Vec::new();
        for file in self.store.attachments(scope, job).await? {
            linked.push(self.link(file).await?);
        }
        Ok(linked)
    }

    /// A link to the file that works for `JOBS_ATTACHMENT_URL_TTL_SECONDS`.
    pub async fn link(&self, file: AttachmentView) -> Result<LinkedAttachment, Problem> {
        let signer = self.signer().await?;
        let (path, expires_at) = signer.path(file.id, self.now(), self.config.attachment_url_ttl);
        Ok(LinkedAttachment { file, path, expires_at })
    }

    /// The file a link leads to. The signature is the right to it: nobody has to be signed in.
    pub async fn follow_link(
        &self,
        id: AttachmentId,
        expires: i64,
        signature: &str,
    ) -> Result<Attachment, Problem> {
        self.signer().await?.check(id, expires, signature, self.now())?;
        let found = self.store.attachment(&Scope::system("signed link"), id).await?;
        found.ok_or_else(|| Problem::not_found("This file"))
    }

    pub(super) async fn signer(&self) -> Result<&Signer, Problem> {
        let read = async || -> Result<Signer, Problem> {
            Ok(Signer::new(&self.store.ensure_setting(SECRET, &fresh_secret()?).await?))
        };
        self.signer.get_or_try_init(read).await
    }
}
