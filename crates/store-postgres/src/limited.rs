//! Claiming where something is limited. One such claim at a time over all processes: what runs is counted and
//! added to under one lock, so two claims cannot both see the last free place.
//!
//! A tenant is claimed here as a whole as soon as one of its lanes is limited, because its claim order goes over
//! all its lanes.

use crate::{
    PostgresStore, admission,
    claim::ClaimedRecord,
    convert::{as_json, moment, slot, stamp},
    error::database,
    lanes::Lane,
};
use leasehold_queue::{
    StoreResult,
    admission::{self as rules, Batch, Candidate, Contender, Question},
    params::Selector,
    quota::Quota,
};
use leasehold_types::{TenantId, Timestamp, WorkerId};
use sqlx::PgConnection;
use std::collections::HashSet;
use uuid::Uuid;

/// Who claims, what, and for how long.
pub struct Errand<'a> {
    pub worker: &'a WorkerId,
    pub selector: &'a Selector,
    pub now: Timestamp,
    pub until: Timestamp,
}

/// The lanes of tenants with something limited, and the lanes of the others.
pub fn apart<'a>(lanes: &'a [Lane], selector: &Selector) -> (Vec<&'a Lane>, Vec<&'a Lane>) {
    let served = || lanes.iter().filter(|lane| lane.serves(selector));
    let all =
        selector.owner.is_some() || selector.project.is_some() || selector.quotas.limits(Quota::InFlight);
    let tenants: HashSet<Uuid> =
        served().filter(|lane| all || lane.limited).map(|lane| lane.tenant).collect();
    served().partition(|lane| tenants.contains(&lane.tenant))
}

/// How many of `n` jobs belong to the limited tenants when all tenants get the same; `turn` decides about a rest.
pub fn fair_part(n: usize, limited: &[&Lane], free: &[&Lane], turn: usize) -> usize {
    let tenants = |lanes: &[&Lane]| lanes.iter().map(|lane| lane.tenant).collect::<HashSet<_>>().len();
    let (limited, free) = (tenants(limited), tenants(free));
    let all = limited + free;
    if limited == 0 {
        return 0;
    }
    n / all * limited + (n % all * limited + turn % all) / all
}

impl PostgresStore {
    /// Takes up to `n` jobs from these lanes as far as limits allow.
    pub(crate) async fn take_limited(
        &self,
        errand: &Errand<'_>,
        lanes: &[&Lane],
        n: usize,
        turn: usize,
    ) -> StoreResult<Vec<ClaimedRecord>> {
        if n == 0 || lanes.is_empty() {
            return Ok(Vec::new());
        }
        let mut tx = self.work.begin().await.map_err(database)?;
        // A statement of its own: the next one must see what the last holder has committed.
        sqlx::query!("SELECT pg_advisory_xact_lock(hashtextextended('leasehold limited claims', 0))")
            .execute(&mut *tx)
            .await
            .map_err(database)?;
        if errand.selector.gate.is_shut() {
            return Ok(Vec::new());
        }
        let admission = admission::admission(&mut tx, &errand.selector.quotas).await?;
        let mut batch = Batch::new(admission, lanes.iter().map(|lane| known_as(lane)), n, turn);
        while let Some(question) = batch.ask() {
            batch.hear(candidates(&mut tx, errand, &question).await?);
        }
        let numbers = batch.numbers();
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let taken = self.take_numbers(&mut tx, errand, &numbers).await?;
        tx.commit().await.map_err(database)?;
        Ok(taken)
    }

    /// Takes these very jobs, in this order, with the same effects as [`PostgresStore::take`] has on the others.
    /// Those that somebody else changes at this moment are left out.
    async fn take_numbers(
        &self,
        connection: &mut PgConnection,
        errand: &Errand<'_>,
        numbers: &[i64],
    ) -> StoreResult<Vec<ClaimedRecord>> {
        sqlx::query_as!(
            ClaimedRecord,
            r#"WITH picked AS MATERIALIZED (
                 SELECT j.number, p.place
                 FROM UNNEST($1::bigint[]) WITH ORDINALITY AS p(number, place)
                 JOIN jobs j ON j.number = p.number
                 WHERE j.status = 'queued'
                 FOR UPDATE OF j SKIP LOCKED),
               taken AS (
                 UPDATE jobs j
                 SET status = 'processing', worker_id = $3, lease_id = gen_random_uuid(), leased_until = $4,
                     acquired_at = $2, started_at = COALESCE(j.started_at, $2), updated_at = $2,
                     attempt_count = j.attempt_count + 1, completion_token = NULL, running_pid = NULL,
                     stage = NULL, error_code = NULL, error_class = NULL, error_message = NULL, error_stack = NULL
                 FROM picked p WHERE j.number = p.number
                 RETURNING j.*, p.place),
               told AS (
                 INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt,
                        progress, attrs, created_at)
                 SELECT tenant_id, number, domain, queue, job_type, 'job.started', 'processing', attempt_count,
                        progress_percent, $5, $2
                 FROM taken WHERE $7),
               counted AS (
                 INSERT INTO job_counter_deltas (tenant_id, domain, queue, job_type, status, delta, slot)
                 SELECT t.tenant_id, t.domain, t.queue, t.job_type, m.status, m.sign * t.jobs, $6
                 FROM (SELECT tenant_id, domain, queue, job_type, count(*) AS jobs FROM taken
                       GROUP BY tenant_id, domain, queue, job_type) t
                 CROSS JOIN (VALUES ('queued', -1), ('processing', 1)) m(status, sign))
               SELECT t.number, t.id, t.tenant_id, n.slug AS tenant_slug, t.domain, t.queue, t.job_type,
                      t.priority, COALESCE(t.available_at, t.created_at) AS "due!", t.definition_id, t.payload, t.checkpoint, t.attempt_count, t.max_attempts,
                      t.progress_percent, t.lease_id AS "lease_id!", t.leased_until AS "leased_until!",
                      t.trace_id, t.request_id
               FROM taken t JOIN tenants n ON n.id = t.tenant_id
               ORDER BY t.place"#,
            numbers,
            moment(errand.now),
            errand.worker.0,
            moment(errand.until),
            serde_json::json!({ "worker": errand.worker.0 }),
            slot(errand.now),
            self.outbox
        )
        .fetch_all(connection)
        .await
        .map_err(database)
    }
}

