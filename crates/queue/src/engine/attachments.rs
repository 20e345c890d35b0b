//! Files of jobs, and the signed links under which they can be fetched.

use super::Engine;
use crate::{
    attachments::{Attachment, NewAttachment},
    params::Lease,
    scope::{Permission, Scope},
    secrets::Redactor,
    signing::{Signer, SigningKey, fresh_secret},
    store::StoreResult,
};
use leasehold_types::{
    AttachmentId, JobRef, Problem, ProblemCode,
    view::{AttachmentView, LinkedAttachment},
};
use std::{
    sync::{Arc, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How long the keys that sign links are remembered; a new one is used everywhere after that.
pub(super) const KEYS_FRESH: Duration = Duration::from_secs(5);
/// A link nobody knows may be signed with a key that is younger than what is remembered. Looked up so often at most.
const KEYS_RECENT: Duration = Duration::from_millis(250);
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
        self.linked(self.store.attachments(scope, job).await?).await
    }

    pub(super) async fn linked(&self, files: Vec<AttachmentView>) -> Result<Vec<LinkedAttachment>, Problem> {
        let mut linked = Vec::with_capacity(files.len());
        for file in files {
            linked.push(self.link(file).await?);
        }
        Ok(linked)
    }

    /// A link to the file that works for `JOBS_ATTACHMENT_URL_TTL_SECONDS`.
    pub async fn link(&self, file: AttachmentView) -> Result<LinkedAttachment, Problem> {
        let signer = self.signer(KEYS_FRESH).await?;
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
        if self.signer(KEYS_FRESH).await?.check(id, expires, signature, self.now()).is_err() {
            self.signer(KEYS_RECENT).await?.check(id, expires, signature, self.now())?;
        }
        let found = self.store.attachment(&Scope::system("signed link"), id).await?;
        found.ok_or_else(|| Problem::not_found("This file"))
    }

    /// A new key signs from now on. Links of the one before it work until they expire, or not at all.
    pub async fn rotate_signing_key(
        &self,
        scope: &Scope,
        keep_previous: bool,
    ) -> Result<Vec<SigningKey>, Problem> {
        scope.require(Permission::Govern)?;
        let keys = self.store.rotate_signing_key(scope, &fresh_secret()?, keep_previous).await?;
        *self.remembered_signer() = None;
        Ok(keys)
    }

    pub(super) async fn signer(&self, fresh: Duration) -> Result<Arc<Signer>, Problem> {
        if let Some((since, signer)) = self.remembered_signer().as_ref()
            && since.elapsed() < fresh
        {
            return Ok(signer.clone());
        }
        let keys = self.store.ensure_signing_key(&fresh_secret()?).await?;
        let signer = Signer::new(&keys, self.config.attachment_url_ttl)
            .ok_or_else(|| Problem::new(ProblemCode::Internal, "There is no key that signs links."))?;
        let signer = Arc::new(signer);
        *self.remembered_signer() = Some((Instant::now(), signer.clone()));
        Ok(signer)
    }

    fn remembered_signer(&self) -> MutexGuard<'_, Option<(Instant, Arc<Signer>)>> {
        self.signer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Signs a text for one purpose, so that any process of this installation can tell it from a made-up one.
    pub async fn sign(&self, purpose: &str, text: &str) -> Result<String, Problem> {
        Ok(self.signer(KEYS_FRESH).await?.signature(purpose, text))
    }

    pub async fn is_genuine(&self, purpose: &str, text: &str, signature: &str) -> Result<bool, Problem> {
        let now = self.now();
        if self.signer(KEYS_FRESH).await?.is_genuine(purpose, text, signature, now) {
            return Ok(true);
        }
        Ok(self.signer(KEYS_RECENT).await?.is_genuine(purpose, text, signature, now))
    }
}
