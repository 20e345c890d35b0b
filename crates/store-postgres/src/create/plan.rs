//! What becomes of each item: replayed, deduplicated, refused or inserted.

use crate::{
    convert::{stamp, word},
    error::database,
};
use leasehold_queue::{
    Scope, StoreResult,
    create::idempotency_conflict,
    gate::Turnstile,
    params::{Created, HowCreated, Idempotency, NewJob, held_out_of_sight},
};
use leasehold_types::{DefinitionId, JobId, Problem};
use sqlx::{PgConnection, PgExecutor, PgPool};
use std::collections::HashMap;
use time::OffsetDateTime;
use uuid::Uuid;

/// `(tenant, domain, queue, job_type, key)`
type IdempotencyScope = (Uuid, String, String, String, String);

/// Keys that are taken by committed jobs.
#[derive(Default)]
pub struct Known {
    idempotency: HashMap<IdempotencyScope, (String, Created)>,
    dedupe: HashMap<(Uuid, String), Created>,
}

#[derive(Clone, Debug)]
pub enum Decision {
    Insert,
    Existing(Created),
    /// An earlier item of the same call.
    SameAs(usize, HowCreated),
    Refused(Problem),
}

/// Keys come before gates: a replay or a dedupe hit is no new job and passes none.
pub fn decide(scope: &Scope, jobs: &[NewJob], known: &Known, turnstile: &mut Turnstile) -> Vec<Decision> {
    let mut earlier = Earlier::default();
    jobs.iter()
        .enumerate()
        .map(|(index, job)| {
            if !scope.reaches(job.tenant_id) {
                return Decision::Refused(Problem::not_found("This tenant"));
            }
            let decision = replay(job, known, &earlier)
                .or_else(|| deduplicate(scope, job, known, &earlier))
                .unwrap_or_else(|| {
                    turnstile.admit(job).map_or_else(Decision::Refused, |()| Decision::Insert)
                });
            if matches!(decision, Decision::Insert) {
                earlier.remember(index, job);
            }
            decision
        })
        .collect()
}

/// The items to insert, in the order they were asked for.
pub fn chosen<'a>(jobs: &'a [NewJob], decisions: &[Decision]) -> Vec<&'a NewJob> {
    jobs.iter().zip(decisions).filter(|(_, d)| matches!(d, Decision::Insert)).map(|(job, _)| job).collect()
}

/// Keys of items of this call that will be inserted.
#[derive(Default)]
struct Earlier {
    idempotency: HashMap<IdempotencyScope, (String, usize)>,
    dedupe: HashMap<(Uuid, String), usize>,
}

impl Earlier {
    fn remember(&mut self, index: usize, job: &NewJob) {
        if let Some(idempotency) = &job.idempotency {
            let hash = idempotency.payload_hash.clone();
            self.idempotency.insert(idempotency_scope(job, idempotency), (hash, index));
        }
        if let Some(key) = &job.dedupe_key {
            self.dedupe.insert((job.tenant_id.0, key.clone()), index);
        }
    }
}

fn replay(job: &NewJob, known: &Known, earlier: &Earlier) -> Option<Decision> {
    let idempotency = job.idempotency.as_ref()?;
    let key = idempotency_scope(job, idempotency);
    let (hash, decision) = match (known.idempotency.get(&key), earlier.idempotency.get(&key)) {
        (Some((hash, created)), _) => (hash, Decision::Existing(created.clone())),
        (None, Some((hash, index))) => (hash, Decision::SameAs(*index, HowCreated::Replayed)),
        (None, None) => return None,
    };
    Some(if *hash == idempotency.payload_hash { decision } else { Decision::Refused(idempotency_conflict()) })
}

fn deduplicate(scope: &Scope, job: &NewJob, known: &Known, earlier: &Earlier) -> Option<Decision> {
    let key = (job.tenant_id.0, job.dedupe_key.clone()?);
    if let Some(created) = known.dedupe.get(&key) {
        if !scope.sees_domain(&created.domain) {
            return Some(Decision::Refused(held_out_of_sight()));
        }
        return Some(Decision::Existing(created.clone()));
    }
    earlier.dedupe.get(&key).map(|index| Decision::SameAs(*index, HowCreated::Deduplicated))
}

fn idempotency_scope(job: &NewJob, idempotency: &Idempotency) -> IdempotencyScope {
    (job.tenant_id.0, job.domain.clone(), job.queue.clone(), job.job_type.clone(), idempotency.key.clone())
}

