//! The limits of tenants and of kinds of jobs, as people change them.

use crate::{
    PostgresStore,
    audit::{self, Act},
    convert::as_json,
    error::database,
};
use leasehold_queue::{Scope, StoreResult, params::Wake};
use leasehold_types::{DefinitionId, DefinitionLimits, Problem, TenantId, TenantLimits};

impl PostgresStore {
    pub(crate) async fn limit_tenant(
        &self,
        scope: &Scope,
        tenant: TenantId,
        limits: TenantLimits,
    ) -> StoreResult<()> {
        if !scope.reaches(tenant) {
            return Err(Problem::not_found("This tenant").into());
        }
        let now = self.now();
        let mut tx = self.work.begin().await.map_err(database)?;
        let slug = sqlx::query_scalar!(
            "UPDATE tenants SET limits = $2, updated_at = $3 WHERE id = $1 RETURNING slug",
            tenant.0,
            as_json(&limits)?,
            now
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(database)?
        .ok_or_else(|| Problem::not_found("This tenant"))?;
        let act = Act {
            tenant: Some(tenant.0),
            action: "tenant.limit",
            object_type: "tenant",
            object_id: &slug,
            reason: None,
        };
        audit::record(&mut tx, scope, now, act).await?;
        tx.commit().await.map_err(database)?;
        self.limits_changed();
        Ok(())
    }

    pub(crate) async fn limit_definition(
        &self,
        scope: &Scope,
        id: DefinitionId,
        limits: DefinitionLimits,
    ) -> StoreResult<()> {
        let now = self.now();
        let mut tx = self.work.begin().await.map_err(database)?;
        let key = sqlx::query_scalar!(
            "UPDATE job_definitions SET limits = $2, updated_at = $3 WHERE id = $1 RETURNING key",
            id.0,
            as_json(&limits)?,
            now
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(database)?
        .ok_or_else(|| Problem::not_found("This definition"))?;
        let act = Act {
            tenant: scope.tenant().map(|t| t.0),
            action: "definition.limit",
            object_type: "definition",
            object_id: &key,
            reason: None,
        };
        audit::record(&mut tx, scope, now, act).await?;
        tx.commit().await.map_err(database)?;
        self.limits_changed();
        Ok(())
    }

    /// Jobs that waited for room may be ready.
    fn limits_changed(&self) {
        self.directory.forget();
        self.wakes.tell(&[Wake::Jobs]);
    }
}
