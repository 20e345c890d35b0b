//! Providers, as the configuration brings them and as people switch them.

use super::{Failed, audit};
use crate::{
    audit::NewAuditEntry,
    ports::{
        providers::ProviderRows,
        tx::{Transactions, Tx},
    },
    scope::Scope,
    store::{StoreError, StoreResult},
    units::{ProviderSpec, no_such_provider},
};
use async_trait::async_trait;

#[async_trait]
pub trait Providers: Send + Sync {
    /// Creates the provider or takes over the settings given; whether it is switched on, and its rate limit's
    /// state, stay as they are. `INVALID_INPUT` for limits that make no sense.
    async fn ensure_provider(&self, spec: ProviderSpec) -> StoreResult<()>;
    /// Switches a provider on or off: off means that no call begins. `NOT_FOUND`. Audited.
    async fn set_provider_active(&self, scope: &Scope, name: &str, active: bool) -> StoreResult<()>;
}

#[async_trait]
impl<S: Transactions> Providers for S
where
    StoreError: From<Failed<S>>,
{
    async fn ensure_provider(&self, spec: ProviderSpec) -> StoreResult<()> {
        spec.check()?;
        let mut tx = self.transaction().await?;
        tx.put_provider(&spec).await?;
        tx.commit().await
    }

    async fn set_provider_active(&self, scope: &Scope, name: &str, active: bool) -> StoreResult<()> {
        let mut tx = self.transaction().await?;
        if !tx.set_provider_active(name, active).await? {
            return Err(no_such_provider().into());
        }
        let action = if active { "provider.activate" } else { "provider.deactivate" };
        audit(&mut tx, scope, &[NewAuditEntry::new(scope.tenant(), action, "provider", name)]).await?;
        tx.commit().await
    }
}
