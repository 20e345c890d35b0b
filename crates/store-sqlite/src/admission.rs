//! What runs, and the limits it runs under.

use crate::{convert::Table, error::Outcome, read::JOBS};
use leasehold_queue::{
    admission::{Admission, Contender, Limits},
    quota::Quotas,
};
use leasehold_types::{DefinitionLimits, TenantId, TenantLimits};
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
    // The plus: see `pick::running_by_tenant`.
    let rows = sqlx::query!(
        r#"SELECT tenant_id, domain, job_type, owner_user_id, concurrency_key, COUNT(*) AS "jobs!: i64"
           FROM jobs WHERE status = 'processing'
           GROUP BY +tenant_id, domain, job_type, owner_user_id, concurrency_key"#
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
