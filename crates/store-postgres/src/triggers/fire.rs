//! Firing: rows, jobs and the triggers' next times due, in one transaction.
//!
//! A trigger's row is locked while it fires, so that its firings follow each other; the unique keys of
//! `trigger_firings` stand behind that.

use super::rows::{insert, recent, remember};
use crate::{
    PostgresStore,
    audit::{self, Act},
    convert::{moment, stamp},
    create::{ROUNDS, step_aside},
    error::database,
};
use leasehold_queue::{
    Scope, StoreResult,
    create::contended,
    params::NewJob,
    triggers::{DueTrigger, Firing, settle::Settling},
};
use leasehold_types::{FiringView, JobId, Problem, Timestamp, TriggerId};
use sqlx::PgConnection;
use std::collections::HashSet;
use time::OffsetDateTime;
use uuid::Uuid;

/// Rows forgotten by one call, of each table.
const FORGOTTEN_AT_ONCE: i64 = 5_000;

/// What is written and, after the commit, announced.
pub struct Settled {
    pub views: Vec<FiringView>,
    made: Vec<NewJob>,
}

impl PostgresStore {
    pub(super) async fn fire_schedules(
        &self,
        scope: &Scope,
        due: Vec<DueTrigger>,
    ) -> StoreResult<Vec<FiringView>> {
        for round in 0..ROUNDS {
            if let Some(views) = self.try_schedules(scope, &due).await? {
                return Ok(views);
            }
            step_aside(round).await;
        }
        Err(contended().into())
    }

    async fn try_schedules(&self, scope: &Scope, due: &[DueTrigger]) -> StoreResult<Option<Vec<FiringView>>> {
        let mut tx = self.work.begin().await.map_err(database)?;
        let ours = lock_due(&mut tx, due).await.map_err(database)?;
        let due: Vec<&DueTrigger> = due.iter().filter(|due| ours.contains(&due.id.0)).collect();
        if due.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let fired = fired_before(&mut tx, &due).await.map_err(database)?;
        let firings = due.iter().flat_map(|due| &due.firings);
        let firings = firings.filter(|f| f.due_at.is_none_or(|at| !fired.contains(&(f.trigger_id, at))));
        let firings = firings.cloned().collect();
        let Some(settled) = self.settle(&mut tx, scope, firings, None).await? else { return Ok(None) };
        move_on(&mut tx, &due).await.map_err(database)?;
        tx.commit().await.map_err(database)?;
        Ok(Some(self.announce_settled(settled)))
    }

    pub(super) async fn fire_by_hand(&self, scope: &Scope, firing: Firing) -> StoreResult<FiringView> {
        for round in 0..ROUNDS {
            let mut tx = self.work.begin().await.map_err(database)?;
            let settled = self.settle(&mut tx, scope, vec![firing.clone()], None).await?;
            let Some(settled) = settled else {
                step_aside(round).await;
                continue;
            };
            let act = Act {
                tenant: Some(firing.tenant_id.0),
                action: "trigger.run",
                object_type: "trigger",
                object_id: &firing.trigger_id.to_string(),
                reason: None,
            };
            audit::record(&mut tx, scope, self.now(), act).await?;
            tx.commit().await.map_err(database)?;
            let view = self.announce_settled(settled).into_iter().next();
            return view.ok_or_else(|| Problem::not_found("This firing").into());
        }
        Err(contended().into())
    }

    /// None: another call took a key, begin anew.
    pub(super) async fn settle(
        &self,
        connection: &mut PgConnection,
        scope: &Scope,
        firings: Vec<Firing>,
        event: Option<Uuid>,
    ) -> StoreResult<Option<Settled>> {
        let now = self.now();
        let recent = recent(connection, &firings, now).await.map_err(database)?;
        let settling = Settling::new(firings, &recent);
        let Some(answers) = self.add_within(connection, scope, settling.jobs()).await? else {
            return Ok(None);
        };
        let (rows, jobs) = settling.close(answers);
        insert(connection, &rows, event, now).await.map_err(database)?;
        remember(connection, &rows, now).await.map_err(database)?;
        let ids: HashSet<JobId> = rows.iter().filter_map(|row| row.job_id).collect();
        let made = jobs.into_iter().filter(|job| ids.contains(&job.id)).collect();
        Ok(Some(Settled { views: rows.iter().map(|row| row.view(stamp(now))).collect(), made }))
    }

