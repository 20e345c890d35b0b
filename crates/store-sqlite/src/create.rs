//! Many jobs in one transaction.
//!
//! All items are decided first, in their order and seeing each other; then every table gets its rows in one
//! statement. The writer's lock is held from the first look-up on, so of a hundred calls with one key exactly
//! one finds it free.

mod gated;
mod measured;

use crate::{
    SqliteStore,
    audit::{Deed, audit},
    convert::to_json,
    counters::Moves,
    error::{Outcome, outcome},
    keys::{self, Found},
    outbox::{self, Kin, NewEvent},
};
use async_trait::async_trait;
use leasehold_queue::{
    CreateJobs, Scope, StoreResult,
    create::idempotency_conflict,
    gate::Turnstile,
    params::{CreateAnswer, Created, HowCreated, NewJob, Wake, held_out_of_sight},
};
use leasehold_types::{JobStatus, LiveKind, Problem, Timestamp};
use serde::Serialize;
use sqlx::SqliteConnection;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Rows and bytes that travel in one bind; a call larger than that takes several statements.
const CHUNK_ROWS: usize = 1_000;
const CHUNK_BYTES: usize = 8 << 20;

/// What becomes of one item.
enum Plan {
    Refused(Problem),
    Existing(Created),
    /// The n-th new job, made by this item or, for a replay inside the call, by an earlier one.
    New(usize, HowCreated),
}

/// Tells workers and readers of new jobs, after the commit.
pub(crate) fn announce(store: &SqliteStore, wake: Wake, answers: &[CreateAnswer]) {
    let new = |answer: &CreateAnswer| answer.as_ref().is_ok_and(|job| job.how == HowCreated::Inserted);
    if answers.iter().any(new) {
        store.bell.ring(wake);
        store.bell.ring(Wake::Events);
    }
}

#[async_trait]
impl CreateJobs for SqliteStore {
    async fn create_jobs(&self, scope: &Scope, jobs: Vec<NewJob>) -> StoreResult<Vec<CreateAnswer>> {
        outcome(async {
            if jobs.is_empty() {
                return Ok(Vec::new());
            }
            let mut tx = self.begin().await?;
            let answers = create_within(&mut tx, scope, &jobs, self.clock.now()).await?;
            tx.commit().await?;
            announce(self, Wake::made(&jobs), &answers);
            Ok(answers)
        })
        .await
    }
}

/// The same inside a transaction that has more to do.
pub(crate) async fn create_within(
    tx: &mut SqliteConnection,
    scope: &Scope,
    jobs: &[NewJob],
    now: Timestamp,
) -> Outcome<Vec<CreateAnswer>> {
    let mut found = keys::look_up(tx, jobs, now).await?;
    let tenants = existing_tenants(tx, jobs).await?;
    let mut turnstile = gated::turnstile(tx, jobs, now).await?;
    let mut new = Vec::new();
    let mut plans = Vec::with_capacity(jobs.len());
    for job in jobs {
        plans.push(if scope.reaches(job.tenant_id) && tenants.contains(&job.tenant_id.to_string()) {
            decide(scope, job, &mut found, &mut turnstile, &mut new)
        } else {
            Plan::Refused(Problem::not_found("This tenant"))
        });
    }
    let numbers = insert_all(tx, scope, &new, now).await?;
    gated::record_submits(tx, &new, now).await?;
    Ok(plans.into_iter().map(|plan| answer(plan, &new, &numbers, now)).collect())
}

/// Keys come before gates: a replay or a dedupe hit is no new job and passes none.
fn decide<'a>(
    scope: &Scope,
    job: &'a NewJob,
    found: &mut keys::Known<'a>,
    turnstile: &mut Turnstile,
    new: &mut Vec<&'a NewJob>,
) -> Plan {
    if let Some(idempotency) = &job.idempotency
        && let Some((hash, earlier)) = found.replay(job, &idempotency.key)
    {
        if *hash != idempotency.payload_hash {
            return Plan::Refused(idempotency_conflict());
        }
        return same_as(earlier, HowCreated::Replayed);
    }
    if let Some(active) = found.active(job) {
        if matches!(active, Found::Before(job) if !scope.sees_domain(&job.domain)) {
            return Plan::Refused(held_out_of_sight());
        }
        return same_as(active, HowCreated::Deduplicated);
    }
    if let Err(problem) = turnstile.admit(job) {
        return Plan::Refused(problem);
    }
    found.remember(job, new.len());
    new.push(job);
    Plan::New(new.len() - 1, HowCreated::Inserted)
}

