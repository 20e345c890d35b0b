//! What happens to a row when its attempt has ended, other than by success: shared by `finish` and `reclaim`.
//!
//! The caller holds the row locks and has judged; this writes job, attempt, events and counters in one statement.

use crate::{
    convert::{self, as_json, moment, parsed, remember, slot, text_if},
    error::database,
};
use leasehold_queue::{
    StoreResult,
    params::{AttemptFacts, Lease},
    transition::{JobFacts, Verdict},
};
use leasehold_types::{JobStatus, LeaseId, LiveKind, Timestamp, WorkerId, view::FailureMark};
use serde_json::{Map, Value};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

/// A locked row under judgement.
pub struct Locked {
    pub number: i64,
    pub worker_id: String,
    pub lease_id: Uuid,
    pub attempt_count: i32,
    pub attempt_base: i32,
    pub max_attempts: i32,
    pub cancel_requested: bool,
    pub streak_code: Option<String>,
    pub streak_count: i32,
    pub timeline: Value,
}

impl Locked {
    pub fn lease(&self) -> Lease {
        Lease {
            number: self.number,
            worker_id: WorkerId(self.worker_id.clone()),
            lease_id: LeaseId(self.lease_id),
        }
    }

    pub fn timeline(&self) -> StoreResult<Vec<FailureMark>> {
        parsed("jobs", "failure_timeline", self.timeline.clone())
    }

    pub fn facts(&self, timeline: &[FailureMark]) -> JobFacts {
        JobFacts {
            attempts_used: self.attempt_count - self.attempt_base,
            max_attempts: self.max_attempts,
            cancel_requested: self.cancel_requested,
            streak_code: self.streak_code.clone(),
            streak_count: self.streak_count,
            last_backoff: timeline.last().and_then(|mark| mark.retry_backoff),
        }
    }
}

/// How the attempt ended, ready to be written.
pub struct Settlement {
    pub number: i64,
    pub verdict: Verdict,
    pub timeline: Vec<FailureMark>,
    pub message: Option<String>,
    pub stack: Option<String>,
    /// Named in the event when it was lost.
    pub lost_worker: Option<String>,
    pub facts: AttemptFacts,
    pub token: Option<String>,
    pub result: Option<Value>,
}

impl Settlement {
    fn attrs(&self) -> Option<Value> {
        let class = self.verdict.error_class.map(|class| class.to_string());
        let retry_at = self.verdict.retry_at().map(|at| at.to_string());
        let fields = [
            ("error_code", &self.verdict.error_code),
            ("error_class", &class),
            ("retry_at", &retry_at),
            ("message", &self.message),
            ("worker", &self.lost_worker),
        ];
        let attrs: Map<String, Value> = fields
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), Value::String(text_if(value.as_ref())?))))
            .collect();
        (!attrs.is_empty()).then_some(Value::Object(attrs))
    }
}

/// The settlements as one array per column.
#[derive(Default)]
struct Columns {
    number: Vec<i64>,
    status: Vec<String>,
    outcome: Vec<String>,
    available_at: Vec<Option<OffsetDateTime>>,
    error_code: Vec<Option<String>>,
    error_class: Vec<Option<String>>,
    message: Vec<Option<String>>,
    stack: Vec<Option<String>>,
    streak_code: Vec<Option<String>>,
    streak_count: Vec<i32>,
    timeline: Vec<Value>,
    refund: Vec<i32>,
    token: Vec<Option<String>>,
    result: Vec<Option<Value>>,
    pid: Vec<Option<i32>>,
    exit_code: Vec<Option<i32>>,
    stdout: Vec<Option<String>>,
    stderr: Vec<Option<String>>,
    kind: Vec<String>,
    attrs: Vec<Option<Value>>,
    alert: Vec<bool>,
}

impl Columns {
    fn push(&mut self, s: Settlement) -> StoreResult<()> {
        self.attrs.push(s.attrs());
        self.number.push(s.number);
        self.status.push(s.verdict.status.as_str().to_owned());
        self.outcome.push(s.verdict.outcome.as_str().to_owned());
        self.available_at.push(s.verdict.available_at.map(moment));
        self.error_code.push(text_if(s.verdict.error_code.as_ref()));
        self.error_class.push(s.verdict.error_class.map(|c| c.as_str().to_owned()));
        self.message.push(text_if(s.message.as_ref()));
        self.stack.push(text_if(s.stack.as_ref()));
        self.streak_code.push(text_if(s.verdict.streak_code.as_ref()));
        self.streak_count.push(s.verdict.streak_count);
        let timeline = remember(s.timeline, s.verdict.mark);
        self.timeline.push(convert::json(&as_json(&timeline)?));
        self.refund.push(i32::from(s.verdict.refund_attempt));
        self.token.push(text_if(s.token.as_ref()));
        self.result.push(s.result.as_ref().map(convert::json));
        self.pid.push(s.facts.pid);
        self.exit_code.push(s.facts.exit_code);
        self.stdout.push(text_if(s.facts.stdout_tail.as_ref()));
        self.stderr.push(text_if(s.facts.stderr_tail.as_ref()));
        self.kind.push(LiveKind::of_status(s.verdict.status).as_str().to_owned());
        self.alert.push(s.verdict.alert);
        Ok(())
    }
}

