//! The rows of API keys.

use super::tx::Statements;
use crate::{scope::Scope, store::StoreResult};
use async_trait::async_trait;
use leasehold_types::{KeyId, TenantId, Timestamp, view::ApiKey};

#[async_trait]
pub trait ApiKeyRows: Statements {
    /// False when the prefix is taken.
    async fn insert_key(&mut self, key: &ApiKey, secret_hash: &str, by: &str) -> Result<bool, Self::Error>;
    /// The key of this prefix; only of this tenant, if one is given. Revoked already, it keeps its moment.
    async fn revoke_key(
        &mut self,
        prefix: &str,
        tenant: Option<TenantId>,
    ) -> Result<Option<ApiKey>, Self::Error>;
    /// It is used now; left alone when a use after `noted_since` is known.
    async fn note_key_use(&mut self, key: KeyId, noted_since: Timestamp) -> Result<(), Self::Error>;
}

#[async_trait]
pub trait ApiKeyQueries: Send + Sync {
    /// The keys of the tenants the scope reaches, newest first.
    async fn api_keys(&self, scope: &Scope) -> StoreResult<Vec<ApiKey>>;
    /// The key with that prefix and the hash of its secret.
    async fn key_by_prefix(&self, prefix: &str) -> StoreResult<Option<(ApiKey, String)>>;
}
