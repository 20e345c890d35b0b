//! How many jobs of each kind stand where: from the counters, and index probes per lane for what passes with time.

use crate::{
    SqliteStore,
    convert::Table,
    error::Outcome,
    lanes,
    overview::{COUNT_CAP, count_lane},
};
use leasehold_queue::Scope;
use leasehold_types::browse::{KindCounts, KindFilter};
use sqlx::SqliteConnection;
use std::collections::BTreeMap;

const COUNTERS: Table = Table("job_counters");
const JOBS: Table = Table("jobs");

type Kinds = BTreeMap<(String, String, String), KindCounts>;

pub(crate) async fn kind_counts(
    store: &SqliteStore,
    scope: &Scope,
    filter: &KindFilter,
) -> Outcome<Vec<KindCounts>> {
    let mut snapshot = store.read.begin().await?;
    let (tenant, now) = (scope.tenant().map(|id| id.to_string()), store.clock.now().to_string());
    let mut kinds = from_counters(&mut snapshot, tenant.as_deref(), filter).await?;
    for lane in lanes::all(&mut snapshot, tenant.as_deref()).await? {
        let key = (lane.domain.clone(), lane.queue.clone(), lane.job_type.clone());
        let Some(kind) = kinds.get_mut(&key) else { continue };
        // The counters say how many wait; which of them are due only the index knows.
        let found = count_lane(&mut snapshot, &lane, &now, false, COUNT_CAP).await?;
        kind.scheduled_capped |= found >= COUNT_CAP;
        let scheduled = found.min(kind.queued);
        kind.queued -= scheduled;
        kind.scheduled += scheduled;
        if lane.due_since <= now {
            let oldest = JOBS.time("available_at", &lane.due_since)?;
            kind.oldest_queued_at = kind.oldest_queued_at.into_iter().chain([oldest]).min();
        }
    }
    Ok(kinds.into_values().collect())
}

async fn from_counters(
    connection: &mut SqliteConnection,
    tenant: Option<&str>,
    filter: &KindFilter,
) -> Outcome<Kinds> {
    let rows = sqlx::query!(
        r#"SELECT domain AS "domain!: String", queue AS "queue!: String", job_type AS "job_type!: String",
                  status AS "status!: String", SUM(jobs) AS "jobs!: i64"
           FROM job_counters
           WHERE (?1 IS NULL OR tenant_id = ?1) AND (?2 IS NULL OR domain = ?2) AND (?3 IS NULL OR queue = ?3)
             AND (?4 IS NULL OR job_type = ?4)
           GROUP BY domain, queue, job_type, status"#,
        tenant,
        filter.domain,
        filter.queue,
        filter.job_type
    )
    .fetch_all(connection)
    .await?;
    let mut kinds = Kinds::new();
    for row in rows {
        let key = (row.domain.clone(), row.queue.clone(), row.job_type.clone());
        let kind = kinds.entry(key).or_insert_with(|| KindCounts {
            domain: row.domain,
            queue: row.queue,
            job_type: row.job_type,
            ..KindCounts::default()
        });
        *kind.of(COUNTERS.parse("status", &row.status)?) = row.jobs;
    }
    Ok(kinds)
}
