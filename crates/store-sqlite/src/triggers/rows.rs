//! The statements that write firings, and what the triggers' own rows learn from them.

use crate::{
    convert::{Table, to_json},
    error::Outcome,
};
use leasehold_queue::triggers::{
    Firing, Verdict,
    settle::{FiringRow, Recent, learnt},
};
use leasehold_types::Timestamp;
use serde::Serialize;
use sqlx::SqliteConnection;
use uuid::Uuid;

const FIRINGS: Table = Table("trigger_firings");

/// What the same triggers made of the same payloads within their windows.
pub(super) async fn recent(
    connection: &mut SqliteConnection,
    firings: &[Firing],
    now: Timestamp,
) -> Outcome<Recent> {
    let asked: Vec<_> = firings
        .iter()
        .filter_map(|firing| match &firing.verdict {
            Verdict::Enqueue { window: Some(window), .. } => {
                let since = now.plus_secs(-i64::from(window.seconds)).to_string();
                Some((firing.trigger_id.to_string(), &window.payload_hash, since))
            }
            _ => None,
        })
        .collect();
    if asked.is_empty() {
        return Ok(Recent::new());
    }
    let asked = to_json(&asked)?;
    let found = sqlx::query!(
        r#"SELECT f.trigger_id AS "trigger_id!: String", f.payload_hash AS "payload_hash!: String",
                  f.job_number AS "job_number: i64", f.job_id AS "job_id: String"
           FROM json_each(?1) asked
           JOIN trigger_firings f ON f.trigger_id = asked.value ->> 0 AND f.payload_hash = asked.value ->> 1
            AND f.fired_at > asked.value ->> 2
           WHERE f.outcome = 'enqueued' AND f.payload_hash IS NOT NULL
           ORDER BY f.fired_at"#,
        asked
    )
    .fetch_all(connection)
    .await?;
    let mut recent = Recent::new();
    for row in found {
        let job = (row.job_number, FIRINGS.parse_opt("job_id", row.job_id.as_deref())?);
        recent.insert((FIRINGS.parse("trigger_id", &row.trigger_id)?, row.payload_hash), job);
    }
    Ok(recent)
}

#[derive(Serialize)]
struct FiringInsert<'a> {
    id: String,
    trigger_id: String,
    tenant_id: String,
    due_at: Option<String>,
    outcome: &'static str,
    code: Option<&'a str>,
    detail: Option<&'a str>,
    payload_hash: Option<&'a str>,
    job_number: Option<i64>,
    job_id: Option<String>,
}

impl<'a> From<&'a FiringRow> for FiringInsert<'a> {
    fn from(row: &'a FiringRow) -> Self {
        Self {
            id: Uuid::now_v7().to_string(),
            trigger_id: row.trigger_id.to_string(),
            tenant_id: row.tenant_id.to_string(),
            due_at: row.due_at.map(|at| at.to_string()),
            outcome: row.outcome.as_str(),
            code: row.code.as_deref(),
            detail: row.detail.as_deref(),
            payload_hash: row.payload_hash.as_deref(),
            job_number: row.job_number,
            job_id: row.job_id.map(|id| id.to_string()),
        }
    }
}

pub(super) async fn insert(
    connection: &mut SqliteConnection,
    rows: &[FiringRow],
    event: Option<&str>,
    now: Timestamp,
) -> Outcome<()> {
    let rows = to_json(&rows.iter().map(FiringInsert::from).collect::<Vec<_>>())?;
    let now = now.to_string();
    sqlx::query!(
        "WITH given AS MATERIALIZED (SELECT key, jsonb(value) AS value FROM json_each(?1))
         INSERT INTO trigger_firings (id, trigger_id, tenant_id, due_at, outcome, code, detail, payload_hash, job_number,
                                      job_id, app_event, fired_at)
         SELECT value ->> 'id', value ->> 'trigger_id', value ->> 'tenant_id', value ->> 'due_at', value ->> 'outcome',
                value ->> 'code', value ->> 'detail', value ->> 'payload_hash', value ->> 'job_number',
                value ->> 'job_id', ?2, ?3
         FROM given ORDER BY key",
        rows,
        event,
        now
    )
    .execute(connection)
    .await?;
    Ok(())
}

#[derive(Serialize)]
struct LearntRow {
    id: String,
    fired: bool,
    fired_for: Option<String>,
    error: Option<String>,
}

pub(super) async fn remember(
    connection: &mut SqliteConnection,
    rows: &[FiringRow],
    now: Timestamp,
) -> Outcome<()> {
    let learnt = learnt(rows).into_iter().filter(|(_, learnt)| learnt.fired || learnt.error.is_some());
    let learnt = learnt.map(|(id, learnt)| LearntRow {
        id: id.to_string(),
        fired: learnt.fired,
        fired_for: learnt.fired_for.map(|at| at.to_string()),
        error: learnt.error,
    });
    let learnt = to_json(&learnt.collect::<Vec<_>>())?;
    let now = now.to_string();
    sqlx::query!(
        "UPDATE job_triggers
         SET last_fired_for = COALESCE(given.value ->> 'fired_for', last_fired_for),
             last_fired_at = CASE WHEN given.value ->> 'fired' THEN ?2 ELSE last_fired_at END,
             last_error = given.value ->> 'error'
         FROM json_each(?1) given WHERE job_triggers.id = given.value ->> 'id'",
        learnt,
        now
    )
    .execute(connection)
    .await?;
    Ok(())
}
