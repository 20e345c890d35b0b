//! The limits of tenants and kinds, and what runs under them.

use crate::{
    PostgresStore,
    audit::{self, Act},
    convert::{as_json, parsed},
    error::database,
};
use leasehold_queue::{
    Scope, StoreResult,
    admission::{Admission, Contender, Limits},
    params::Wake,
    quota::Quotas,
};
use leasehold_types::{DefinitionId, DefinitionLimits, Problem, TenantId, TenantLimits};
use sqlx::PgConnection;
use std::{collections::HashMap, sync::Arc};

/// What runs, held against every limit there is.
pub async fn admission(connection: &mut PgConnection, quotas: &Arc<Quotas>) -> StoreResult<Admission> {
    let limits = Limits {
        tenants: of_tenants(&mut *connection).await?,
        kinds: of_kinds(&mut *connection).await?,
        quotas: quotas.clone(),
    };
    Ok(Admission::new(limits, running(connection).await?))
}

async fn of_tenants(connection: &mut PgConnection) -> StoreResult<HashMap<TenantId, TenantLimits>> {
    let rows = sqlx::query!("SELECT id, limits FROM tenants WHERE limits ? 'max_in_flight'")
        .fetch_all(connection)
        .await
        .map_err(database)?;
    rows.into_iter().map(|row| Ok((TenantId(row.id), parsed("tenants", "limits", row.limits)?))).collect()
}

async fn of_kinds(connection: &mut PgConnection) -> StoreResult<HashMap<(String, String), DefinitionLimits>> {
    let rows =
        sqlx::query!("SELECT domain, job_type, limits FROM job_definitions WHERE limits <> '{}'::jsonb")
            .fetch_all(connection)
            .await
            .map_err(database)?;
    let limits = |json| parsed("job_definitions", "limits", json);
    rows.into_iter().map(|row| Ok(((row.domain, row.job_type), limits(row.limits)?))).collect()
}

/// An expired lease nobody has taken back counts too: its worker may still be at it.
async fn running(connection: &mut PgConnection) -> StoreResult<Vec<(Contender, i64)>> {
    let rows = sqlx::query!(
        r#"SELECT tenant_id, domain, job_type, owner_user_id, concurrency_key, count(*) AS "jobs!"
           FROM jobs WHERE status = 'processing'
           GROUP BY tenant_id, domain, job_type, owner_user_id, concurrency_key"#
    )
    .fetch_all(connection)
    .await
    .map_err(database)?;
    let groups = rows.into_iter().map(|row| {
        let job = Contender {
            tenant: TenantId(row.tenant_id),
            domain: row.domain,
            job_type: row.job_type,
            owner: row.owner_user_id,
            concurrency_key: row.concurrency_key,
        };
        (job, row.jobs)
    });
    Ok(groups.collect())
}

impl PostgresStore {
    pub(crate) async fn limit_tenant(
        &self,
        scope: &Scope,
        id: TenantId,
        limits: TenantLimits,
    ) -> StoreResult<()> {
        let now = self.now();
        let mut tx = self.work.begin().await.map_err(database)?;
        let slug = sqlx::query_scalar!(
            "UPDATE tenants SET limits = $2, updated_at = $3 WHERE id = $1 RETURNING slug",
            id.0,
            as_json(&limits)?,
            now
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(database)?
        .filter(|_| scope.reaches(id))
        .ok_or_else(|| Problem::not_found("This tenant"))?;
        let act = Act {
            tenant: Some(id.0),
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

    /// Lanes remember whether they are limited, and jobs that waited for a limit may be ready.
    fn limits_changed(&self) {
        self.directory.forget();
        self.wakes.tell(&[Wake::Jobs]);
    }
}
