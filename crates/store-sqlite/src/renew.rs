//! Renewals: leases kept alive, progress recorded, cancellations told.

use crate::{
    SqliteStore,
    convert::{Table, text, to_json},
    error::{Outcome, outcome},
    outbox::{self, Attrs, Kin, NewEvent},
};
use async_trait::async_trait;
use leasehold_queue::{
    RenewLeases, StoreResult,
    params::{Lease, Measured, RenewAnswer, Renewal, Wake},
    progress::STAGES_KEPT,
};
use leasehold_types::{JobStatus, LiveKind, Timestamp, view::StageMark};
use serde::Serialize;
use sqlx::SqliteConnection;
use std::collections::{BTreeMap, HashSet};

const JOBS: Table = Table("jobs");

/// A running job as renewals see and change it; written back as it stands after the last of them.
#[derive(Serialize)]
struct Held {
    number: i64,
    #[serde(skip)]
    kin: Kin,
    #[serde(skip)]
    worker_id: String,
    #[serde(skip)]
    lease_id: String,
    #[serde(skip)]
    attempt: i64,
    #[serde(skip)]
    cancel_requested: bool,
    leased_until: Timestamp,
    progress: i64,
    stage: Option<String>,
    message: Option<String>,
    pid: Option<i64>,
    checkpoint: Option<String>,
    /// None while no stage was ever entered.
    stage_log: Option<Vec<StageMark>>,
}

impl Held {
    fn is_held_by(&self, lease: &Lease) -> bool {
        self.worker_id == lease.worker_id.0 && self.lease_id == lease.lease_id.to_string()
    }

    /// Takes a report over; true when it changes something. Progress never falls.
    fn report(&mut self, report: &Measured, at: Timestamp) -> bool {
        let before = (self.progress, self.stage.clone(), self.message.clone());
        self.progress =
            self.progress.max(report.percent.map_or(0, |percent| i64::from(percent.clamp(0, 100))));
        self.stage = report.stage.as_deref().map(text).or_else(|| self.stage.take());
        self.message = report.message.as_deref().map(text).or_else(|| self.message.take());
        if before.1 != self.stage {
            self.remember_stage(at);
        }
        (&before.0, &before.1, &before.2) != (&self.progress, &self.stage, &self.message)
    }

    fn remember_stage(&mut self, at: Timestamp) {
        let (Some(stage), Ok(attempt)) = (self.stage.clone(), i32::try_from(self.attempt)) else { return };
        let log = self.stage_log.get_or_insert_default();
        if log.len() < STAGES_KEPT {
            log.push(StageMark { attempt, stage, at });
        }
    }

    fn attrs(&self) -> Attrs {
        Attrs { stage: self.stage.clone(), message: self.message.clone(), ..Attrs::default() }
    }
}

/// A report that changed something: the job, its percentage, and what else to tell.
type Told = (i64, i64, Attrs, Timestamp);

/// The moment of a report that changes something.
fn apply(
    job: &mut Held,
    renewal: Renewal,
    store: &SqliteStore,
    now: Timestamp,
) -> Outcome<Option<Timestamp>> {
    let until = now.plus(renewal.extend_by.min(store.longest_lease));
    job.leased_until = job.leased_until.max(until);
    job.pid = renewal.pid.map(i64::from).or(job.pid);
    if let Some(checkpoint) = &renewal.checkpoint {
        job.checkpoint = Some(to_json(checkpoint)?);
    }
    let Some(report) = renewal.progress else { return Ok(None) };
    let at = report.at.map_or(now, |at| at.min(now));
    Ok(job.report(&report, at).then_some(at))
}

