//! Idempotency and dedupe keys of a call to create: what holds them before it, and what it adds.

use crate::{
    convert::{Table, to_json},
    error::Outcome,
};
use leasehold_queue::params::{Created, HowCreated, NewJob};
use leasehold_types::Timestamp;
use serde::Serialize;
use sqlx::SqliteConnection;
use std::collections::HashMap;

const JOBS: Table = Table("jobs");

/// The job that holds a key.
pub(crate) enum Found {
    Before(Created),
    /// The n-th new job of the same call.
    InThisCall(usize),
}

/// Tenant, domain, queue, job type, key.
type IdempotencyScope = (String, String, String, String, String);
/// Tenant, key.
type DedupeScope = (String, String);

#[derive(Default)]
pub(crate) struct Known<'a> {
    idempotency: HashMap<IdempotencyScope, (std::borrow::Cow<'a, str>, Found)>,
    dedupe: HashMap<DedupeScope, Found>,
}

fn idempotency_scope(job: &NewJob, key: &str) -> IdempotencyScope {
    let tenant = job.tenant_id.to_string();
    (tenant, job.domain.clone(), job.queue.clone(), job.job_type.clone(), key.to_owned())
}

fn dedupe_scope(job: &NewJob) -> Option<DedupeScope> {
    Some((job.tenant_id.to_string(), job.dedupe_key.clone()?))
}

impl<'a> Known<'a> {
    /// The job that used this idempotency key, and the hash of its payload.
    pub fn replay(&self, job: &NewJob, key: &str) -> Option<(&str, &Found)> {
        self.idempotency.get(&idempotency_scope(job, key)).map(|(hash, found)| (hash.as_ref(), found))
    }

    /// The active job with the same dedupe key.
    pub fn active(&self, job: &NewJob) -> Option<&Found> {
        self.dedupe.get(&dedupe_scope(job)?)
    }

    /// From now on this new job holds its keys.
    pub fn remember(&mut self, job: &'a NewJob, index: usize) {
        if let Some(idempotency) = &job.idempotency {
            let hash = idempotency.payload_hash.as_str().into();
            self.idempotency
                .insert(idempotency_scope(job, &idempotency.key), (hash, Found::InThisCall(index)));
        }
        if let Some(scope) = dedupe_scope(job) {
            self.dedupe.insert(scope, Found::InThisCall(index));
        }
    }
}

#[derive(Serialize)]
struct Asked<'a> {
    tenant_id: String,
    domain: &'a str,
    queue: &'a str,
    job_type: &'a str,
    key: &'a str,
}

fn created(
    number: i64,
    [id, status, queued_at]: [&str; 3],
    domain: String,
    definition_id: Option<&str>,
) -> Outcome<Created> {
    Ok(Created {
        domain,
        definition_id: JOBS.parse_opt("definition_id", definition_id)?,
        number,
        id: JOBS.parse("id", id)?,
        status: JOBS.parse("status", status)?,
        queued_at: JOBS.time("queued_at", queued_at)?,
        how: HowCreated::Inserted,
    })
}

/// Who holds the keys these jobs name. Costs nothing for jobs without keys.
pub(crate) async fn look_up<'a>(
    connection: &mut SqliteConnection,
    jobs: &'a [NewJob],
    now: Timestamp,
) -> Outcome<Known<'a>> {
    let mut known = Known::default();
    look_up_idempotency(connection, jobs, now, &mut known).await?;
    look_up_dedupe(connection, jobs, &mut known).await?;
    Ok(known)
}

async fn look_up_idempotency(
    connection: &mut SqliteConnection,
    jobs: &[NewJob],
    now: Timestamp,
    known: &mut Known<'_>,
) -> Outcome<()> {
    let asked: Vec<_> =
        jobs.iter().filter_map(|job| job.idempotency.as_ref().map(|i| asked(job, &i.key))).collect();
    if asked.is_empty() {
        return Ok(());
    }
    let (asked, now) = (to_json(&asked)?, now.to_string());
    let rows = sqlx::query!(
        r#"SELECT i.tenant_id AS "tenant_id!: String", i.domain AS "domain!: String", i.queue AS "queue!: String",
                  i.job_type AS "job_type!: String", i.key AS "key!: String",
                  i.payload_hash AS "payload_hash!: String", j.number AS "number!: i64", j.id AS "id!: String",
                  j.status AS "status!: String", j.queued_at AS "queued_at!: String",
                  j.definition_id AS "definition_id: String"
           FROM json_each(?1) asked
           JOIN job_idempotency i
             ON i.tenant_id = asked.value ->> 'tenant_id' AND i.domain = asked.value ->> 'domain'
            AND i.queue = asked.value ->> 'queue' AND i.job_type = asked.value ->> 'job_type'
            AND i.key = asked.value ->> 'key'
           JOIN jobs j ON j.number = i.job_number
           WHERE i.expires_at IS NULL OR i.expires_at > ?2"#,
        asked,
        now
    )
    .fetch_all(connection)
    .await?;
    for row in rows {
        let texts = [row.id.as_str(), &row.status, &row.queued_at];
        let created = created(row.number, texts, row.domain.clone(), row.definition_id.as_deref())?;
        let found = Found::Before(created);
        let scope = (row.tenant_id, row.domain, row.queue, row.job_type, row.key);
        known.idempotency.insert(scope, (row.payload_hash.into(), found));
    }
    Ok(())
}

