//! What gates measure. The caller holds the locks of their extents, so nobody comes in between count and insert.

use leasehold_queue::{
    gate::{self, Counted, Extent, Measure},
    params::NewJob,
};
use leasehold_types::Timestamp;
use sqlx::PgConnection;
use std::collections::HashMap;
use uuid::Uuid;

/// What every gate of these jobs measures. Counters answer where they can; owners and keys are only known to
/// the jobs themselves, which have an index for each.
pub async fn counts(
    connection: &mut PgConnection,
    jobs: &[NewJob],
    now: Timestamp,
) -> Result<HashMap<Measure, i64>, sqlx::Error> {
    let mut counts = HashMap::new();
    let (mut rates, mut owners, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    for measure in gate::measures(jobs) {
        match (&measure.counted, &measure.extent) {
            (Counted::SubmittedThisMinute, _) => rates.push(measure),
            (_, Extent::Owner { .. }) => owners.push(measure),
            (_, Extent::Key { .. }) => keys.push(measure),
            (_, Extent::Everywhere) => {
                counts.insert(measure.clone(), everywhere(connection, measure).await?);
            }
            (_, Extent::Tenant(tenant)) => {
                counts.insert(measure.clone(), in_tenant(connection, tenant.0, measure).await?);
            }
            (_, Extent::Domain(domain)) => {
                counts.insert(measure.clone(), in_domain(connection, domain, measure).await?);
            }
            (_, Extent::Queue { domain, queue }) => {
                counts.insert(measure.clone(), in_queue(connection, domain, queue, measure).await?);
            }
        }
    }
    of_rates(connection, &rates, now, &mut counts).await?;
    of_owners(connection, &owners, &mut counts).await?;
    of_keys(connection, &keys, &mut counts).await?;
    Ok(counts)
}

fn statuses(measure: &Measure) -> Vec<String> {
    let all = ["queued", "processing"];
    let counted = if measure.counted == Counted::Active { &all[..] } else { &all[..1] };
    counted.iter().map(|status| (*status).to_owned()).collect()
}

async fn everywhere(connection: &mut PgConnection, measure: &Measure) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT COALESCE(sum(jobs), 0)::bigint AS "jobs!"
           FROM (SELECT jobs FROM job_counters WHERE status = ANY($1)
                 UNION ALL
                 SELECT delta FROM job_counter_deltas WHERE status = ANY($1)) c"#,
        &statuses(measure)
    )
    .fetch_one(connection)
    .await
}

async fn in_tenant(
    connection: &mut PgConnection,
    tenant: Uuid,
    measure: &Measure,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT COALESCE(sum(jobs), 0)::bigint AS "jobs!"
           FROM (SELECT jobs FROM job_counters WHERE tenant_id = $1 AND status = ANY($2)
                 UNION ALL
                 SELECT delta FROM job_counter_deltas WHERE tenant_id = $1 AND status = ANY($2)) c"#,
        tenant,
        &statuses(measure)
    )
    .fetch_one(connection)
    .await
}

async fn in_domain(
    connection: &mut PgConnection,
    domain: &str,
    measure: &Measure,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT COALESCE(sum(jobs), 0)::bigint AS "jobs!"
           FROM (SELECT jobs FROM job_counters WHERE domain = $1 AND status = ANY($2)
                 UNION ALL
                 SELECT delta FROM job_counter_deltas WHERE domain = $1 AND status = ANY($2)) c"#,
        domain,
        &statuses(measure)
    )
    .fetch_one(connection)
    .await
}

async fn in_queue(
    connection: &mut PgConnection,
    domain: &str,
    queue: &str,
    measure: &Measure,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT COALESCE(sum(jobs), 0)::bigint AS "jobs!"
           FROM (SELECT jobs FROM job_counters WHERE domain = $1 AND queue = $2 AND status = ANY($3)
                 UNION ALL
                 SELECT delta FROM job_counter_deltas WHERE domain = $1 AND queue = $2 AND status = ANY($3)) c"#,
        domain,
        queue,
        &statuses(measure)
    )
    .fetch_one(connection)
    .await
}