#[async_trait]
impl RenewLeases for SqliteStore {
    async fn renew(&self, renewals: Vec<Renewal>) -> StoreResult<Vec<RenewAnswer>> {
        outcome(async {
            if renewals.is_empty() {
                return Ok(Vec::new());
            }
            let mut tx = self.begin().await?;
            let now = self.clock.now();
            let mut held = running(&mut tx, &renewals).await?;
            let (mut answers, mut told, mut touched) =
                (Vec::with_capacity(renewals.len()), Vec::new(), HashSet::new());
            for renewal in renewals {
                let number = renewal.lease.number;
                let Some(job) = held.get_mut(&number).filter(|job| job.is_held_by(&renewal.lease)) else {
                    answers.push(RenewAnswer::Lost);
                    continue;
                };
                if let Some(at) = apply(job, renewal, self, now)? {
                    told.push((number, job.progress, job.attrs(), at));
                }
                touched.insert(number);
                answers.push(RenewAnswer::Held { cancel_requested: job.cancel_requested });
            }
            held.retain(|number, _| touched.contains(number));
            write_back(&mut tx, &held, now).await?;
            announce(&mut tx, &held, &told, now).await?;
            tx.commit().await?;
            if !told.is_empty() {
                self.bell.ring(Wake::Events);
            }
            Ok(answers)
        })
        .await
    }
}

async fn running(connection: &mut SqliteConnection, renewals: &[Renewal]) -> Outcome<BTreeMap<i64, Held>> {
    let numbers: HashSet<_> = renewals.iter().map(|renewal| renewal.lease.number).collect();
    let numbers = to_json(&numbers)?;
    let rows = sqlx::query!(
        r#"SELECT j.number AS "number!: i64", j.tenant_id AS "tenant_id!: String", j.domain AS "domain!: String",
                  j.queue AS "queue!: String", j.job_type AS "job_type!: String",
                  j.worker_id AS "worker_id!: String", j.lease_id AS "lease_id!: String",
                  j.leased_until AS "leased_until!: String", j.attempt_count AS "attempt_count!: i64",
                  j.cancel_requested_at IS NOT NULL AS "cancel_requested!: bool",
                  j.progress_percent AS "progress_percent!: i64", j.stage AS "stage?: String",
                  j.progress_message AS "progress_message?: String", j.stage_log AS "stage_log?: String"
           FROM json_each(?1) asked JOIN jobs j ON j.number = asked.value
           WHERE j.status = 'processing'"#,
        numbers
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            let held = Held {
                number: row.number,
                kin: Kin {
                    tenant_id: row.tenant_id,
                    domain: row.domain,
                    queue: row.queue,
                    job_type: row.job_type,
                },
                worker_id: row.worker_id,
                lease_id: row.lease_id,
                attempt: row.attempt_count,
                cancel_requested: row.cancel_requested,
                leased_until: JOBS.time("leased_until", &row.leased_until)?,
                progress: row.progress_percent,
                stage: row.stage,
                message: row.progress_message,
                pid: None,
                checkpoint: None,
                stage_log: JOBS.json_opt("stage_log", row.stage_log.as_deref())?,
            };
            Ok((row.number, held))
        })
        .collect()
}

async fn write_back(
    connection: &mut SqliteConnection,
    held: &BTreeMap<i64, Held>,
    now: Timestamp,
) -> Outcome<()> {
    if held.is_empty() {
        return Ok(());
    }
    let (rows, now) = (to_json(&held.values().collect::<Vec<_>>())?, now.to_string());
    sqlx::query!(
        "WITH given AS MATERIALIZED (SELECT key, jsonb(value) AS value FROM json_each(?1))
         UPDATE jobs
         SET leased_until = held.value ->> 'leased_until', progress_percent = held.value ->> 'progress',
             stage = held.value ->> 'stage', progress_message = held.value ->> 'message',
             running_pid = COALESCE(held.value ->> 'pid', running_pid),
             checkpoint = COALESCE(held.value ->> 'checkpoint', checkpoint),
             stage_log = held.value ->> 'stage_log', updated_at = ?2
         FROM given AS held
         WHERE jobs.number = held.value ->> 'number' AND jobs.status = 'processing'",
        rows,
        now
    )
    .execute(connection)
    .await?;
    Ok(())
}

async fn announce(
    connection: &mut SqliteConnection,
    held: &BTreeMap<i64, Held>,
    told: &[Told],
    now: Timestamp,
) -> Outcome<()> {
    let mut events = Vec::with_capacity(told.len());
    for (number, progress, attrs, at) in told {
        if let Some(job) = held.get(number) {
            let (kin, attempt) = (&job.kin, job.attempt);
            let event =
                NewEvent::new(LiveKind::Progress, JobStatus::Processing, kin, *number, attempt, *progress);
            events.push(event.with(attrs)?.at(*at));
        }
    }
    outbox::append(connection, &events, now).await
}
