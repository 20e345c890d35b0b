//! Jobs of bulk operations: what their repetition needs, making it, and removing jobs that have ended.
//!
//! Attempts, logs, attachments and idempotency keys go with their job; events stay until their own retention ends.

use crate::{
    convert::{moment, slot},
    create,
    error::Outcome,
    tx::PostgresTx,
};
use leasehold_queue::{
    Scope,
    params::{CreateAnswer, NewJob},
    ports::{bulk::RetriedJob, steering::SteeredJob, tx::Tx},
};
use leasehold_types::TenantId;

pub(super) async fn to_retry(tx: &mut PostgresTx, numbers: &[i64]) -> Outcome<Vec<RetriedJob>> {
    let rows = sqlx::query!(
        r#"SELECT j.number, j.tenant_id, d.key AS "definition_key?", j.queue, j.priority, j.max_attempts, j.payload,
                  j.concurrency_key, j.correlation_id, j.owner_user_id, j.project_id
           FROM jobs j LEFT JOIN job_definitions d ON d.id = j.definition_id
           WHERE j.number = ANY($1) ORDER BY j.number"#,
        numbers
    )
    .fetch_all(&mut *tx.tx)
    .await?;
    let jobs = rows.into_iter().map(|row| RetriedJob {
        number: row.number,
        tenant: TenantId(row.tenant_id),
        definition_key: row.definition_key,
        queue: row.queue,
        priority: row.priority,
        max_attempts: row.max_attempts,
        payload: row.payload,
        concurrency_key: row.concurrency_key,
        correlation_id: row.correlation_id,
        owner_user_id: row.owner_user_id,
        project_id: row.project_id,
    });
    Ok(jobs.collect())
}

pub(super) async fn create(
    tx: &mut PostgresTx,
    scope: &Scope,
    jobs: &[NewJob],
) -> Outcome<Option<Vec<CreateAnswer>>> {
    let (now, outbox) = (tx.now(), tx.outbox);
    Ok(create::within(&mut tx.tx, scope, jobs, now, outbox).await?)
}

/// The copy is the whole row and its attempts as JSON, under the names of their columns; what only a running job
/// has is left out. All parts of the statement see the job as it was before.
pub(super) async fn delete(tx: &mut PostgresTx, jobs: &[&SteeredJob], keep_a_copy: bool) -> Outcome<()> {
    let (numbers, now): (Vec<i64>, _) = (jobs.iter().map(|job| job.number).collect(), tx.now());
    sqlx::query!(
        r#"WITH copied AS (
             INSERT INTO jobs_archive (number, id, tenant_id, domain, queue, job_type, status, created_at,
                    completed_at, job, attempts, archived_at)
             SELECT j.number, j.id, j.tenant_id, j.domain, j.queue, j.job_type, j.status, j.created_at,
                    j.completed_at,
                    to_jsonb(j) - '{worker_id,lease_id,leased_until,running_pid,cancel_requested_at}'::text[],
                    (SELECT COALESCE(jsonb_agg(to_jsonb(a) - '{job_number,tenant_id}'::text[] ORDER BY a.attempt),
                                     '[]')
                     FROM job_attempts a WHERE a.job_number = j.number),
                    $3
             FROM jobs j
             WHERE $2 AND j.number = ANY($1) AND j.status NOT IN ('queued', 'processing')),
           gone AS (
             DELETE FROM jobs WHERE number = ANY($1) AND status NOT IN ('queued', 'processing')
             RETURNING number, tenant_id, domain, queue, job_type, status),
           attempts AS (DELETE FROM job_attempts WHERE job_number IN (SELECT number FROM gone))
           INSERT INTO job_counter_deltas (tenant_id, domain, queue, job_type, status, delta, slot)
           SELECT tenant_id, domain, queue, job_type, status, -count(*), $4 FROM gone
           GROUP BY tenant_id, domain, queue, job_type, status"#,
        &numbers,
        keep_a_copy,
        moment(now),
        slot(now)
    )
    .execute(&mut *tx.tx)
    .await?;
    Ok(())
}