async fn look_up_dedupe(
    connection: &mut SqliteConnection,
    jobs: &[NewJob],
    known: &mut Known<'_>,
) -> Outcome<()> {
    let asked: Vec<_> =
        jobs.iter().filter_map(|job| job.dedupe_key.as_ref().map(|key| asked(job, key))).collect();
    if asked.is_empty() {
        return Ok(());
    }
    let asked = to_json(&asked)?;
    let rows = sqlx::query!(
        r#"SELECT j.tenant_id AS "tenant_id!: String", j.dedupe_key AS "dedupe_key!: String",
                  j.number AS "number!: i64", j.id AS "id!: String", j.status AS "status!: String",
                  j.queued_at AS "queued_at!: String", j.domain AS "domain!: String",
                  j.definition_id AS "definition_id: String"
           FROM json_each(?1) asked
           JOIN jobs j ON j.tenant_id = asked.value ->> 'tenant_id' AND j.dedupe_key = asked.value ->> 'key'
            AND j.dedupe_key IS NOT NULL AND j.status IN ('queued', 'processing')"#,
        asked
    )
    .fetch_all(connection)
    .await?;
    for row in rows {
        let texts = [row.id.as_str(), &row.status, &row.queued_at];
        let found = Found::Before(created(row.number, texts, row.domain, row.definition_id.as_deref())?);
        known.dedupe.insert((row.tenant_id, row.dedupe_key), found);
    }
    Ok(())
}

fn asked<'a>(job: &'a NewJob, key: &'a str) -> Asked<'a> {
    let tenant_id = job.tenant_id.to_string();
    Asked { tenant_id, domain: &job.domain, queue: &job.queue, job_type: &job.job_type, key }
}

#[derive(Serialize)]
struct KeyInsert<'a> {
    #[serde(flatten)]
    key: Asked<'a>,
    payload_hash: &'a str,
    job_number: i64,
    expires_at: Option<String>,
}

/// Remembers the idempotency keys of new jobs; one that has expired is replaced.
pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    new: &[&NewJob],
    numbers: &[i64],
    now: Timestamp,
) -> Outcome<()> {
    let keyed = new.iter().zip(numbers).filter_map(|(job, number)| {
        let idempotency = job.idempotency.as_ref()?;
        Some(KeyInsert {
            key: asked(job, &idempotency.key),
            payload_hash: &idempotency.payload_hash,
            job_number: *number,
            expires_at: idempotency.expires_at.map(|at| at.to_string()),
        })
    });
    let keyed: Vec<_> = keyed.collect();
    if keyed.is_empty() {
        return Ok(());
    }
    let (keyed, now) = (to_json(&keyed)?, now.to_string());
    sqlx::query!(
        "WITH given AS MATERIALIZED (SELECT key, jsonb(value) AS value FROM json_each(?1))
         INSERT INTO job_idempotency (tenant_id, domain, queue, job_type, key, payload_hash, job_number, created_at,
                                      expires_at)
         SELECT value ->> 'tenant_id', value ->> 'domain', value ->> 'queue', value ->> 'job_type',
                value ->> 'key', value ->> 'payload_hash', value ->> 'job_number', ?2, value ->> 'expires_at'
         FROM given WHERE TRUE
         ON CONFLICT (tenant_id, domain, queue, job_type, key) DO UPDATE
         SET payload_hash = excluded.payload_hash, job_number = excluded.job_number,
             created_at = excluded.created_at, expires_at = excluded.expires_at",
        keyed,
        now
    )
    .execute(connection)
    .await?;
    Ok(())
}