fn same_as(found: &Found, how: HowCreated) -> Plan {
    match found {
        Found::Before(created) => Plan::Existing(Created { how, ..created.clone() }),
        Found::InThisCall(index) => Plan::New(*index, how),
    }
}

fn answer(plan: Plan, new: &[&NewJob], numbers: &[i64], now: Timestamp) -> CreateAnswer {
    match plan {
        Plan::Refused(problem) => Err(problem),
        Plan::Existing(created) => Ok(created),
        Plan::New(index, how) => {
            let (number, job) = (numbers[index], new[index]);
            Ok(Created {
                number,
                id: job.id,
                status: JobStatus::Queued,
                queued_at: now,
                how,
                domain: job.domain.clone(),
                definition_id: job.definition_id,
            })
        }
    }
}

/// Asked for beforehand: a violated foreign key would undo the whole call.
async fn existing_tenants(connection: &mut SqliteConnection, jobs: &[NewJob]) -> Outcome<HashSet<String>> {
    let asked: HashSet<_> = jobs.iter().map(|job| job.tenant_id).collect();
    let asked = to_json(&asked)?;
    let found = sqlx::query_scalar!(
        r#"SELECT t.id AS "id!: String" FROM json_each(?1) asked JOIN tenants t ON t.id = asked.value"#,
        asked
    )
    .fetch_all(connection)
    .await?;
    Ok(found.into_iter().collect())
}

/// Writes jobs whose keys are free, with all that belongs to them. Their numbers, in their order.
pub(crate) async fn insert_all(
    connection: &mut SqliteConnection,
    scope: &Scope,
    new: &[&NewJob],
    now: Timestamp,
) -> Outcome<Vec<i64>> {
    let numbers = insert_jobs(connection, new, now).await?;
    keys::insert(connection, new, &numbers, now).await?;
    let kins: Vec<Kin> = new.iter().map(|job| kin_of(job)).collect();
    let mut moves = Moves::default();
    let mut events = Vec::with_capacity(new.len());
    for (kin, number) in kins.iter().zip(&numbers) {
        moves.created(kin, JobStatus::Queued);
        events.push(NewEvent::new(LiveKind::Created, JobStatus::Queued, kin, *number, 0, 0));
    }
    outbox::append(connection, &events, now).await?;
    moves.record(connection, now).await?;
    audit(connection, scope, &deeds(new, &numbers), now).await?;
    Ok(numbers)
}

/// One for each tenant: a call with many jobs must not bury everything else.
fn deeds(new: &[&NewJob], numbers: &[i64]) -> Vec<Deed> {
    let mut of_tenant = BTreeMap::<_, Vec<i64>>::new();
    for (job, number) in new.iter().zip(numbers) {
        of_tenant.entry(job.tenant_id).or_default().push(*number);
    }
    let deed = |(tenant, mut numbers): (_, Vec<i64>)| {
        numbers.sort_unstable();
        match numbers.as_slice() {
            [first, .., last] => {
                let made = Deed::new(Some(tenant), "job.create", "jobs", format!("{first}–{last}"));
                made.because(Some(&format!("{} jobs in one call", numbers.len())))
            }
            one => Deed::new(Some(tenant), "job.create", "job", one.first().copied().unwrap_or_default()),
        }
    };
    of_tenant.into_iter().map(deed).collect()
}

fn kin_of(job: &NewJob) -> Kin {
    Kin {
        tenant_id: job.tenant_id.to_string(),
        domain: job.domain.clone(),
        queue: job.queue.clone(),
        job_type: job.job_type.clone(),
    }
}

#[derive(Serialize)]
struct JobInsert<'a> {
    id: String,
    tenant_id: String,
    domain: &'a str,
    queue: &'a str,
    job_type: &'a str,
    definition_id: Option<String>,
    owner_user_id: Option<&'a str>,
    project_id: Option<i64>,
    source: &'static str,
    source_ref: Option<&'a str>,
    priority: i32,
    payload: String,
    metadata: String,
    dedupe_key: Option<&'a str>,
    idempotency_key: Option<&'a str>,
    concurrency_key: Option<&'a str>,
    correlation_id: Option<&'a str>,
    request_id: Option<&'a str>,
    trace_id: &'a str,
    requested_by: &'a str,
    parent: Option<i64>,
    max_attempts: i32,
    available_at: Option<String>,
}

