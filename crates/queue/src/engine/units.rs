//! Work units and providers, for people.

use super::Engine;
use crate::scope::{Permission, Scope};
use leasehold_types::{
    JobRef, Problem,
    unit::{ProviderView, UnitsView},
};

/// Units on a job's page.
const PAGE_UNITS: u32 = 50;

impl Engine {
    pub async fn units(&self, scope: &Scope, job: JobRef) -> Result<UnitsView, Problem> {
        scope.require(Permission::View)?;
        Ok(self.store.units(scope, job, PAGE_UNITS).await?)
    }

    pub async fn providers(&self, scope: &Scope) -> Result<Vec<ProviderView>, Problem> {
        scope.require(Permission::Govern)?;
        Ok(self.store.providers().await?)
    }

    pub async fn set_provider_active(&self, scope: &Scope, name: &str, active: bool) -> Result<(), Problem> {
        scope.require(Permission::Govern)?;
        Ok(self.store.set_provider_active(scope, name, active).await?)
    }
}
