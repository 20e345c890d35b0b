//! The statements that write firings, and what the triggers' own rows learn from them.

use crate::convert::moment;
use leasehold_queue::triggers::{
    Firing, Verdict,
    settle::{FiringRow, Recent, learnt},
};
use leasehold_types::{JobId, TriggerId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

/// What the same triggers made of the same payloads within their windows.
pub async fn recent(
    connection: &mut PgConnection,
    firings: &[Firing],
    now: OffsetDateTime,
) -> Result<Recent, sqlx::Error> {
    let (mut ids, mut hashes, mut since) = (Vec::new(), Vec::new(), Vec::new());
    for firing in firings {
        if let Verdict::Enqueue { window: Some(window), .. } = &firing.verdict {
            ids.push(firing.trigger_id.0);
            hashes.push(window.payload_hash.clone());
            since.push(now - time::Duration::seconds(window.seconds.into()));
        }
    }
    if ids.is_empty() {
        return Ok(Recent::new());
    }
    let rows = sqlx::query!(
        r#"SELECT f.trigger_id, f.payload_hash AS "payload_hash!", f.job_number, f.job_id
           FROM UNNEST($1::uuid[], $2::text[], $3::timestamptz[]) AS a(id, hash, since)
           JOIN trigger_firings f ON f.trigger_id = a.id AND f.payload_hash = a.hash AND f.fired_at > a.since
           WHERE f.outcome = 'enqueued' AND f.payload_hash IS NOT NULL
           ORDER BY f.fired_at"#,
        &ids,
        &hashes,
        &since
    )
    .fetch_all(connection)
    .await?;
    let entry = |r: (Uuid, String, Option<i64>, Option<Uuid>)| ((TriggerId(r.0), r.1), (r.2, r.3.map(JobId)));
    Ok(rows.into_iter().map(|r| entry((r.trigger_id, r.payload_hash, r.job_number, r.job_id))).collect())
}

pub async fn insert(
    connection: &mut PgConnection,
    rows: &[FiringRow],
    event: Option<Uuid>,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let ids: Vec<Uuid> = rows.iter().map(|_| Uuid::now_v7()).collect();
    let triggers: Vec<Uuid> = rows.iter().map(|row| row.trigger_id.0).collect();
    let tenants: Vec<Uuid> = rows.iter().map(|row| row.tenant_id.0).collect();
    let times: Vec<Option<OffsetDateTime>> = rows.iter().map(|row| row.due_at.map(moment)).collect();
    let outcomes: Vec<String> = rows.iter().map(|row| row.outcome.as_str().to_owned()).collect();
    let codes: Vec<Option<String>> = rows.iter().map(|row| row.code.clone()).collect();
    let details: Vec<Option<String>> = rows.iter().map(|row| row.detail.clone()).collect();
    let hashes: Vec<Option<String>> = rows.iter().map(|row| row.payload_hash.clone()).collect();
    let numbers: Vec<Option<i64>> = rows.iter().map(|row| row.job_number).collect();
    let jobs: Vec<Option<Uuid>> = rows.iter().map(|row| row.job_id.map(|id| id.0)).collect();
    sqlx::query!(
        "INSERT INTO trigger_firings (id, trigger_id, tenant_id, due_at, outcome, code, detail, payload_hash, job_number,
                job_id, app_event, fired_at)
         SELECT a.*, $11, $12
         FROM UNNEST($1::uuid[], $2::uuid[], $3::uuid[], $4::timestamptz[], $5::text[], $6::text[], $7::text[],
                     $8::text[], $9::bigint[], $10::uuid[]) AS a",
        &ids,
        &triggers,
        &tenants,
        &times as &[Option<OffsetDateTime>],
        &outcomes,
        &codes as &[Option<String>],
        &details as &[Option<String>],
        &hashes as &[Option<String>],
        &numbers as &[Option<i64>],
        &jobs as &[Option<Uuid>],
        event,
        now
    )
    .execute(connection)
    .await
    .map(drop)
}

pub async fn remember(
    connection: &mut PgConnection,
    rows: &[FiringRow],
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let learnt: Vec<_> =
        learnt(rows).into_iter().filter(|(_, learnt)| learnt.fired || learnt.error.is_some()).collect();
    let ids: Vec<Uuid> = learnt.iter().map(|(id, _)| id.0).collect();
    let fired: Vec<bool> = learnt.iter().map(|(_, learnt)| learnt.fired).collect();
    let times: Vec<Option<OffsetDateTime>> =
        learnt.iter().map(|(_, learnt)| learnt.fired_for.map(moment)).collect();
    let errors: Vec<Option<String>> = learnt.into_iter().map(|(_, learnt)| learnt.error).collect();
    sqlx::query!(
        "UPDATE job_triggers t
         SET last_fired_for = COALESCE(a.fired_for, t.last_fired_for),
             last_fired_at = CASE WHEN a.fired THEN $5 ELSE t.last_fired_at END, last_error = a.error
         FROM UNNEST($1::uuid[], $2::bool[], $3::timestamptz[], $4::text[]) AS a(id, fired, fired_for, error)
         WHERE t.id = a.id",
        &ids,
        &fired,
        &times as &[Option<OffsetDateTime>],
        &errors as &[Option<String>],
        now
    )
    .execute(connection)
    .await
    .map(drop)
}
