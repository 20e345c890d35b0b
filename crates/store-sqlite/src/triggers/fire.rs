//! Firing: rows, jobs and the triggers' next times due, in one transaction under the writer's lock.

use super::rows;
use crate::{
    SqliteStore,
    audit::{Deed, audit},
    convert::to_json,
    create,
    error::Outcome,
};
use leasehold_queue::{
    Scope,
    params::{CreateAnswer, Wake},
    triggers::{DueTrigger, Firing, settle::Settling},
};
use leasehold_types::{FiringView, Problem, Timestamp};
use serde::Serialize;
use sqlx::SqliteConnection;
use std::collections::HashSet;

/// Rows forgotten by one call, of each table.
const FORGOTTEN_AT_ONCE: i64 = 5_000;

#[derive(Serialize)]
struct DueRow {
    id: String,
    revision: i64,
    was_due_at: String,
    next_due_at: Option<String>,
}

impl From<&DueTrigger> for DueRow {
    fn from(due: &DueTrigger) -> Self {
        Self {
            id: due.id.to_string(),
            revision: due.revision,
            was_due_at: due.was_due_at.to_string(),
            next_due_at: due.next_due_at.map(|at| at.to_string()),
        }
    }
}

pub(super) async fn due(
    store: &SqliteStore,
    scope: &Scope,
    due: Vec<DueTrigger>,
) -> Outcome<Vec<FiringView>> {
    let mut tx = store.begin().await?;
    let ours = move_on(&mut tx, &due).await?;
    let firings: Vec<Firing> = due
        .into_iter()
        .filter(|due| ours.contains(&due.id.to_string()))
        .flat_map(|due| due.firings)
        .collect();
    let fired = fired_before(&mut tx, &firings).await?;
    let is_new = |firing: &Firing| firing.due_at.is_none_or(|at| !fired.contains(&key(firing, at)));
    let firings = firings.into_iter().filter(is_new).collect();
    let (views, answers) = settle(&mut tx, scope, firings, None, store.clock.now()).await?;
    tx.commit().await?;
    create::announce(store, Wake::Jobs, &answers);
    Ok(views)
}

pub(super) async fn by_hand(store: &SqliteStore, scope: &Scope, firing: Firing) -> Outcome<FiringView> {
    let now = store.clock.now();
    let deed = Deed::new(Some(firing.tenant_id), "trigger.run", "trigger", firing.trigger_id);
    let mut tx = store.begin().await?;
    let (views, answers) = settle(&mut tx, scope, vec![firing], None, now).await?;
    audit(&mut tx, scope, &[deed], now).await?;
    tx.commit().await?;
    create::announce(store, Wake::Jobs, &answers);
    views.into_iter().next().ok_or_else(|| Problem::not_found("This firing").into())
}

/// Everything about firings but the commit.
pub(super) async fn settle(
    connection: &mut SqliteConnection,
    scope: &Scope,
    firings: Vec<Firing>,
    event: Option<&str>,
    now: Timestamp,
) -> Outcome<(Vec<FiringView>, Vec<CreateAnswer>)> {
    let recent = rows::recent(connection, &firings, now).await?;
    let settling = Settling::new(firings, &recent);
    let answers = create::create_within(connection, scope, settling.jobs(), now).await?;
    let (written, _) = settling.close(answers.clone());
    rows::insert(connection, &written, event, now).await?;
    rows::remember(connection, &written, now).await?;
    Ok((written.iter().map(|row| row.view(now)).collect(), answers))
}

/// Those that still were as they were when this was decided; they are due later now.
async fn move_on(connection: &mut SqliteConnection, due: &[DueTrigger]) -> Outcome<HashSet<String>> {
    let rows = to_json(&due.iter().map(DueRow::from).collect::<Vec<_>>())?;
    let ours = sqlx::query_scalar!(
        r#"UPDATE job_triggers SET next_due_at = given.value ->> 'next_due_at'
           FROM json_each(?1) given
           WHERE job_triggers.id = given.value ->> 'id' AND job_triggers.revision = given.value ->> 'revision'
             AND job_triggers.next_due_at = given.value ->> 'was_due_at'
           RETURNING job_triggers.id AS "id!: String""#,
        rows
    )
    .fetch_all(connection)
    .await?;
    Ok(ours.into_iter().collect())
}

fn key(firing: &Firing, at: Timestamp) -> (String, String) {
    (firing.trigger_id.to_string(), at.to_string())
}

async fn fired_before(
    connection: &mut SqliteConnection,
    firings: &[Firing],
) -> Outcome<HashSet<(String, String)>> {
    let asked: Vec<_> = firings.iter().filter_map(|firing| Some(key(firing, firing.due_at?))).collect();
    let asked = to_json(&asked)?;
    let found = sqlx::query!(
        r#"SELECT f.trigger_id AS "trigger_id!: String", f.due_at AS "due_at!: String"
           FROM json_each(?1) asked
           JOIN trigger_firings f ON f.trigger_id = asked.value ->> 0 AND f.due_at = asked.value ->> 1"#,
        asked
    )
    .fetch_all(connection)
    .await?;
    Ok(found.into_iter().map(|row| (row.trigger_id, row.due_at)).collect())
}

pub(super) async fn forget(store: &SqliteStore, before: Timestamp) -> Outcome<u64> {
    let before = before.to_string();
    let mut tx = store.begin().await?;
    let firings = sqlx::query!(
        "DELETE FROM trigger_firings WHERE id IN (SELECT id FROM trigger_firings WHERE fired_at < ?1 LIMIT ?2)",
        before,
        FORGOTTEN_AT_ONCE
    )
    .execute(&mut *tx)
    .await?;
    let events = sqlx::query!(
        "DELETE FROM app_events WHERE id IN (SELECT id FROM app_events WHERE received_at < ?1 LIMIT ?2)",
        before,
        FORGOTTEN_AT_ONCE
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(firings.rows_affected() + events.rows_affected())
}
