//! What gates measure.

use crate::error::Outcome;
use leasehold_queue::gate::{self, Counted, Extent, Measure};
use leasehold_types::Timestamp;
use sqlx::SqliteConnection;

/// Counters answer where they can; owners and keys are only known to the jobs themselves, which have an index
/// for each.
pub(super) async fn count(
    connection: &mut SqliteConnection,
    measure: &Measure,
    now: Timestamp,
) -> Outcome<i64> {
    let active = measure.counted == Counted::Active;
    match (&measure.counted, &measure.extent) {
        (Counted::SubmittedThisMinute, extent) => of_rate(connection, extent, now).await,
        (_, Extent::Everywhere) => everywhere(connection, active).await,
        (_, Extent::Tenant(tenant)) => in_tenant(connection, &tenant.to_string(), active).await,
        (_, Extent::Domain(domain)) => in_domain(connection, domain, active).await,
        (_, Extent::Queue { domain, queue }) => in_queue(connection, domain, queue, active).await,
        (_, Extent::Owner { tenant, owner, domain }) => {
            of_owner(connection, &tenant.to_string(), owner, domain.as_deref(), active).await
        }
        (_, Extent::Key { tenant, domain, job_type, key }) => {
            of_key(connection, [&tenant.to_string(), domain, job_type, key], active).await
        }
    }
}

async fn everywhere(connection: &mut SqliteConnection, active: bool) -> Outcome<i64> {
    let jobs = sqlx::query_scalar!(
        r#"SELECT COALESCE(SUM(jobs), 0) AS "jobs!: i64" FROM job_counters
           WHERE (status = 'queued' OR (?1 AND status = 'processing'))"#,
        active
    )
    .fetch_one(connection)
    .await?;
    Ok(jobs)
}

async fn in_tenant(connection: &mut SqliteConnection, tenant: &str, active: bool) -> Outcome<i64> {
    let jobs = sqlx::query_scalar!(
        r#"SELECT COALESCE(SUM(jobs), 0) AS "jobs!: i64" FROM job_counters
           WHERE tenant_id = ?1 AND (status = 'queued' OR (?2 AND status = 'processing'))"#,
        tenant,
        active
    )
    .fetch_one(connection)
    .await?;
    Ok(jobs)
}

async fn in_domain(connection: &mut SqliteConnection, domain: &str, active: bool) -> Outcome<i64> {
    let jobs = sqlx::query_scalar!(
        r#"SELECT COALESCE(SUM(jobs), 0) AS "jobs!: i64" FROM job_counters
           WHERE domain = ?1 AND (status = 'queued' OR (?2 AND status = 'processing'))"#,
        domain,
        active
    )
    .fetch_one(connection)
    .await?;
    Ok(jobs)
}

async fn in_queue(
    connection: &mut SqliteConnection,
    domain: &str,
    queue: &str,
    active: bool,
) -> Outcome<i64> {
    let jobs = sqlx::query_scalar!(
        r#"SELECT COALESCE(SUM(jobs), 0) AS "jobs!: i64" FROM job_counters
           WHERE domain = ?1 AND queue = ?2 AND (status = 'queued' OR (?3 AND status = 'processing'))"#,
        domain,
        queue,
        active
    )
    .fetch_one(connection)
    .await?;
    Ok(jobs)
}

async fn of_owner(
    connection: &mut SqliteConnection,
    tenant: &str,
    owner: &str,
    domain: Option<&str>,
    active: bool,
) -> Outcome<i64> {
    let jobs = sqlx::query_scalar!(
        r#"SELECT COUNT(*) AS "jobs!: i64" FROM jobs
           WHERE tenant_id = ?4 AND owner_user_id = ?1 AND owner_user_id IS NOT NULL
             AND status IN ('queued', 'processing') AND (?3 OR status = 'queued') AND (?2 IS NULL OR domain = ?2)"#,
        owner,
        domain,
        active,
        tenant
    )
    .fetch_one(connection)
    .await?;
    Ok(jobs)
}

async fn of_key(
    connection: &mut SqliteConnection,
    [tenant, domain, job_type, key]: [&str; 4],
    active: bool,
) -> Outcome<i64> {
    let jobs = sqlx::query_scalar!(
        r#"SELECT COUNT(*) AS "jobs!: i64" FROM jobs
           WHERE tenant_id = ?1 AND domain = ?2 AND job_type = ?3 AND concurrency_key = ?4
             AND concurrency_key IS NOT NULL AND status IN ('queued', 'processing') AND (?5 OR status = 'queued')"#,
        tenant,
        domain,
        job_type,
        key,
        active
    )
    .fetch_one(connection)
    .await?;
    Ok(jobs)
}

async fn of_rate(connection: &mut SqliteConnection, extent: &Extent, now: Timestamp) -> Outcome<i64> {
    let (minute, scope) = (gate::minute_of(now), extent.name());
    let submits = sqlx::query_scalar!(
        "SELECT submits FROM job_submits WHERE minute = ?1 AND scope = ?2",
        minute,
        scope
    )
    .fetch_optional(connection)
    .await?;
    Ok(submits.unwrap_or_default())
}
