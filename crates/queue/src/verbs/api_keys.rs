//! API keys, as people make and revoke them.

use super::{Failed, audit};
use crate::{
    audit::NewAuditEntry,
    params::NewKey,
    ports::{
        api_keys::ApiKeyRows,
        tenants::TenantRows,
        tx::{Transactions, Tx},
    },
    rules::{
        api_keys::{USE_NOTED_EVERY, no_such_key, prefix_taken},
        tenants::no_such_tenant,
    },
    scope::Scope,
    store::{StoreError, StoreResult},
};
use async_trait::async_trait;
use leasehold_types::{KeyId, view::ApiKey};

#[async_trait]
pub trait ApiKeys: Send + Sync {
    /// `NOT_FOUND` for a tenant outside the scope; of the installation only for a scope that reaches all. Audited.
    async fn create_key(&self, scope: &Scope, key: NewKey) -> StoreResult<ApiKey>;
    /// From now on the key opens nothing. Revoking it again keeps the first moment. `NOT_FOUND`. Audited.
    async fn revoke_key(&self, scope: &Scope, prefix: &str) -> StoreResult<ApiKey>;
    /// Notes that a key was used, unless that was noted in the last [`USE_NOTED_EVERY`].
    async fn key_used(&self, key: KeyId) -> StoreResult<()>;
}

#[async_trait]
impl<S: Transactions> ApiKeys for S
where
    StoreError: From<Failed<S>>,
{
    async fn create_key(&self, scope: &Scope, new: NewKey) -> StoreResult<ApiKey> {
        if !new.is_within(scope) {
            return Err(no_such_tenant().into());
        }
        let mut tx = self.transaction().await?;
        if let Some(tenant) = new.tenant_id
            && !tx.lock_tenant(tenant).await?
        {
            return Err(no_such_tenant().into());
        }
        let NewKey { id, tenant_id, name, prefix, secret_hash, scopes, expires_at } = new;
        let (created_at, revoked_at, last_used_at) = (tx.now(), None, None);
        let key =
            ApiKey { id, tenant_id, name, prefix, scopes, created_at, expires_at, revoked_at, last_used_at };
        if !tx.insert_key(&key, &secret_hash, &scope.actor.to_string()).await? {
            return Err(prefix_taken().into());
        }
        audit(&mut tx, scope, &[NewAuditEntry::new(tenant_id, "key.create", "key", &key.prefix)]).await?;
        tx.commit().await?;
        Ok(key)
    }

    async fn revoke_key(&self, scope: &Scope, prefix: &str) -> StoreResult<ApiKey> {
        let mut tx = self.transaction().await?;
        let key = tx.revoke_key(prefix, scope.tenant()).await?.ok_or_else(no_such_key)?;
        audit(&mut tx, scope, &[NewAuditEntry::new(key.tenant_id, "key.revoke", "key", prefix)]).await?;
        tx.commit().await?;
        Ok(key)
    }

    async fn key_used(&self, key: KeyId) -> StoreResult<()> {
        let mut tx = self.transaction().await?;
        let noted_since = tx.now().minus(USE_NOTED_EVERY);
        tx.note_key_use(key, noted_since).await?;
        tx.commit().await
    }
}
