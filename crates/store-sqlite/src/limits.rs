//! The limits of tenants and of kinds of jobs, as people change them.

use crate::{
    SqliteStore,
    audit::{Deed, audit},
    convert::to_json,
    error::Outcome,
};
use leasehold_queue::{Scope, params::Wake};
use leasehold_types::{DefinitionId, DefinitionLimits, Problem, TenantId, TenantLimits};

pub(crate) async fn set_of_tenant(
    store: &SqliteStore,
    scope: &Scope,
    tenant: TenantId,
    limits: TenantLimits,
) -> Outcome<()> {
    if !scope.reaches(tenant) {
        return Err(Problem::not_found("This tenant").into());
    }
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
    .ok_or_else(|| Problem::not_found("This tenant"))?;
    audit(&mut tx, scope, &[Deed::new(Some(tenant), "tenant.limit", "tenant", slug)], now).await?;
    tx.commit().await?;
    // Jobs that waited for room may be ready.
    store.bell.ring(Wake::Jobs);
    Ok(())
}

pub(crate) async fn set_of_definition(
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
    // Jobs that waited for room may be ready.
    store.bell.ring(Wake::Jobs);
    Ok(())
}
