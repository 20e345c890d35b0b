//! Picking where something is limited. It happens under the writer's lock, so what is counted stays true until the
//! jobs are taken.

use crate::{convert::to_json, error::Outcome, lanes::Lane, read::JOBS};
use leasehold_queue::{
    admission::{self, Ask, Batch, Candidate, Contender, Question},
    params::Selector,
    quota::Quota,
};
use sqlx::SqliteConnection;

/// Whether a claim must look at limits, or at the jobs themselves, to know what it may take.
pub(crate) fn concerns<'a>(selector: &Selector, mut lanes: impl Iterator<Item = &'a Lane>) -> bool {
    selector.owner.is_some()
        || selector.project.is_some()
        || selector.quotas.limits(Quota::InFlight)
        || lanes.any(|lane| lane.limited)
}

/// The numbers to claim, in claim order, as far as limits allow.
pub(crate) async fn pick<'a>(
    connection: &mut SqliteConnection,
    selector: &Selector,
    lanes: impl Iterator<Item = &'a Lane>,
    n: usize,
    turn: usize,
    now: &str,
) -> Outcome<Vec<i64>> {
    let lanes = lanes.map(known_as).collect::<Outcome<Vec<_>>>()?;
    let admission = crate::admission::admission(connection, &selector.quotas).await?;
    let mut batch = Batch::new(admission, lanes, n, turn);
    while let Some(question) = batch.ask() {
        batch.hear(candidates(connection, selector, &question, now).await?);
    }
    Ok(batch.numbers())
}

fn known_as(lane: &Lane) -> Outcome<admission::Lane> {
    Ok(admission::Lane {
        tenant: JOBS.parse("tenant_id", &lane.tenant_id)?,
        domain: lane.domain.clone(),
        queue: lane.queue.clone(),
        job_type: lane.job_type.clone(),
        priority: JOBS.int("priority", lane.priority)?,
    })
}

/// The first jobs of each tenant. Its lanes come by priority; those behind enough jobs are not read.
async fn candidates(
    connection: &mut SqliteConnection,
    selector: &Selector,
    question: &Question,
    now: &str,
) -> Outcome<Vec<Candidate>> {
    let mut all = Vec::new();
    for of_tenant in question.asks.chunk_by(|a, b| a.lane.tenant == b.lane.tenant) {
        let before = all.len();
        for level in of_tenant.chunk_by(|a, b| a.lane.priority == b.lane.priority) {
            if all.len() - before >= question.each {
                break;
            }
            for ask in level {
                all.extend(first_of_lane(connection, selector, question, ask, now).await?);
            }
        }
    }
    Ok(all)
}

/// The first jobs of a lane, without those that limits leave out.
async fn first_of_lane(
    connection: &mut SqliteConnection,
    selector: &Selector,
    question: &Question,
    Ask { lane, owners_only, full_keys, full_owners }: &Ask,
    now: &str,
) -> Outcome<Vec<Candidate>> {
    let tenant = lane.tenant.to_string();
    let (full_keys, full_owners) = (to_json(full_keys)?, to_json(full_owners)?);
    let (patterns, except) = (to_json(&question.owner_patterns)?, to_json(&question.except)?);
    let each = i64::try_from(question.each).unwrap_or(i64::MAX);
    let rows = sqlx::query!(
        r#"SELECT number AS "number!: i64", COALESCE(available_at, created_at) AS "due_since!: String",
                  owner_user_id, concurrency_key
           FROM jobs
           WHERE status = 'queued' AND tenant_id = ?1 AND domain = ?2 AND queue = ?3 AND job_type = ?4
             AND priority = ?5 AND COALESCE(available_at, created_at) <= ?6
             AND (concurrency_key IS NULL OR concurrency_key NOT IN (SELECT value FROM json_each(?7)))
             AND (owner_user_id IS NULL OR owner_user_id NOT IN (SELECT value FROM json_each(?8)))
             AND (NOT ?9 OR EXISTS (SELECT 1 FROM json_each(?10) p WHERE owner_user_id LIKE p.value))
             AND (?11 IS NULL OR owner_user_id = ?11)
             AND (?12 IS NULL OR project_id = ?12)
             AND number NOT IN (SELECT value FROM json_each(?13))
           ORDER BY COALESCE(available_at, created_at), number LIMIT ?14"#,
        tenant,
        lane.domain,
        lane.queue,
        lane.job_type,
        lane.priority,
        now,
        full_keys,
        full_owners,
        owners_only,
        patterns,
        selector.owner,
        selector.project,
        except,
        each
    )
    .fetch_all(connection)
    .await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let job = Contender {
            tenant: lane.tenant,
            domain: lane.domain.clone(),
            job_type: lane.job_type.clone(),
            owner: row.owner_user_id,
            concurrency_key: row.concurrency_key,
        };
        let due = JOBS.time("available_at", &row.due_since)?;
        found.push(Candidate { priority: lane.priority, due, number: row.number, job });
    }
    Ok(found)
}
