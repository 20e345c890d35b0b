//! The archive, and the database as it describes itself.

use crate::{
    PostgresStore,
    convert::{stamp, stamp_if, word},
    error::database,
};
use async_trait::async_trait;
use leasehold_queue::{
    Administration, Scope, StoreResult,
    administration::{ArchivedJob, DatabaseFacts, Examination},
    clock::process_time,
};
use leasehold_types::{JobId, JobRef, TenantId};

#[async_trait]
impl Administration for PostgresStore {
    async fn archived_job(&self, scope: &Scope, job: JobRef) -> StoreResult<Option<ArchivedJob>> {
        let (number, id) = match job {
            JobRef::Number(number) => (Some(number), None),
            JobRef::Id(id) => (None, Some(id.0)),
        };
        let row = sqlx::query!(
            r#"SELECT number, id, tenant_id, domain, queue, job_type, status, archived_at,
                      job -> 'payload' IS NOT NULL AND job -> 'payload' <> 'null' AS "has_payload!",
                      job -> 'result' IS NOT NULL AND job -> 'result' <> 'null' AS "has_result!"
               FROM jobs_archive
               WHERE (number = $1 OR id = $2) AND ($3::uuid IS NULL OR tenant_id = $3)"#,
            number,
            id,
            scope.tenant().map(|t| t.0)
        )
        .fetch_optional(&self.work)
        .await
        .map_err(database)?;
        let Some(row) = row else { return Ok(None) };
        scope.check_domain(&row.domain)?;
        Ok(Some(ArchivedJob {
            number: row.number,
            id: JobId(row.id),
            tenant_id: TenantId(row.tenant_id),
            domain: row.domain,
            queue: row.queue,
            job_type: row.job_type,
            status: word("jobs_archive", "status", &row.status)?,
            archived_at: stamp(row.archived_at),
            has_payload: row.has_payload,
            has_result: row.has_result,
        }))
    }

    async fn examine(&self) -> StoreResult<Examination> {
        let events = sqlx::query!(
            r#"SELECT COALESCE(max(id) - min(id) + 1, 0) AS "events!",
                      (SELECT created_at FROM job_events ORDER BY id LIMIT 1) AS oldest
               FROM job_events"#
        )
        .fetch_one(&self.work)
        .await
        .map_err(database)?;
        Ok(Examination {
            database: self.describe().await?,
            events: events.events,
            oldest_event_at: stamp_if(events.oldest),
            wrong_counters: self.wrong_counters().await?,
        })
    }
}

impl PostgresStore {
    async fn describe(&self) -> StoreResult<DatabaseFacts> {
        let asked = process_time();
        let row = sqlx::query!(
            r#"SELECT current_setting('server_version_num')::bigint AS "version!",
                      current_setting('max_connections')::bigint AS "max_connections!",
                      (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS "connections!",
                      pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS "read_only!",
                      has_schema_privilege(current_schema(), 'CREATE') AS "may_create!",
                      clock_timestamp() AS "now!""#
        )
        .fetch_one(&self.work)
        .await
        .map_err(database)?;
        // Halfway between question and answer.
        let ours = (asked.micros() + process_time().micros()) / 2;
        let ahead = stamp(row.now).micros() - ours;
        Ok(DatabaseFacts::Postgres {
            version: row.version,
            max_connections: row.max_connections,
            connections: row.connections,
            read_only: row.read_only,
            may_create: row.may_create,
            clock_ahead: ahead as f64 / 1e6,
        })
    }

    /// One statement sees one moment: what was not folded yet counts as well, so nobody has to wait.
    async fn wrong_counters(&self) -> StoreResult<i64> {
        sqlx::query_scalar!(
            r#"SELECT count(*) AS "wrong!" FROM (
                 SELECT FROM (
                   SELECT tenant_id, domain, queue, job_type, status, count(*) AS actual, 0 AS counted FROM jobs
                   GROUP BY tenant_id, domain, queue, job_type, status
                   UNION ALL
                   SELECT tenant_id, domain, queue, job_type, status, 0, jobs FROM job_counters
                   UNION ALL
                   SELECT tenant_id, domain, queue, job_type, status, 0, delta FROM job_counter_deltas) c
                 GROUP BY tenant_id, domain, queue, job_type, status
                 HAVING sum(actual) <> sum(counted)) groups"#
        )
        .fetch_one(&self.work)
        .await
        .map_err(database)
    }
}