/// Which of the keys are taken. An expired idempotency key is not.
pub async fn look_up(pool: &PgPool, jobs: &[NewJob], now: OffsetDateTime) -> StoreResult<Known> {
    Ok(Known { idempotency: used_keys(pool, jobs, now).await?, dedupe: active_keys(pool, jobs).await? })
}

/// The same inside a transaction.
pub async fn look_up_within(
    connection: &mut PgConnection,
    jobs: &[NewJob],
    now: OffsetDateTime,
) -> StoreResult<Known> {
    let idempotency = used_keys(&mut *connection, jobs, now).await?;
    Ok(Known { idempotency, dedupe: active_keys(connection, jobs).await? })
}

async fn used_keys(
    executor: impl PgExecutor<'_>,
    jobs: &[NewJob],
    now: OffsetDateTime,
) -> StoreResult<HashMap<IdempotencyScope, (String, Created)>> {
    let asked: Vec<(&NewJob, &Idempotency)> =
        jobs.iter().filter_map(|j| Some((j, j.idempotency.as_ref()?))).collect();
    if asked.is_empty() {
        return Ok(HashMap::new());
    }
    let tenants: Vec<Uuid> = asked.iter().map(|(j, _)| j.tenant_id.0).collect();
    let domains: Vec<String> = asked.iter().map(|(j, _)| j.domain.clone()).collect();
    let queues: Vec<String> = asked.iter().map(|(j, _)| j.queue.clone()).collect();
    let types: Vec<String> = asked.iter().map(|(j, _)| j.job_type.clone()).collect();
    let keys: Vec<String> = asked.iter().map(|(_, i)| i.key.clone()).collect();
    let rows = sqlx::query!(
        r#"SELECT i.tenant_id, i.domain, i.queue, i.job_type, i.key, i.payload_hash,
                  j.number, j.id, j.status, j.queued_at, j.definition_id
           FROM UNNEST($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[])
                  AS a(tenant_id, domain, queue, job_type, key)
           JOIN job_idempotency i USING (tenant_id, domain, queue, job_type, key)
           JOIN jobs j ON j.number = i.job_number
           WHERE i.expires_at IS NULL OR i.expires_at > $6"#,
        &tenants,
        &domains,
        &queues,
        &types,
        &keys,
        now
    )
    .fetch_all(executor)
    .await
    .map_err(database)?;
    rows.into_iter()
        .map(|r| {
            let job = Created {
                domain: r.domain.clone(),
                definition_id: r.definition_id.map(DefinitionId),
                ..created(r.number, r.id, &r.status, r.queued_at, HowCreated::Replayed)?
            };
            Ok(((r.tenant_id, r.domain, r.queue, r.job_type, r.key), (r.payload_hash, job)))
        })
        .collect()
}

async fn active_keys(
    executor: impl PgExecutor<'_>,
    jobs: &[NewJob],
) -> StoreResult<HashMap<(Uuid, String), Created>> {
    let (tenants, keys): (Vec<Uuid>, Vec<String>) =
        jobs.iter().filter_map(|j| Some((j.tenant_id.0, j.dedupe_key.clone()?))).unzip();
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = sqlx::query!(
        r#"SELECT j.tenant_id, a.dedupe_key AS "dedupe_key!", j.number, j.id, j.status, j.queued_at,
                  j.domain, j.definition_id
           FROM UNNEST($1::uuid[], $2::text[]) AS a(tenant_id, dedupe_key)
           JOIN jobs j ON j.tenant_id = a.tenant_id AND j.dedupe_key = a.dedupe_key
                      AND j.status IN ('queued', 'processing')"#,
        &tenants,
        &keys
    )
    .fetch_all(executor)
    .await
    .map_err(database)?;
    rows.into_iter()
        .map(|r| {
            let job = Created {
                domain: r.domain,
                definition_id: r.definition_id.map(DefinitionId),
                ..created(r.number, r.id, &r.status, r.queued_at, HowCreated::Deduplicated)?
            };
            Ok(((r.tenant_id, r.dedupe_key), job))
        })
        .collect()
}

fn created(
    number: i64,
    id: Uuid,
    status: &str,
    queued_at: OffsetDateTime,
    how: HowCreated,
) -> StoreResult<Created> {
    Ok(Created {
        number,
        id: JobId(id),
        status: word("jobs", "status", status)?,
        queued_at: stamp(queued_at),
        how,
        domain: String::new(),
        definition_id: None,
    })
}