async fn of_rates(
    connection: &mut PgConnection,
    rates: &[&Measure],
    now: Timestamp,
    counts: &mut HashMap<Measure, i64>,
) -> Result<(), sqlx::Error> {
    if rates.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = rates.iter().map(|m| m.extent.name()).collect();
    let rows = sqlx::query!(
        "SELECT scope, submits FROM job_submits WHERE minute = $1 AND scope = ANY($2)",
        gate::minute_of(now),
        &names
    )
    .fetch_all(connection)
    .await?;
    let submits: HashMap<String, i64> = rows.into_iter().map(|r| (r.scope, r.submits)).collect();
    counts.extend(
        rates.iter().zip(names).map(|(m, name)| ((*m).clone(), submits.get(&name).copied().unwrap_or(0))),
    );
    Ok(())
}

async fn of_owners(
    connection: &mut PgConnection,
    measures: &[&Measure],
    counts: &mut HashMap<Measure, i64>,
) -> Result<(), sqlx::Error> {
    let asked: Vec<_> = measures
        .iter()
        .filter_map(|m| match &m.extent {
            Extent::Owner { tenant, owner, domain } => Some((*m, tenant.0, owner.clone(), domain.clone())),
            _ => None,
        })
        .collect();
    if asked.is_empty() {
        return Ok(());
    }
    let tenants: Vec<Uuid> = asked.iter().map(|(_, tenant, ..)| *tenant).collect();
    let owners: Vec<String> = asked.iter().map(|(_, _, owner, _)| owner.clone()).collect();
    let domains: Vec<Option<String>> = asked.iter().map(|(.., domain)| domain.clone()).collect();
    let active: Vec<bool> = asked.iter().map(|(m, ..)| m.counted == Counted::Active).collect();
    let rows = sqlx::query_scalar!(
        r#"SELECT (SELECT count(*) FROM jobs j
                   WHERE j.tenant_id = a.tenant_id AND j.owner_user_id = a.owner AND j.owner_user_id IS NOT NULL
                     AND j.status IN ('queued', 'processing') AND (a.active OR j.status = 'queued')
                     AND (a.domain IS NULL OR j.domain = a.domain)) AS "jobs!"
           FROM UNNEST($4::uuid[], $1::text[], $2::text[], $3::bool[]) WITH ORDINALITY
                  AS a(tenant_id, owner, domain, active, place)
           ORDER BY a.place"#,
        &owners,
        &domains as &[Option<String>],
        &active,
        &tenants
    )
    .fetch_all(connection)
    .await?;
    counts.extend(asked.iter().zip(rows).map(|((m, ..), jobs)| ((*m).clone(), jobs)));
    Ok(())
}

async fn of_keys(
    connection: &mut PgConnection,
    measures: &[&Measure],
    counts: &mut HashMap<Measure, i64>,
) -> Result<(), sqlx::Error> {
    let (mut tenants, mut domains, mut types, mut keys) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for measure in measures {
        if let Extent::Key { tenant, domain, job_type, key } = &measure.extent {
            tenants.push(tenant.0);
            domains.push(domain.clone());
            types.push(job_type.clone());
            keys.push(key.clone());
        }
    }
    if keys.is_empty() {
        return Ok(());
    }
    let active: Vec<bool> = measures.iter().map(|m| m.counted == Counted::Active).collect();
    let rows = sqlx::query_scalar!(
        r#"SELECT (SELECT count(*) FROM jobs j
                   WHERE j.tenant_id = a.tenant_id AND j.domain = a.domain AND j.job_type = a.job_type
                     AND j.concurrency_key = a.key AND j.concurrency_key IS NOT NULL
                     AND j.status IN ('queued', 'processing') AND (a.active OR j.status = 'queued')) AS "jobs!"
           FROM UNNEST($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bool[]) WITH ORDINALITY
                  AS a(tenant_id, domain, job_type, key, active, place)
           ORDER BY a.place"#,
        &tenants,
        &domains,
        &types,
        &keys,
        &active
    )
    .fetch_all(connection)
    .await?;
    counts.extend(measures.iter().zip(rows).map(|(m, jobs)| ((*m).clone(), jobs)));
    Ok(())
}
