//! What runs, and the limits it runs under.

use crate::{convert::parsed, error::database};
use leasehold_queue::{
    StoreResult,
    admission::{Admission, Contender, Limits},
    quota::Quotas,
};
use leasehold_types::{DefinitionLimits, TenantId, TenantLimits};
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
