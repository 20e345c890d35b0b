//! Limits of tenants and of kinds of jobs: changing them, and remembering a tenant's for a moment, so that an
//! enqueue need not ask for them.

use super::Engine;
use crate::scope::{Permission, Scope};
use leasehold_types::{DefinitionId, DefinitionLimits, Problem, TenantId, TenantLimits};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// A limit changed by another process is obeyed after that.
const FRESH: Duration = Duration::from_secs(1);
/// Tenants remembered at a time.
const MOST_REMEMBERED: usize = 10_000;

type Known = HashMap<TenantId, (Instant, TenantLimits)>;

#[derive(Default)]
pub struct Remembered(Mutex<Known>);

impl Remembered {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fresh(&self, tenant: TenantId) -> Option<TenantLimits> {
        let known = self.lock();
        known.get(&tenant).filter(|(read_at, _)| read_at.elapsed() < FRESH).map(|(_, limits)| limits.clone())
    }

    fn put(&self, tenant: TenantId, limits: TenantLimits) {
        let mut known = self.lock();
        if known.len() >= MOST_REMEMBERED {
            known.clear();
        }
        known.insert(tenant, (Instant::now(), limits));
    }
}

impl Engine {
    /// Replaces what a tenant may have waiting, running and submitted.
    pub async fn set_tenant_limits(
        &self,
        scope: &Scope,
        tenant: TenantId,
        limits: TenantLimits,
    ) -> Result<(), Problem> {
        scope.require(Permission::Govern)?;
        limits.check()?;
        self.store.set_tenant_limits(scope, tenant, limits).await?;
        self.tenant_limits.lock().remove(&tenant);
        Ok(())
    }

    /// Replaces the limits of a kind of job.
    pub async fn set_definition_limits(
        &self,
        scope: &Scope,
        definition: DefinitionId,
        limits: DefinitionLimits,
    ) -> Result<(), Problem> {
        scope.require(Permission::Govern)?;
        limits.check()?;
        self.store.set_definition_limits(scope, definition, limits).await?;
        self.definitions_changed();
        Ok(())
    }

    /// At most a second old. A tenant that does not exist has none; the store says so when a job is created.
    pub(super) async fn limits_of(&self, tenant: TenantId) -> Result<TenantLimits, Problem> {
        if let Some(limits) = self.tenant_limits.fresh(tenant) {
            return Ok(limits);
        }
        let found = self.store.tenant(&Scope::system("engine"), tenant).await?;
        let limits = found.map(|t| t.limits).unwrap_or_default();
        self.tenant_limits.put(tenant, limits.clone());
        Ok(limits)
    }
}