impl<'a> JobInsert<'a> {
    fn new(job: &'a NewJob) -> Outcome<Self> {
        Ok(Self {
            id: job.id.to_string(),
            tenant_id: job.tenant_id.to_string(),
            domain: &job.domain,
            queue: &job.queue,
            job_type: &job.job_type,
            definition_id: job.definition_id.map(|id| id.to_string()),
            owner_user_id: job.owner_user_id.as_deref(),
            project_id: job.project_id,
            source: job.source.as_str(),
            source_ref: job.source_ref.as_deref(),
            priority: job.priority,
            payload: to_json(&job.payload)?,
            metadata: to_json(&job.metadata)?,
            dedupe_key: job.dedupe_key.as_deref(),
            idempotency_key: job.idempotency.as_ref().map(|i| i.key.as_str()),
            concurrency_key: job.concurrency_key.as_deref(),
            correlation_id: job.correlation_id.as_deref(),
            request_id: job.request_id.as_deref(),
            trace_id: &job.trace_id,
            requested_by: &job.requested_by,
            parent: job.parent,
            max_attempts: job.max_attempts,
            available_at: job.available_at.map(|at| at.to_string()),
        })
    }
}

async fn insert_jobs(
    connection: &mut SqliteConnection,
    new: &[&NewJob],
    now: Timestamp,
) -> Outcome<Vec<i64>> {
    let now = now.to_string();
    let mut numbers = HashMap::with_capacity(new.len());
    let (mut chunk, mut bytes) = (Vec::new(), 0);
    for (index, job) in new.iter().enumerate() {
        let row = JobInsert::new(job)?;
        bytes += row.payload.len() + row.metadata.len();
        chunk.push(row);
        if chunk.len() == CHUNK_ROWS || bytes >= CHUNK_BYTES || index + 1 == new.len() {
            insert_chunk(connection, &chunk, &now, &mut numbers).await?;
            (chunk, bytes) = (Vec::new(), 0);
        }
    }
    // The order in which RETURNING hands out rows is not promised: match by id.
    let missing = || leasehold_queue::StoreError::corrupt("jobs", "id", "an inserted job did not come back");
    new.iter().map(|job| Ok(*numbers.get(&job.id.to_string()).ok_or_else(missing)?)).collect()
}

/// Numbers are handed out in the order of the rows.
async fn insert_chunk(
    connection: &mut SqliteConnection,
    rows: &[JobInsert<'_>],
    now: &str,
    numbers: &mut HashMap<String, i64>,
) -> Outcome<()> {
    let rows = to_json(rows)?;
    let inserted = sqlx::query!(
        r#"WITH given AS MATERIALIZED (SELECT key, jsonb(value) AS value FROM json_each(?1))
           INSERT INTO jobs (id, tenant_id, domain, queue, job_type, definition_id, owner_user_id, project_id, source,
                             source_ref, status, priority, payload, metadata, dedupe_key, idempotency_key,
                             concurrency_key, correlation_id, request_id, trace_id, requested_by, parent_job_id,
                             max_attempts, available_at, created_at, queued_at, updated_at)
           SELECT value ->> 'id', value ->> 'tenant_id', value ->> 'domain', value ->> 'queue',
                  value ->> 'job_type', value ->> 'definition_id', value ->> 'owner_user_id',
                  value ->> 'project_id', value ->> 'source', value ->> 'source_ref', 'queued',
                  value ->> 'priority', value ->> 'payload', value ->> 'metadata', value ->> 'dedupe_key',
                  value ->> 'idempotency_key', value ->> 'concurrency_key', value ->> 'correlation_id',
                  value ->> 'request_id', value ->> 'trace_id', value ->> 'requested_by', value ->> 'parent',
                  value ->> 'max_attempts', value ->> 'available_at', ?2, ?2, ?2
           FROM given ORDER BY key
           RETURNING number AS "number!: i64", id AS "id!: String""#,
        rows,
        now
    )
    .fetch_all(connection)
    .await?;
    numbers.extend(inserted.into_iter().map(|row| (row.id, row.number)));
    Ok(())
}
