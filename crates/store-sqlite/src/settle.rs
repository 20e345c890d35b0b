//! How an attempt ends, for every way it can: the verdict is [`transition::judge`]'s, this writes it down.
//!
//! Rows are read and judged one by one, then each table gets all of its rows in one statement. The caller's
//! transaction holds the writer's lock, so nothing moves between reading and writing.

use crate::{
    convert::{text, to_json},
    counters::Moves,
    error::Outcome,
    outbox::{self, Attrs, NewEvent},
    standing::Standing,
};
use leasehold_queue::{
    params::AttemptFacts,
    transition::{self, Ending, LOST, Rules, Verdict},
};
use leasehold_types::{JobStatus, LiveKind, Timestamp, view::RetryPolicy};
use serde::Serialize;
use serde_json::Value;
use sqlx::SqliteConnection;

/// Failures a job's row remembers.
const TIMELINE_KEPT: usize = 10;

/// How one attempt ended.
pub(crate) struct End<'a> {
    pub ending: &'a Ending,
    pub result: Option<&'a Value>,
    pub facts: &'a AttemptFacts,
    pub token: Option<&'a str>,
    pub policy: Option<&'a RetryPolicy>,
}

/// What a batch writes.
#[derive(Default)]
pub(crate) struct Settlement {
    jobs: Vec<JobUpdate>,
    attempts: Vec<AttemptInsert>,
    told: Vec<Told>,
}

struct Told {
    before: Standing,
    verdict: Verdict,
    attrs: Attrs,
    progress: i64,
}

#[derive(Serialize)]
struct JobUpdate {
    number: i64,
    status: &'static str,
    available_at: Option<Timestamp>,
    result: Option<String>,
    token: Option<String>,
    progress: i64,
    refund: i64,
    streak_code: Option<String>,
    streak_count: i32,
    timeline: String,
    error_code: Option<String>,
    error_class: Option<&'static str>,
    error_message: Option<String>,
    error_stack: Option<String>,
    finished: bool,
}

#[derive(Serialize)]
struct AttemptInsert {
    job_number: i64,
    attempt: i64,
    tenant_id: String,
    worker_id: String,
    pid: Option<i64>,
    outcome: &'static str,
    started_at: Option<String>,
    exit_code: Option<i32>,
    error_code: Option<String>,
    error_text: Option<String>,
    error_stack: Option<String>,
    stdout_tail: Option<String>,
    stderr_tail: Option<String>,
}

impl Settlement {
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Some job may be claimed again right now.
    pub fn refills_the_queue(&self, now: Timestamp) -> bool {
        self.told.iter().map(|told| &told.verdict).any(|verdict| {
            verdict.status == JobStatus::Queued && verdict.available_at.is_none_or(|at| at <= now)
        })
    }

    /// Judges one running attempt; `job` then stands where the verdict puts it.
    pub fn end(
        &mut self,
        job: &mut Standing,
        end: &End<'_>,
        rules: &Rules,
        now: Timestamp,
    ) -> Outcome<JobStatus> {
        let dice = rand::random::<f64>();
        let verdict = transition::judge(&job.facts, end.ending, end.policy, rules, now, dice);
        self.close(job, end, verdict, words_of(end.ending))
    }

    /// Writes down a verdict on a running attempt, with the message and the stack to keep.
    pub fn close(
        &mut self,
        job: &mut Standing,
        end: &End<'_>,
        verdict: Verdict,
        (message, stack): (Option<String>, Option<String>),
    ) -> Outcome<JobStatus> {
        let before = job.clone();
        move_to(job, &verdict, end.token);
        self.attempts.push(attempt_of(&before, end.facts, &verdict, (message.clone(), stack.clone())));
        self.jobs.push(JobUpdate {
            error_message: message.clone().filter(|_| verdict.status != JobStatus::Cancelled),
            error_stack: stack.filter(|_| verdict.status != JobStatus::Cancelled),
            ..JobUpdate::new(job, end, &verdict)?
        });
        let attrs = Attrs {
            message,
            error_code: verdict.error_code.clone(),
            error_class: verdict.error_class.map(|class| class.to_string()),
            retry_at: verdict.retry_at(),
            worker: lost_by(&before, end),
            stage: None,
            actor: None,
        };
        let status = verdict.status;
        self.told.push(Told { before, verdict, attrs, progress: job.progress });
        Ok(status)
    }

