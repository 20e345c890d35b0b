//! The limits of tenants and kinds, and what runs under them.

use crate::{
    SqliteStore,
    audit::{Deed, audit},
    convert::{Table, to_json},
    error::Outcome,
    read::JOBS,
};
use leasehold_queue::{
    Scope,
    admission::{Admission, Contender, Limits},
    params::Wake,
    quota::Quotas,
};
use leasehold_types::{DefinitionId, DefinitionLimits, Problem, TenantId, TenantLimits};
use sqlx::SqliteConnection;
use std::{collections::HashMap, sync::Arc};

const TENANTS: Table = Table("tenants");
const DEFINITIONS: Table = Table("job_definitions");

/// What runs, held against every limit there is.
pub(crate) async fn admission(connection: &mut SqliteConnection, quotas: &Arc<Quotas>) -> Outcome<Admission> {
    let limits = Limits {
        tenants: of_tenants(&mut *connection).await?,
        kinds: of_kinds(&mut *connection).await?,
        quotas: quotas.clone(),
    };
    Ok(Admission::new(limits, running(connection).await?))
}

async fn of_tenants(connection: &mut SqliteConnection) -> Outcome<HashMap<TenantId, TenantLimits>> {
    let rows = sqlx::query!(
        r#"SELECT id AS "id!: String", limits AS "limits!: String" FROM tenants
           WHERE limits ->> 'max_in_flight' IS NOT NULL"#
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| Ok((TENANTS.parse("id", &row.id)?, TENANTS.json("limits", &row.limits)?)))
        .collect()
}

async fn of_kinds(connection: &mut SqliteConnection) -> Outcome<HashMap<(String, String), DefinitionLimits>> {
    let rows = sqlx::query!("SELECT domain, job_type, limits FROM job_definitions WHERE limits <> '{}'")
        .fetch_all(connection)
        .await?;
    rows.into_iter()
        .map(|row| Ok(((row.domain, row.job_type), DEFINITIONS.json("limits", &row.limits)?)))
        .collect()
}

/// An expired lease nobody has taken back counts too: its worker may still be at it.
async fn running(connection: &mut SqliteConnection) -> Outcome<Vec<(Contender, i64)>> {
    let rows = sqlx::query!(
        r#"SELECT tenant_id, domain, job_type, owner_user_id, concurrency_key, COUNT(*) AS "jobs!: i64"
           FROM jobs WHERE status = 'processing'
           GROUP BY tenant_id, domain, job_type, owner_user_id, concurrency_key"#
    )
    .fetch_all(connection)
    .await?;
    let mut groups = Vec::with_capacity(rows.len());
    for row in rows {
        let job = Contender {
            tenant: JOBS.parse("tenant_id", &row.tenant_id)?,
            domain: row.domain,
            job_type: row.job_type,
            owner: row.owner_user_id,
            concurrency_key: row.concurrency_key,
        };
        groups.push((job, row.jobs));
    }
    Ok(groups)
}

pub(crate) async fn limit_tenant(
    store: &SqliteStore,
    scope: &Scope,
    tenant: TenantId,
    limits: TenantLimits,
) -> Outcome<()> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let (id, limits, at) = (tenant.to_string(), to_json(&limits)?, now.to_string());
    let slug = sqlx::query_scalar!(
        r#"UPDATE tenants SET limits = ?2, updated_at = ?3 WHERE id = ?1 RETURNING slug AS "slug!: String""#,
        id,
        limits,
        at
    )
    .fetch_optional(&mut *tx)
    .await?
    .filter(|_| scope.reaches(tenant))
    .ok_or_else(|| Problem::not_found("This tenant"))?;
    audit(&mut tx, scope, &[Deed::new(Some(tenant), "tenant.limit", "tenant", slug)], now).await?;
    tx.commit().await?;
    // Jobs that waited for a limit may be ready.
    store.bell.ring(Wake::Jobs);
    Ok(())
}

pub(crate) async fn limit_definition(
    store: &SqliteStore,
    scope: &Scope,
    id: DefinitionId,
    limits: DefinitionLimits,
) -> Outcome<()> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let (id, limits, at) = (id.to_string(), to_json(&limits)?, now.to_string());
    let key = sqlx::query_scalar!(
        r#"UPDATE job_definitions SET limits = ?2, updated_at = ?3 WHERE id = ?1 RETURNING key AS "key!: String""#,
        id,
        limits,
        at
    )
    .fetch_optional(&mut *tx)
    .await?
    .ok_or_else(|| Problem::not_found("This definition"))?;
    audit(&mut tx, scope, &[Deed::new(scope.tenant(), "definition.limit", "definition", key)], now).await?;
    tx.commit().await?;
    store.bell.ring(Wake::Jobs);
    Ok(())
}
