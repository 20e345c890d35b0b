//! How many jobs stand where, kept by the transactions that move them.
//!
//! SQLite has one writer, so nobody queues up behind a counter's row: each transaction adds its own moves,
//! grouped, and the counts are exact after every commit. There are no deltas to fold.

use crate::{
    SqliteStore,
    convert::to_json,
    error::{Outcome, outcome},
    outbox::Kin,
};
use async_trait::async_trait;
use leasehold_queue::{Counters, StoreResult};
use leasehold_types::{JobStatus, Timestamp};
use serde::Serialize;
use sqlx::SqliteConnection;
use std::collections::HashMap;

/// Width of a slot of the throughput chart.
const SLOT_SECONDS: i64 = 5;
/// A day of slots.
const SLOTS_KEPT: i64 = 86_400 / SLOT_SECONDS;

pub(crate) fn slot_of(now: Timestamp) -> i64 {
    now.secs().div_euclid(SLOT_SECONDS)
}

/// The moves of one transaction, grouped.
#[derive(Default)]
pub(crate) struct Moves<'a>(HashMap<(&'a Kin, JobStatus), i64>);

#[derive(Serialize)]
struct Change<'a> {
    #[serde(flatten)]
    kin: &'a Kin,
    status: &'static str,
    finished: bool,
    jobs: i64,
}

impl<'a> Moves<'a> {
    pub fn created(&mut self, kin: &'a Kin, status: JobStatus) {
        *self.0.entry((kin, status)).or_default() += 1;
    }

    pub fn moved(&mut self, kin: &'a Kin, from: JobStatus, to: JobStatus) {
        self.moved_many(kin, from, to, 1);
    }

    pub fn moved_many(&mut self, kin: &'a Kin, from: JobStatus, to: JobStatus, jobs: i64) {
        *self.0.entry((kin, from)).or_default() -= jobs;
        *self.0.entry((kin, to)).or_default() += jobs;
    }

    /// Gone for good: it is nowhere any more.
    pub fn removed(&mut self, kin: &'a Kin, status: JobStatus) {
        *self.0.entry((kin, status)).or_default() -= 1;
    }

    /// Adds the moves to the counts, and arrivals in finished states to the throughput of this moment's slot.
    pub async fn record(self, connection: &mut SqliteConnection, now: Timestamp) -> Outcome<()> {
        let changes: Vec<_> = self.0.into_iter().filter(|(_, jobs)| *jobs != 0).map(change).collect();
        if changes.is_empty() {
            return Ok(());
        }
        let any_finished = changes.iter().any(|change| change.finished && change.jobs > 0);
        let changes = to_json(&changes)?;
        // `WHERE TRUE` keeps SQLite's parser from reading ON as part of a join.
        sqlx::query!(
            "INSERT INTO job_counters (tenant_id, domain, queue, job_type, status, jobs)
             SELECT value ->> 'tenant_id', value ->> 'domain', value ->> 'queue', value ->> 'job_type',
                    value ->> 'status', value ->> 'jobs'
             FROM json_each(?1) WHERE TRUE
             ON CONFLICT (tenant_id, domain, queue, job_type, status) DO UPDATE SET jobs = jobs + excluded.jobs",
            changes
        )
        .execute(&mut *connection)
        .await?;
        if any_finished {
            record_rates(connection, &changes, slot_of(now)).await?;
        }
        Ok(())
    }
}

fn change<'a>(((kin, status), jobs): ((&'a Kin, JobStatus), i64)) -> Change<'a> {
    Change { kin, status: status.as_str(), finished: status.is_finished(), jobs }
}

#[async_trait]
impl Counters for SqliteStore {
    /// There is nothing to fold; slots older than a day are dropped.
    async fn fold_counters(&self) -> StoreResult<()> {
        outcome(async {
            let oldest_kept = slot_of(self.clock.now()) - SLOTS_KEPT;
            let mut tx = self.begin().await?;
            sqlx::query!("DELETE FROM job_rates WHERE slot < ?1", oldest_kept).execute(&mut *tx).await?;
            Ok(tx.commit().await?)
        })
        .await
    }

    /// Compares with the jobs themselves while the writer's lock is held, so that nothing moves meanwhile.
    async fn recount(&self) -> StoreResult<u64> {
        outcome(async {
            let mut tx = self.begin().await?;
            let wrong = find_wrong(&mut tx).await?;
            if !wrong.is_empty() {
                let groups = to_json(&wrong)?;
                sqlx::query!(
                    "INSERT INTO job_counters (tenant_id, domain, queue, job_type, status, jobs)
                     SELECT value ->> 'tenant_id', value ->> 'domain', value ->> 'queue', value ->> 'job_type',
                            value ->> 'status', value ->> 'jobs'
                     FROM json_each(?1) WHERE TRUE
                     ON CONFLICT (tenant_id, domain, queue, job_type, status) DO UPDATE SET jobs = excluded.jobs",
                    groups
                )
                .execute(&mut *tx)
                .await?;
            }
            tx.commit().await?;
            Ok(wrong.len() as u64)
        })
        .await
    }
}

async fn record_rates(connection: &mut SqliteConnection, changes: &str, slot: i64) -> Outcome<()> {
    sqlx::query!(
        "INSERT INTO job_rates (tenant_id, slot, domain, queue, status, jobs)
         SELECT value ->> 'tenant_id', ?2, value ->> 'domain', value ->> 'queue', value ->> 'status',
                SUM(value ->> 'jobs')
         FROM json_each(?1) WHERE value ->> 'finished' AND value ->> 'jobs' > 0
         GROUP BY 1, 3, 4, 5
         ON CONFLICT (tenant_id, slot, domain, queue, status) DO UPDATE SET jobs = jobs + excluded.jobs",
        changes,
        slot
    )
    .execute(connection)
    .await?;
    Ok(())
}

#[derive(Serialize)]
pub(crate) struct Mended {
    #[serde(flatten)]
    kin: Kin,
    status: String,
    jobs: i64,
}

/// Groups whose count differs, with the true count.
pub(crate) async fn find_wrong(connection: &mut SqliteConnection) -> Outcome<Vec<Mended>> {
    let rows = sqlx::query!(
        r#"SELECT tenant_id AS "tenant_id!: String", domain AS "domain!: String", queue AS "queue!: String",
                  job_type AS "job_type!: String", status AS "status!: String", SUM(actual) AS "actual!: i64"
           FROM (SELECT tenant_id, domain, queue, job_type, status, COUNT(*) AS actual, 0 AS counted
                 FROM jobs GROUP BY 1, 2, 3, 4, 5
                 UNION ALL
                 SELECT tenant_id, domain, queue, job_type, status, 0, jobs FROM job_counters)
           GROUP BY 1, 2, 3, 4, 5
           HAVING SUM(actual) <> SUM(counted)"#
    )
    .fetch_all(connection)
    .await?;
    let mended = rows.into_iter().map(|row| Mended {
        kin: Kin { tenant_id: row.tenant_id, domain: row.domain, queue: row.queue, job_type: row.job_type },
        status: row.status,
        jobs: row.actual,
    });
    Ok(mended.collect())
}
