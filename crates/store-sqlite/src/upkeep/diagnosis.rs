//! What stands in a job's way, read from one snapshot.

use crate::{
    SqliteStore, admission,
    convert::Table,
    error::Outcome,
    lanes::{self, Lane},
    pick,
    read::{self, JOBS},
    workers,
};
use leasehold_queue::{
    Scope,
    admission::Contender,
    diagnosis::{key_is_full, limits_reached},
    quota::Quotas,
    silence::SILENT_AFTER,
    units::{
        assign::Wish,
        reach::{Offer, offer_of, out_of_reach},
    },
};
use leasehold_types::{
    JobRef, JobStatus, Timestamp,
    unit::UnitKind,
    view::{DiagnosisFacts, FailureMark},
};
use serde_json::Value;
use sqlx::SqliteConnection;
use std::sync::Arc;

const WORKERS: Table = Table("job_workers");
const UNITS: Table = Table("work_units");
const PROVIDERS: Table = Table("providers");
/// Jobs that stand before it are counted one by one up to here.
const AHEAD_CAP: i64 = 1_000;

struct Subject {
    number: i64,
    tenant_id: String,
    domain: String,
    queue: String,
    job_type: String,
    status: String,
    priority: i64,
    error_code: Option<String>,
    error_message: Option<String>,
    failure_timeline: String,
    available_at: Option<String>,
    due_since: String,
    owner_user_id: Option<String>,
    concurrency_key: Option<String>,
}

impl Subject {
    fn contender(&self) -> Outcome<Contender> {
        Ok(Contender {
            tenant: JOBS.parse("tenant_id", &self.tenant_id)?,
            domain: self.domain.clone(),
            job_type: self.job_type.clone(),
            owner: self.owner_user_id.clone(),
            concurrency_key: self.concurrency_key.clone(),
        })
    }
}

pub(super) async fn facts(
    store: &SqliteStore,
    scope: &Scope,
    job: JobRef,
    quotas: &Arc<Quotas>,
) -> Outcome<Option<DiagnosisFacts>> {
    let mut snapshot = store.read.begin().await?;
    let now = store.clock.now();
    let Some(number) = read::locate(&mut snapshot, scope, job).await? else { return Ok(None) };
    let subject = subject(&mut snapshot, number).await?;
    let status: JobStatus = JOBS.parse("status", &subject.status)?;
    let (queue_paused, queue_draining) = queue_doors(&mut snapshot, &subject).await?;
    let inactive = pick::inactive_kinds(&mut snapshot).await?;
    let is_inactive =
        |domain: &str, job_type: &str| inactive.contains(&(domain.to_owned(), job_type.to_owned()));
    let (mut ahead, mut reached) = (0, Vec::new());
    if status == JobStatus::Queued {
        let mut lanes = lanes::all(&mut snapshot, Some(&subject.tenant_id)).await?;
        lanes.retain(|lane| !is_inactive(&lane.domain, &lane.job_type));
        ahead = ahead_of(&mut snapshot, &subject, &lanes, now).await?;
        reached = admission::admission(&mut snapshot, quotas).await?.reached(&subject.contender()?);
    }
    let able = able_workers(&mut snapshot, &subject, now).await?;
    let providers_missing = if status == JobStatus::Queued {
        let (wishes, known) = (wishes(&mut snapshot, number).await?, providers(&mut snapshot).await?);
        out_of_reach(&wishes, &known, &able)
    } else {
        Vec::new()
    };
    let same_key = same_key(&mut snapshot, &subject).await?;
    Ok(Some(DiagnosisFacts {
        number,
        status,
        now,
        available_at: JOBS.time_opt("available_at", subject.available_at.as_deref())?,
        last_failure: JOBS.json::<Vec<FailureMark>>("failure_timeline", &subject.failure_timeline)?.pop(),
        providers_missing,
        queue_paused,
        queue_draining,
        definition_inactive: is_inactive(&subject.domain, &subject.job_type),
        capable_workers: able.len() as i64,
        limits_reached: limits_reached(&reached),
        concurrency_holder: same_key.filter(|_| key_is_full(&reached)),
        ahead: ahead.min(AHEAD_CAP),
        ahead_capped: ahead > AHEAD_CAP,
        silent: None,
        domain: subject.domain,
        queue: subject.queue,
        job_type: subject.job_type,
        error_code: subject.error_code,
        error_message: subject.error_message,
    }))
}

async fn subject(connection: &mut SqliteConnection, number: i64) -> Outcome<Subject> {
    let subject = sqlx::query_as!(
        Subject,
        r#"SELECT number AS "number!: i64", tenant_id, domain, queue, job_type, status, priority, error_code,
                  error_message, failure_timeline, available_at, COALESCE(available_at, created_at) AS "due_since!: String", owner_user_id,
                  concurrency_key
           FROM jobs WHERE number = ?1"#,
        number
    )
    .fetch_one(connection)
    .await?;
    Ok(subject)
}

