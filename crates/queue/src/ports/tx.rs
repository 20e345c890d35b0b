//! One open transaction, as the verbs of [`crate::verbs`] use it: statements that read and write rows. A verb reads,
//! lets a rule decide, writes what the rule says, and commits. Dropped before that, nothing has happened.
//!
//! A statement knows no rule and no sentence: an insert says whether it inserted, a look-up whether it found, and the
//! verb says what that means. Each topic has a trait of statements (`…Rows`), in a file of the same name in both stores.

use super::{
    api_keys::ApiKeyRows, bulk::OperationRows, definitions::DefinitionRows, invitations::InvitationRows,
    members::MemberRows, password_links::PasswordLinkRows, providers::ProviderRows, sessions::SessionRows,
    settings::SettingRows, signing::SigningKeyRows, steering::JobRows, tenants::TenantRows,
    throttle::AttemptRows, triggers::TriggerRows, users::UserRows,
};
use crate::{
    audit::NewAuditEntry,
    params::Wake,
    store::{StoreError, StoreResult},
};
use async_trait::async_trait;
use leasehold_types::Timestamp;

/// What a statement fails with. The store's own error: what its driver says and what it cannot read.
pub trait Statements: Send {
    type Error: Into<StoreError> + Send;
}

/// Where transactions come from.
#[async_trait]
pub trait Transactions: Send + Sync + 'static {
    type Tx: Tx;
    /// Sees what is committed. Rows that a decision rests on are locked by the statement that reads them, where the
    /// database has more than one writer.
    async fn transaction(&self) -> StoreResult<Self::Tx>;
    /// Sees one moment, waits for nobody, and is for reading only.
    async fn snapshot(&self) -> StoreResult<Self::Tx>;
}

/// Everything one transaction can do.
#[async_trait]
pub trait Tx:
    TenantRows
    + UserRows
    + MemberRows
    + InvitationRows
    + PasswordLinkRows
    + SessionRows
    + SettingRows
    + ApiKeyRows
    + DefinitionRows
    + ProviderRows
    + SigningKeyRows
    + AttemptRows
    + TriggerRows
    + JobRows
    + OperationRows
    + Send
    + 'static
{
    /// The moment it began; all of its rows carry this one.
    fn now(&self) -> Timestamp;
    /// Appends to the audit log. Whether an actor is audited at all is decided by the verb.
    async fn insert_audit(
        &mut self,
        actor: &str,
        origin: Option<&str>,
        entries: &[NewAuditEntry],
    ) -> Result<(), Self::Error>;
    /// Who is to hear of it after the commit.
    fn wake(&mut self, wake: Wake);
    async fn commit(self) -> StoreResult<()>;
}
