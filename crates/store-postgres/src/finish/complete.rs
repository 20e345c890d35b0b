//! The fast path: a batch of completions in one statement.

use crate::{
    PostgresStore,
    convert::{self, moment, slot, text_if},
    error::database,
};
use leasehold_queue::{
    StoreResult,
    params::{Finish, Lease},
};
use leasehold_types::{LeaseId, WorkerId};
use serde_json::Value;
use uuid::Uuid;

impl PostgresStore {
    /// Completes what is still held; the leases it was held under. Sorted, so that batches lock in one order.
    ///
    /// The state is not asked for: only a running job has a lease (the table's CHECK), and naming the state would
    /// tempt the planner into reading every running job for each item. The last pid stays on the row; the next
    /// claim clears it.
    #[expect(clippy::too_many_lines, reason = "one statement and its binds")]
    pub(super) async fn complete(&self, items: &[&Finish]) -> StoreResult<Vec<Lease>> {
        let now = self.clock.now();
        let mut items = items.to_vec();
        items.sort_by_key(|i| i.lease.number);
        let each = || items.iter();
        let numbers: Vec<i64> = each().map(|i| i.lease.number).collect();
        let workers: Vec<String> = each().map(|i| i.lease.worker_id.0.clone()).collect();
        let leases: Vec<Uuid> = each().map(|i| i.lease.lease_id.0).collect();
        let results: Vec<Option<Value>> = each().map(|i| i.result.as_ref().map(convert::json)).collect();
        let tokens: Vec<Option<String>> = each().map(|i| text_if(i.token.as_ref())).collect();
        let pids: Vec<Option<i32>> = each().map(|i| i.facts.pid).collect();
        let exits: Vec<Option<i32>> = each().map(|i| i.facts.exit_code).collect();
        let outs: Vec<Option<String>> = each().map(|i| text_if(i.facts.stdout_tail.as_ref())).collect();
        let errs: Vec<Option<String>> = each().map(|i| text_if(i.facts.stderr_tail.as_ref())).collect();
        let ended = sqlx::query!(
            r#"WITH ended AS (
                 UPDATE jobs j
                 SET status = 'completed', worker_id = NULL, lease_id = NULL, leased_until = NULL,
                     cancel_requested_at = NULL, cancelled_by = NULL, cancellation_reason = NULL, updated_at = $10, completed_at = $10,
                     completion_token = a.token, result = a.result, progress_percent = 100,
                     error_code = NULL, error_class = NULL, error_message = NULL, error_stack = NULL,
                     failure_streak_code = NULL, failure_streak_count = 0
                 FROM UNNEST($1::bigint[], $2::text[], $3::uuid[], $4::jsonb[], $5::text[], $6::int[], $7::int[],
                             $8::text[], $9::text[])
                        AS a(number, worker, lease, result, token, pid, exit_code, stdout, stderr)
                 WHERE j.number = a.number AND j.worker_id = a.worker AND j.lease_id = a.lease
                 RETURNING j.number, j.tenant_id, j.domain, j.queue, j.job_type, j.attempt_count, j.acquired_at,
                           a.worker, a.lease, COALESCE(a.pid, j.running_pid) AS pid, a.exit_code, a.stdout, a.stderr),
               history AS (
                 INSERT INTO job_attempts (job_number, attempt, tenant_id, worker_id, pid, outcome, started_at,
                        finished_at, exit_code, stdout_tail, stderr_tail)
                 SELECT number, attempt_count, tenant_id, worker, pid, 'succeeded', COALESCE(acquired_at, $10),
                        $10, exit_code, stdout, stderr
                 FROM ended),
               told AS (
                 INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt,
                        progress, created_at)
                 SELECT tenant_id, number, domain, queue, job_type, 'job.completed', 'completed', attempt_count,
                        100, $10
                 FROM ended WHERE $12),
               counted AS (
                 INSERT INTO job_counter_deltas (tenant_id, domain, queue, job_type, status, delta, slot)
                 SELECT e.tenant_id, e.domain, e.queue, e.job_type, m.status, m.sign * e.jobs, $11
                 FROM (SELECT tenant_id, domain, queue, job_type, count(*) AS jobs FROM ended
                       GROUP BY tenant_id, domain, queue, job_type) e
                 CROSS JOIN (VALUES ('processing', -1), ('completed', 1)) m(status, sign))
               SELECT number, worker AS "worker!", lease AS "lease!" FROM ended"#,
            &numbers,
            &workers,
            &leases,
            &results as &[Option<Value>],
            &tokens as &[Option<String>],
            &pids as &[Option<i32>],
            &exits as &[Option<i32>],
            &outs as &[Option<String>],
            &errs as &[Option<String>],
            moment(now),
            slot(now),
            self.outbox
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        let lease =
            |number, worker, lease| Lease { number, worker_id: WorkerId(worker), lease_id: LeaseId(lease) };
        Ok(ended.into_iter().map(|e| lease(e.number, e.worker, e.lease)).collect())
    }
}