    pub(super) fn announce_settled(&self, settled: Settled) -> Vec<FiringView> {
        self.announce(&settled.made.iter().collect::<Vec<_>>());
        settled.views
    }

    pub(super) async fn forget_firings(&self, before: Timestamp) -> StoreResult<u64> {
        let firings = sqlx::query!(
            "DELETE FROM trigger_firings WHERE id IN
               (SELECT id FROM trigger_firings WHERE fired_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)",
            moment(before),
            FORGOTTEN_AT_ONCE
        )
        .execute(&self.work)
        .await
        .map_err(database)?;
        let events = sqlx::query!(
            "DELETE FROM app_events WHERE id IN
               (SELECT id FROM app_events WHERE received_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)",
            moment(before),
            FORGOTTEN_AT_ONCE
        )
        .execute(&self.work)
        .await
        .map_err(database)?;
        Ok(firings.rows_affected() + events.rows_affected())
    }
}

/// Those that still are as they were when this was decided. One that somebody else fires or edits right now is left
/// to them: nobody waits here.
async fn lock_due(connection: &mut PgConnection, due: &[DueTrigger]) -> Result<HashSet<Uuid>, sqlx::Error> {
    let ids: Vec<Uuid> = due.iter().map(|due| due.id.0).collect();
    let revisions: Vec<i64> = due.iter().map(|due| due.revision).collect();
    let times: Vec<OffsetDateTime> = due.iter().map(|due| moment(due.was_due_at)).collect();
    let ours = sqlx::query_scalar!(
        "SELECT t.id FROM UNNEST($1::uuid[], $2::bigint[], $3::timestamptz[]) AS a(id, revision, due_at)
         JOIN job_triggers t ON t.id = a.id AND t.revision = a.revision AND t.next_due_at = a.due_at
         ORDER BY t.id FOR NO KEY UPDATE OF t SKIP LOCKED",
        &ids,
        &revisions,
        &times
    )
    .fetch_all(connection)
    .await?;
    Ok(ours.into_iter().collect())
}

async fn fired_before(
    connection: &mut PgConnection,
    due: &[&DueTrigger],
) -> Result<HashSet<(TriggerId, Timestamp)>, sqlx::Error> {
    let (ids, times): (Vec<Uuid>, Vec<OffsetDateTime>) = due
        .iter()
        .flat_map(|due| &due.firings)
        .filter_map(|firing| Some((firing.trigger_id.0, moment(firing.due_at?))))
        .unzip();
    let rows = sqlx::query!(
        r#"SELECT f.trigger_id, a.due_at AS "due_at!" FROM UNNEST($1::uuid[], $2::timestamptz[]) AS a(id, due_at)
           JOIN trigger_firings f ON f.trigger_id = a.id AND f.due_at = a.due_at"#,
        &ids,
        &times
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (TriggerId(row.trigger_id), stamp(row.due_at))).collect())
}

async fn move_on(connection: &mut PgConnection, due: &[&DueTrigger]) -> Result<(), sqlx::Error> {
    let ids: Vec<Uuid> = due.iter().map(|due| due.id.0).collect();
    let next: Vec<Option<OffsetDateTime>> = due.iter().map(|due| due.next_due_at.map(moment)).collect();
    sqlx::query!(
        "UPDATE job_triggers t SET next_due_at = a.next_due_at
         FROM UNNEST($1::uuid[], $2::timestamptz[]) AS a(id, next_due_at) WHERE t.id = a.id",
        &ids,
        &next as &[Option<OffsetDateTime>]
    )
    .execute(connection)
    .await
    .map(drop)
}