    /// Writes jobs, attempts, events and counters.
    pub async fn write(&self, connection: &mut SqliteConnection, now: Timestamp) -> Outcome<()> {
        if self.is_empty() {
            return Ok(());
        }
        update_jobs(connection, &self.jobs, now).await?;
        insert_attempts(connection, &self.attempts, now).await?;
        let mut moves = Moves::default();
        let mut events = Vec::with_capacity(self.told.len());
        for Told { before, verdict, attrs, progress } in &self.told {
            moves.moved(&before.kin, before.status, verdict.status);
            let event = |kind| {
                NewEvent::new(
                    kind,
                    verdict.status,
                    &before.kin,
                    before.number,
                    before.attempt_count,
                    *progress,
                )
                .with(attrs)
            };
            events.push(event(LiveKind::of_status(verdict.status))?);
            if verdict.alert {
                events.push(event(LiveKind::Alert)?);
            }
        }
        outbox::append(connection, &events, now).await?;
        moves.record(connection, now).await
    }
}

/// Where the job stands after the verdict.
fn move_to(job: &mut Standing, verdict: &Verdict, token: Option<&str>) {
    job.timeline.extend(verdict.mark.clone());
    let excess = job.timeline.len().saturating_sub(TIMELINE_KEPT);
    job.timeline.drain(..excess);
    if verdict.status == JobStatus::Completed {
        job.progress = 100;
    }
    job.status = verdict.status;
    job.holder = None;
    job.completion_token = token.map(str::to_owned);
}

impl JobUpdate {
    /// The row after the verdict, without the words of its error.
    fn new(job: &Standing, end: &End<'_>, verdict: &Verdict) -> Outcome<Self> {
        Ok(Self {
            number: job.number,
            status: verdict.status.as_str(),
            available_at: verdict.available_at,
            result: end.result.map(to_json).transpose()?,
            token: job.completion_token.clone(),
            progress: job.progress,
            refund: i64::from(verdict.refund_attempt),
            streak_code: verdict.streak_code.clone(),
            streak_count: verdict.streak_count,
            timeline: to_json(&job.timeline)?,
            error_code: verdict.error_code.clone(),
            error_class: verdict.error_class.map(|class| class.as_str()),
            error_message: None,
            error_stack: None,
            finished: verdict.status.is_finished(),
        })
    }
}

/// The message and the stack to keep, if the attempt ended by an error.
fn words_of(ending: &Ending) -> (Option<String>, Option<String>) {
    match ending {
        Ending::Failed(failure) => {
            let message = Some(text(&failure.message)).filter(|message| !message.is_empty());
            (message, failure.stack.as_deref().map(text))
        }
        Ending::Snoozed(snooze) => (Some(text(&snooze.message)), None),
        Ending::Lost => (Some(LOST.to_owned()), None),
        _ => (None, None),
    }
}

/// Named in the event when it was lost.
fn lost_by(job: &Standing, end: &End<'_>) -> Option<String> {
    let (worker, _) = job.holder.as_ref()?;
    (*end.ending == Ending::Lost).then(|| worker.clone())
}