fn known_as(lane: &Lane) -> rules::Lane {
    rules::Lane {
        tenant: TenantId(lane.tenant),
        domain: lane.domain.clone(),
        queue: lane.queue.clone(),
        job_type: lane.job_type.clone(),
        priority: lane.priority,
    }
}

/// The first jobs of each lane, without those that limits leave out.
async fn candidates(
    connection: &mut PgConnection,
    errand: &Errand<'_>,
    question: &Question,
) -> StoreResult<Vec<Candidate>> {
    let asks = &question.asks;
    let tenants: Vec<Uuid> = asks.iter().map(|ask| ask.lane.tenant.0).collect();
    let domains: Vec<String> = asks.iter().map(|ask| ask.lane.domain.clone()).collect();
    let queues: Vec<String> = asks.iter().map(|ask| ask.lane.queue.clone()).collect();
    let types: Vec<String> = asks.iter().map(|ask| ask.lane.job_type.clone()).collect();
    let priorities: Vec<i32> = asks.iter().map(|ask| ask.lane.priority).collect();
    let owners_only: Vec<bool> = asks.iter().map(|ask| ask.owners_only).collect();
    let full_keys = asks.iter().map(|ask| as_json(&ask.full_keys)).collect::<StoreResult<Vec<_>>>()?;
    let full_owners = asks.iter().map(|ask| as_json(&ask.full_owners)).collect::<StoreResult<Vec<_>>>()?;
    let rows = sqlx::query!(
        r#"SELECT l.tenant_id AS "tenant_id!", l.domain AS "domain!", l.job_type AS "job_type!",
                  l.priority AS "priority!", j.number, j.due AS "due!", j.owner_user_id, j.concurrency_key
           FROM UNNEST($1::uuid[], $2::text[], $3::text[], $4::text[], $5::int[], $6::bool[], $7::jsonb[],
                       $8::jsonb[])
                  AS l(tenant_id, domain, queue, job_type, priority, owners_only, full_keys, full_owners)
           CROSS JOIN LATERAL (
             SELECT q.number, COALESCE(q.available_at, q.created_at) AS due, q.owner_user_id, q.concurrency_key
             FROM jobs q
             WHERE q.status = 'queued' AND q.tenant_id = l.tenant_id AND q.domain = l.domain
               AND q.queue = l.queue AND q.job_type = l.job_type AND q.priority = l.priority
               AND COALESCE(q.available_at, q.created_at) <= $9
               AND (q.concurrency_key IS NULL OR NOT l.full_keys ? q.concurrency_key)
               AND (q.owner_user_id IS NULL OR NOT l.full_owners ? q.owner_user_id)
               AND (NOT l.owners_only OR q.owner_user_id ILIKE ANY($10::text[]))
               AND ($11::text IS NULL OR q.owner_user_id = $11)
               AND ($12::bigint IS NULL OR q.project_id = $12)
               AND NOT q.number = ANY($13::bigint[])
             ORDER BY COALESCE(q.available_at, q.created_at), q.number
             LIMIT $14) j"#,
        &tenants,
        &domains,
        &queues,
        &types,
        &priorities,
        &owners_only,
        &full_keys,
        &full_owners,
        moment(errand.now),
        &question.owner_patterns,
        errand.selector.owner,
        errand.selector.project,
        &question.except,
        question.each as i64
    )
    .fetch_all(connection)
    .await
    .map_err(database)?;
    let found = rows.into_iter().map(|row| {
        let job = Contender {
            tenant: TenantId(row.tenant_id),
            domain: row.domain,
            job_type: row.job_type,
            owner: row.owner_user_id,
            concurrency_key: row.concurrency_key,
        };
        Candidate { priority: row.priority, due: stamp(row.due), number: row.number, job }
    });
    Ok(found.collect())
}
