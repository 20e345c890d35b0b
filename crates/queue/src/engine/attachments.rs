//! Files of jobs, and the signed links under which they can be fetched.

use super::Engine;
use crate::{
    attachments::{Attachment, NewAttachment},
    params::Lease,
    scope::{Permission, Scope},
    secrets::Redactor,
    signing::{Signer, fresh_secret},
    store::StoreResult,
};
use leasehold_types::{
    AttachmentId, JobRef, Problem, ProblemCode,
    view::{AttachmentView, LinkedAttachment},
};

/// The installation's secret for links, made by whoever needs it first.
const SECRET: &str = "attachment_secret";
/// Larger files are searched for secrets on a thread of their own.
const SEARCHED_AT_ONCE: usize = 256 * 1024;

impl Engine {
    /// Keeps a file with a running job. What is wrong with the file is said before anything is written.
    /// Text is kept without secrets: those every redactor knows, and those of the job's payload.
    pub async fn attach(
        &self,
        lease: &Lease,
        file: NewAttachment,
        redactor: &Redactor,
    ) -> StoreResult<AttachmentView> {
        file.check(self.config.max_attachment_bytes)?;
        let file = self.without_secrets(file, redactor.clone()).await?;
        self.store.attach(lease, file).await
    }

    /// A name with a secret in it becomes another, always the same one; text loses its secrets.
    pub(super) async fn without_secrets(
        &self,
        mut file: NewAttachment,
        redactor: Redactor,
    ) -> Result<NewAttachment, Problem> {
        if redactor.finds(&file.name) {
            let extension = file.name.rsplit_once('.').map(|(_, extension)| extension.to_owned());
            let is_plain = |text: &String| text.len() <= 8 && text.bytes().all(|b| b.is_ascii_alphanumeric());
            let extension = extension.filter(is_plain).map(|text| format!(".{text}")).unwrap_or_default();
            file.name = self.key_hash().await?.of(&file.name) + &extension;
        }
        if file.bytes.len() <= SEARCHED_AT_ONCE {
            return Ok(file.redacted(&redactor));
        }
        // A large text takes a while, and others are waiting.
        let searched = tokio::task::spawn_blocking(move || file.redacted(&redactor)).await;
        searched.map_err(|error| {
            Problem::new(ProblemCode::Internal, format!("The file cannot be read: {error}."))
        })
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

    async fn signer(&self) -> Result<&Signer, Problem> {
        let read = async || -> Result<Signer, Problem> {
            Ok(Signer::new(&self.store.ensure_setting(SECRET, &fresh_secret()?).await?))
        };
        self.signer.get_or_try_init(read).await
    }
}