fn attempt_of(
    job: &Standing,
    facts: &AttemptFacts,
    verdict: &Verdict,
    (error_text, error_stack): (Option<String>, Option<String>),
) -> AttemptInsert {
    AttemptInsert {
        job_number: job.number,
        attempt: job.attempt_count,
        tenant_id: job.kin.tenant_id.clone(),
        worker_id: job.holder.as_ref().map(|(worker, _)| worker.clone()).unwrap_or_default(),
        pid: facts.pid.map(i64::from).or(job.running_pid),
        outcome: verdict.outcome.as_str(),
        started_at: job.acquired_at.clone(),
        exit_code: facts.exit_code,
        error_code: verdict.error_code.clone(),
        error_text,
        error_stack,
        stdout_tail: facts.stdout_tail.as_deref().map(text),
        stderr_tail: facts.stderr_tail.as_deref().map(text),
    }
}

/// Every exit from processing gives the lease back. The state is asked for again, so a wrong move changes nothing.
async fn update_jobs(connection: &mut SqliteConnection, jobs: &[JobUpdate], now: Timestamp) -> Outcome<()> {
    let (jobs, now) = (to_json(jobs)?, now.to_string());
    sqlx::query!(
        "WITH given AS MATERIALIZED (SELECT key, jsonb(value) AS value FROM json_each(?1))
         UPDATE jobs
         SET status = e.value ->> 'status', worker_id = NULL, lease_id = NULL, leased_until = NULL,
             running_pid = NULL, cancel_requested_at = NULL, completion_token = e.value ->> 'token',
             available_at = COALESCE(e.value ->> 'available_at', available_at),
             queued_at = CASE WHEN e.value ->> 'status' = 'queued' THEN ?2 ELSE queued_at END,
             completed_at = CASE WHEN e.value ->> 'finished' THEN ?2 END,
             quarantined_at = CASE WHEN e.value ->> 'status' = 'quarantined' THEN ?2 ELSE quarantined_at END,
             cancelled_at = CASE WHEN e.value ->> 'status' = 'cancelled' THEN ?2 ELSE cancelled_at END,
             cancelled_by = CASE WHEN e.value ->> 'status' = 'cancelled' THEN cancelled_by END,
             cancellation_reason = CASE WHEN e.value ->> 'status' = 'cancelled' THEN cancellation_reason END,
             attempt_base = attempt_base + (e.value ->> 'refund'),
             result = COALESCE(e.value ->> 'result', result), progress_percent = e.value ->> 'progress',
             error_code = e.value ->> 'error_code', error_class = e.value ->> 'error_class',
             error_message = e.value ->> 'error_message', error_stack = e.value ->> 'error_stack',
             failure_streak_code = e.value ->> 'streak_code',
             failure_streak_count = e.value ->> 'streak_count', failure_timeline = e.value ->> 'timeline',
             updated_at = ?2
         FROM given AS e
         WHERE jobs.number = e.value ->> 'number' AND jobs.status = 'processing'",
        jobs,
        now
    )
    .execute(connection)
    .await?;
    Ok(())
}

async fn insert_attempts(
    connection: &mut SqliteConnection,
    attempts: &[AttemptInsert],
    now: Timestamp,
) -> Outcome<()> {
    let (attempts, now) = (to_json(attempts)?, now.to_string());
    sqlx::query!(
        "WITH given AS MATERIALIZED (SELECT key, jsonb(value) AS value FROM json_each(?1))
         INSERT INTO job_attempts (job_number, attempt, tenant_id, worker_id, pid, outcome, started_at, finished_at,
                                   exit_code, error_code, error_text, error_stack, stdout_tail, stderr_tail)
         SELECT value ->> 'job_number', value ->> 'attempt', value ->> 'tenant_id', value ->> 'worker_id',
                value ->> 'pid', value ->> 'outcome', COALESCE(value ->> 'started_at', ?2), ?2,
                value ->> 'exit_code', value ->> 'error_code', value ->> 'error_text',
                value ->> 'error_stack',
                value ->> 'stdout_tail', value ->> 'stderr_tail'
         FROM given",
        attempts,
        now
    )
    .execute(connection)
    .await?;
    Ok(())
}
