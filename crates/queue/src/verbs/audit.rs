//! Entries in the audit log for what changes nothing else.

use super::{Failed, audit};
use crate::{
    audit::NewAuditEntry,
    ports::tx::{Transactions, Tx},
    scope::Scope,
    store::{StoreError, StoreResult},
};
use async_trait::async_trait;

#[async_trait]
pub trait Auditing: Send + Sync {
    /// An act that changes nothing else in the database, such as signing in.
    async fn record(&self, scope: &Scope, entry: NewAuditEntry) -> StoreResult<()>;
}

#[async_trait]
impl<S: Transactions> Auditing for S
where
    StoreError: From<Failed<S>>,
{
    async fn record(&self, scope: &Scope, entry: NewAuditEntry) -> StoreResult<()> {
        let mut tx = self.transaction().await?;
        audit(&mut tx, scope, &[entry]).await?;
        tx.commit().await
    }
}
