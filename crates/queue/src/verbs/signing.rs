//! The secrets with which links are signed.

use super::{Failed, audit};
use crate::{
    audit::NewAuditEntry,
    ports::{
        signing::{SigningKeyQueries, SigningKeyRows},
        tx::{Transactions, Tx},
    },
    scope::Scope,
    signing::SigningKey,
    store::{StoreError, StoreResult},
};
use async_trait::async_trait;

#[async_trait]
pub trait SigningKeys: Send + Sync {
    /// The keys there are; the secret becomes the first when there is none yet. All callers get the same.
    async fn ensure_signing_key(&self, secret: &str) -> StoreResult<Vec<SigningKey>>;
    /// The secret becomes the newest key. The one before it is kept or not, older ones go. Audited.
    async fn rotate_signing_key(
        &self,
        scope: &Scope,
        secret: &str,
        keep_previous: bool,
    ) -> StoreResult<Vec<SigningKey>>;
}

#[async_trait]
impl<S: Transactions + SigningKeyQueries> SigningKeys for S
where
    StoreError: From<Failed<S>>,
{
    async fn ensure_signing_key(&self, secret: &str) -> StoreResult<Vec<SigningKey>> {
        let known = self.signing_keys().await?;
        if !known.is_empty() {
            return Ok(known);
        }
        let mut tx = self.transaction().await?;
        let mut keys = tx.lock_signing_keys().await?;
        if keys.is_empty() {
            let first = SigningKey { secret: secret.to_owned(), created_at: tx.now() };
            tx.insert_signing_key(&first).await?;
            keys.push(first);
        }
        tx.commit().await?;
        Ok(keys)
    }

    async fn rotate_signing_key(
        &self,
        scope: &Scope,
        secret: &str,
        keep_previous: bool,
    ) -> StoreResult<Vec<SigningKey>> {
        let mut tx = self.transaction().await?;
        let mut keys = tx.lock_signing_keys().await?;
        let newest = SigningKey { secret: secret.to_owned(), created_at: tx.now() };
        tx.insert_signing_key(&newest).await?;
        keys.insert(0, newest);
        let kept = if keep_previous { 2 } else { 1 };
        tx.keep_signing_keys(kept).await?;
        keys.truncate(kept as usize);
        let entry = NewAuditEntry::new(scope.tenant(), "signing_key.rotate", "installation", "signing");
        audit(&mut tx, scope, &[entry]).await?;
        tx.commit().await?;
        Ok(keys)
    }
}
