//! A job's row as a judgement needs it.

use crate::{
    convert::{Table, to_json},
    error::Outcome,
    outbox::Kin,
};
use leasehold_queue::{params::Lease, transition::JobFacts};
use leasehold_types::{JobStatus, view::FailureMark};
use sqlx::SqliteConnection;

const JOBS: Table = Table("jobs");

/// Kept up to date while a batch is judged, so that a later item meets the row as an earlier one left it.
#[derive(Clone)]
pub(crate) struct Standing {
    pub number: i64,
    pub kin: Kin,
    pub status: JobStatus,
    /// Who holds it: worker and lease.
    pub holder: Option<(String, String)>,
    pub completion_token: Option<String>,
    pub attempt_count: i64,
    pub progress: i64,
    pub acquired_at: Option<String>,
    pub running_pid: Option<i64>,
    pub facts: JobFacts,
    pub timeline: Vec<FailureMark>,
}

impl Standing {
    pub fn is_held_by(&self, lease: &Lease) -> bool {
        self.status == JobStatus::Processing
            && self
                .holder
                .as_ref()
                .is_some_and(|(worker, id)| *worker == lease.worker_id.0 && *id == lease.lease_id.to_string())
    }
}

/// The rows with these numbers, in any state.
pub(crate) async fn standings(connection: &mut SqliteConnection, numbers: &[i64]) -> Outcome<Vec<Standing>> {
    let numbers = to_json(numbers)?;
    let rows = sqlx::query!(
        r#"SELECT j.number AS "number!: i64", j.tenant_id AS "tenant_id!: String", j.domain AS "domain!: String",
                  j.queue AS "queue!: String", j.job_type AS "job_type!: String", j.status AS "status!: String",
                  j.worker_id AS "worker_id?: String", j.lease_id AS "lease_id?: String",
                  j.completion_token AS "completion_token?: String", j.attempt_count AS "attempt_count!: i64",
                  j.attempt_base AS "attempt_base!: i64", j.max_attempts AS "max_attempts!: i64",
                  j.progress_percent AS "progress!: i64", j.acquired_at AS "acquired_at?: String",
                  j.running_pid AS "running_pid?: i64",
                  j.cancel_requested_at IS NOT NULL AS "cancel_requested!: bool",
                  j.failure_streak_code AS "streak_code?: String",
                  j.failure_streak_count AS "streak_count!: i64", j.failure_timeline AS "timeline!: String"
           FROM (SELECT DISTINCT value FROM json_each(?1)) asked JOIN jobs j ON j.number = asked.value"#,
        numbers
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            let timeline: Vec<FailureMark> = JOBS.json("failure_timeline", &row.timeline)?;
            let facts = JobFacts {
                attempts_used: JOBS.int("attempt_base", row.attempt_count - row.attempt_base)?,
                max_attempts: JOBS.int("max_attempts", row.max_attempts)?,
                cancel_requested: row.cancel_requested,
                streak_code: row.streak_code,
                streak_count: JOBS.int("failure_streak_count", row.streak_count)?,
                last_backoff: timeline.last().and_then(|mark| mark.retry_backoff),
            };
            Ok(Standing {
                number: row.number,
                kin: Kin {
                    tenant_id: row.tenant_id,
                    domain: row.domain,
                    queue: row.queue,
                    job_type: row.job_type,
                },
                status: JOBS.parse("status", &row.status)?,
                holder: row.worker_id.zip(row.lease_id),
                completion_token: row.completion_token,
                attempt_count: row.attempt_count,
                progress: row.progress,
                acquired_at: row.acquired_at,
                running_pid: row.running_pid,
                facts,
                timeline,
            })
        })
        .collect()
}