/// Some of these jobs can be claimed again right now.
pub fn any_ready(settlements: &[Settlement], now: Timestamp) -> bool {
    settlements
        .iter()
        .any(|s| s.verdict.status == JobStatus::Queued && s.verdict.available_at.is_none_or(|at| at <= now))
}

/// Writes the settlements of rows the caller has locked.
#[expect(clippy::too_many_lines, reason = "one statement and its binds")]
pub async fn settle(
    connection: &mut PgConnection,
    settlements: Vec<Settlement>,
    now: Timestamp,
    outbox: bool,
) -> StoreResult<()> {
    let mut c = Columns::default();
    settlements.into_iter().try_for_each(|s| c.push(s))?;
    sqlx::query!(
        r#"WITH asked AS MATERIALIZED (
             SELECT a.*, o.worker_id AS worker, o.running_pid AS known_pid
             FROM UNNEST($1::bigint[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::text[],
                         $7::text[], $8::text[], $9::text[], $10::int[], $11::jsonb[], $12::int[], $13::text[],
                         $14::jsonb[], $15::int[], $16::int[], $17::text[], $18::text[], $19::text[],
                         $20::jsonb[], $21::bool[])
                    AS a(number, status, outcome, available_at, error_code, error_class, message, stack,
                         streak_code, streak_count, timeline, refund, token, result, pid, exit_code, stdout,
                         stderr, kind, attrs, alert)
             JOIN jobs o ON o.number = a.number AND o.lease_id IS NOT NULL),
           ended AS (
             UPDATE jobs j
             SET status = a.status, worker_id = NULL, lease_id = NULL, leased_until = NULL, running_pid = NULL,
                 cancel_requested_at = NULL, updated_at = $22, completion_token = a.token,
                 result = COALESCE(a.result, j.result),
                 available_at = COALESCE(a.available_at, j.available_at),
                 queued_at = CASE WHEN a.status = 'queued' THEN $22 ELSE j.queued_at END,
                 completed_at = CASE WHEN a.status = 'queued' THEN NULL ELSE $22 END,
                 cancelled_at = CASE WHEN a.status = 'cancelled' THEN $22 ELSE j.cancelled_at END,
                 cancelled_by = CASE WHEN a.status = 'cancelled' THEN j.cancelled_by END,
                 cancellation_reason = CASE WHEN a.status = 'cancelled' THEN j.cancellation_reason END,
                 quarantined_at = CASE WHEN a.status = 'quarantined' THEN $22 ELSE j.quarantined_at END,
                 attempt_base = j.attempt_base + a.refund,
                 error_code = a.error_code, error_class = a.error_class,
                 error_message = CASE WHEN a.status <> 'cancelled' THEN a.message END,
                 error_stack = CASE WHEN a.status <> 'cancelled' THEN a.stack END, failure_streak_code = a.streak_code,
                 failure_streak_count = a.streak_count, failure_timeline = a.timeline
             FROM asked a WHERE j.number = a.number
             RETURNING j.number, j.tenant_id, j.domain, j.queue, j.job_type, j.attempt_count, j.acquired_at,
                       j.progress_percent, j.status),
           history AS (
             INSERT INTO job_attempts (job_number, attempt, tenant_id, worker_id, pid, outcome, started_at,
                    finished_at, exit_code, error_code, error_text, error_stack, stdout_tail, stderr_tail)
             SELECT e.number, e.attempt_count, e.tenant_id, a.worker, COALESCE(a.pid, a.known_pid), a.outcome,
                    COALESCE(e.acquired_at, $22), $22, a.exit_code, a.error_code, a.message, a.stack, a.stdout,
                    a.stderr
             FROM ended e JOIN asked a USING (number)),
           told AS (
             INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt,
                    progress, attrs, created_at)
             SELECT e.tenant_id, e.number, e.domain, e.queue, e.job_type, k.kind, e.status, e.attempt_count,
                    e.progress_percent, a.attrs, $22
             FROM ended e JOIN asked a USING (number)
             CROSS JOIN LATERAL (SELECT a.kind, 1 AS place UNION ALL SELECT 'job.alert', 2 WHERE a.alert) k
             WHERE $24
             ORDER BY e.number, k.place)
           INSERT INTO job_counter_deltas (tenant_id, domain, queue, job_type, status, delta, slot)
           SELECT e.tenant_id, e.domain, e.queue, e.job_type, m.status, sum(m.sign), $23
           FROM ended e CROSS JOIN LATERAL (VALUES ('processing', -1), (e.status, 1)) m(status, sign)
           GROUP BY e.tenant_id, e.domain, e.queue, e.job_type, m.status"#,
        &c.number,
        &c.status,
        &c.outcome,
        &c.available_at as &[Option<OffsetDateTime>],
        &c.error_code as &[Option<String>],
        &c.error_class as &[Option<String>],
        &c.message as &[Option<String>],
        &c.stack as &[Option<String>],
        &c.streak_code as &[Option<String>],
        &c.streak_count,
        &c.timeline,
        &c.refund,
        &c.token as &[Option<String>],
        &c.result as &[Option<Value>],
        &c.pid as &[Option<i32>],
        &c.exit_code as &[Option<i32>],
        &c.stdout as &[Option<String>],
        &c.stderr as &[Option<String>],
        &c.kind,
        &c.attrs as &[Option<Value>],
        &c.alert,
        moment(now),
        slot(now),
        outbox
    )
    .execute(connection)
    .await
    .map(drop)
    .map_err(database)
}
