//! Events of the tenants' applications, kept together with what they set off.

use super::read::FiringRecord;
use crate::{
    PostgresStore,
    audit::{self, Act},
    convert::stamp,
    create::{ROUNDS, step_aside},
    error::database,
};
use leasehold_queue::{
    Scope, StoreResult,
    create::contended,
    triggers::{Firing, NewAppEvent, Received, event_id_used},
};
use leasehold_types::{AppEvent, FiringView, Problem, TenantId, TriggerId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

impl PostgresStore {
    pub(super) async fn take_event(
        &self,
        scope: &Scope,
        event: NewAppEvent,
        seen: &[(TriggerId, i64)],
        firings: Vec<Firing>,
    ) -> StoreResult<Received> {
        if !scope.reaches(event.tenant_id) {
            return Err(Problem::not_found("This tenant").into());
        }
        for round in 0..ROUNDS {
            if let Some(received) = self.try_event(scope, &event, seen, &firings).await? {
                return Ok(received);
            }
            step_aside(round).await;
        }
        Err(contended().into())
    }

    async fn try_event(
        &self,
        scope: &Scope,
        event: &NewAppEvent,
        seen: &[(TriggerId, i64)],
        firings: &[Firing],
    ) -> StoreResult<Option<Received>> {
        let now = self.now();
        let mut tx = self.work.begin().await.map_err(database)?;
        // Waits for another call with the same event to end.
        if !keep(&mut tx, event, now).await.map_err(database)? {
            tx.rollback().await.map_err(database)?;
            return self.event_before(event.tenant_id, &event.event_id, &event.payload_hash).await;
        }
        if listening(&mut tx, event).await.map_err(database)? != seen {
            return Ok(Some(Received::Overtaken));
        }
        let settled = self.settle(&mut tx, scope, firings.to_vec(), Some(event.id)).await?;
        let Some(settled) = settled else { return Ok(None) };
        let act = Act {
            tenant: Some(event.tenant_id.0),
            action: "event.receive",
            object_type: "app_event",
            object_id: &event.event_id,
            reason: None,
        };
        audit::record(&mut tx, scope, now, act).await?;
        tx.commit().await.map_err(database)?;
        let kept = AppEvent {
            id: event.id,
            tenant_id: event.tenant_id,
            event_id: event.event_id.clone(),
            name: event.name.clone(),
            received_at: stamp(now),
        };
        Ok(Some(Received::Kept(kept, self.announce_settled(settled))))
    }

    pub(super) async fn event_before(
        &self,
        tenant: TenantId,
        event_id: &str,
        payload_hash: &str,
    ) -> StoreResult<Option<Received>> {
        let found = sqlx::query!(
            "SELECT id, name, payload_hash, received_at FROM app_events WHERE tenant_id = $1 AND event_id = $2",
            tenant.0,
            event_id
        )
        .fetch_optional(&self.work)
        .await
        .map_err(database)?;
        let Some(found) = found else { return Ok(None) };
        if found.payload_hash != payload_hash {
            return Err(event_id_used().into());
        }
        let event = AppEvent {
            id: found.id,
            tenant_id: tenant,
            event_id: event_id.to_owned(),
            name: found.name,
            received_at: stamp(found.received_at),
        };
        Ok(Some(Received::Replayed(event, self.firings_on(found.id).await?)))
    }

    async fn firings_on(&self, event: Uuid) -> StoreResult<Vec<FiringView>> {
        sqlx::query_as!(
            FiringRecord,
            r#"SELECT f.trigger_id, t.label, f.due_at, f.outcome, f.code, f.detail, f.job_number, f.job_id, f.fired_at
               FROM trigger_firings f JOIN job_triggers t ON t.id = f.trigger_id
               WHERE f.app_event = $1 ORDER BY f.trigger_id"#,
            event
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?
        .into_iter()
        .map(TryInto::try_into)
        .collect()
    }
}

async fn keep(
    connection: &mut PgConnection,
    event: &NewAppEvent,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let kept = sqlx::query!(
        "INSERT INTO app_events (id, tenant_id, event_id, name, payload, payload_hash, received_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (tenant_id, event_id) DO NOTHING",
        event.id,
        event.tenant_id.0,
        event.event_id,
        event.name,
        event.payload,
        event.payload_hash,
        now
    )
    .execute(connection)
    .await?;
    Ok(kept.rows_affected() == 1)
}

/// Held until the commit: no edit comes between, and firings of one trigger follow each other, so that its window is
/// exact.
async fn listening(
    connection: &mut PgConnection,
    event: &NewAppEvent,
) -> Result<Vec<(TriggerId, i64)>, sqlx::Error> {
    let rows = sqlx::query!(
        "SELECT id, revision FROM job_triggers
         WHERE tenant_id = $1 AND event_name = $2 AND trigger_type = 'event' AND deleted_at IS NULL
         ORDER BY id FOR NO KEY UPDATE",
        event.tenant_id.0,
        event.name
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (TriggerId(row.id), row.revision)).collect())
}