/// Paused, draining.
async fn queue_doors(connection: &mut SqliteConnection, subject: &Subject) -> Outcome<(bool, bool)> {
    let row = sqlx::query!(
        r#"SELECT paused AS "paused: bool", draining AS "draining: bool"
           FROM job_queue_controls WHERE domain = ?1 AND queue = ?2"#,
        subject.domain,
        subject.queue
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map_or((false, false), |row| (row.paused, row.draining)))
}

/// Live workers that serve its queue and can run its type, each with the providers it knows.
async fn able_workers(
    connection: &mut SqliteConnection,
    subject: &Subject,
    now: Timestamp,
) -> Outcome<Vec<Offer>> {
    let since = now.minus(SILENT_AFTER).to_string();
    let rows =
        sqlx::query!("SELECT queues, commands, metadata FROM job_workers WHERE last_seen_at >= ?1", since)
            .fetch_all(connection)
            .await?;
    let mut able = Vec::new();
    for row in rows {
        let queues: Vec<String> = WORKERS.json("queues", &row.queues)?;
        let commands: Vec<String> = WORKERS.json("commands", &row.commands)?;
        let can_run = commands.iter().any(|command| *command == subject.job_type || command == "*");
        if can_run && workers::serves(&queues, &subject.domain, &subject.queue) {
            let metadata: Value = WORKERS.json("metadata", &row.metadata)?;
            able.push(offer_of(&metadata));
        }
    }
    Ok(able)
}

/// What its calls that have not ended ask for.
async fn wishes(connection: &mut SqliteConnection, number: i64) -> Outcome<Vec<Wish>> {
    let rows = sqlx::query!(
        "SELECT DISTINCT kind, wanted FROM work_units WHERE job_number = ?1 AND state IN ('queued', 'running')",
        number
    )
    .fetch_all(connection)
    .await?;
    let wish = |kind: &str, provider: String| Ok(Wish { kind: UNITS.parse("kind", kind)?, provider });
    rows.into_iter().map(|row| wish(&row.kind, row.wanted)).collect()
}

async fn providers(connection: &mut SqliteConnection) -> Outcome<Vec<(String, UnitKind)>> {
    let rows = sqlx::query!("SELECT name, kind FROM providers").fetch_all(connection).await?;
    rows.into_iter().map(|row| Ok((row.name, PROVIDERS.parse("kind", &row.kind)?))).collect()
}

/// A running job with the same key, whether or not that matters.
async fn same_key(connection: &mut SqliteConnection, subject: &Subject) -> Outcome<Option<i64>> {
    let holder = sqlx::query_scalar!(
        r#"SELECT number AS "number!: i64" FROM jobs
           WHERE tenant_id = ?1 AND domain = ?2 AND job_type = ?3 AND concurrency_key = ?4
             AND concurrency_key IS NOT NULL AND status IN ('queued', 'processing')
             AND status = 'processing' AND number <> ?5
           ORDER BY number LIMIT 1"#,
        subject.tenant_id,
        subject.domain,
        subject.job_type,
        subject.concurrency_key,
        subject.number
    )
    .fetch_optional(connection)
    .await?;
    Ok(holder)
}

/// Ready jobs of the same tenant and queue that are claimed before it: lane by lane, up to just above the cap.
async fn ahead_of(
    connection: &mut SqliteConnection,
    subject: &Subject,
    lanes: &[Lane],
    now: Timestamp,
) -> Outcome<i64> {
    let now = now.to_string();
    let same_queue = lanes.iter().filter(|lane| lane.domain == subject.domain && lane.queue == subject.queue);
    let mut ahead = 0;
    for lane in same_queue.filter(|lane| lane.priority <= subject.priority) {
        let room = AHEAD_CAP + 1 - ahead;
        if room == 0 {
            break;
        }
        // In a more urgent lane everything that is ready comes first.
        let (due, number) = if lane.priority < subject.priority {
            (now.as_str(), i64::MAX)
        } else {
            (subject.due_since.as_str(), subject.number)
        };
        // The bound by time alone is what the index can use; the row comparison decides among equals.
        let until = due.min(now.as_str());
        ahead += sqlx::query_scalar!(
            r#"SELECT COUNT(*) AS "jobs!: i64" FROM (
                 SELECT 1 FROM jobs
                 WHERE status = 'queued' AND tenant_id = ?1 AND domain = ?2 AND queue = ?3 AND job_type = ?4
                   AND priority = ?5 AND COALESCE(available_at, created_at) <= ?6
                   AND (COALESCE(available_at, created_at), number) < (?7, ?8)
                 LIMIT ?9)"#,
            lane.tenant_id,
            lane.domain,
            lane.queue,
            lane.job_type,
            lane.priority,
            until,
            due,
            number,
            room
        )
        .fetch_one(&mut *connection)
        .await?;
    }
    Ok(ahead)
}
