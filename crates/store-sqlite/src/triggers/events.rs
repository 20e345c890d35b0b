//! Events of the tenants' applications, kept together with what they set off.

use super::{fire, read::FiringRecord};
use crate::{
    SqliteStore,
    audit::{Deed, audit},
    convert::{Table, to_json},
    create,
    error::Outcome,
};
use leasehold_queue::{
    Scope,
    params::Wake,
    triggers::{Firing, NewAppEvent, Received, event_id_used},
};
use leasehold_types::{AppEvent, FiringView, Problem, TenantId, Timestamp, TriggerId};
use sqlx::SqliteConnection;

const EVENTS: Table = Table("app_events");

pub(super) async fn receive(
    store: &SqliteStore,
    scope: &Scope,
    event: NewAppEvent,
    seen: &[(TriggerId, i64)],
    firings: Vec<Firing>,
) -> Outcome<Received> {
    if !scope.reaches(event.tenant_id) {
        return Err(Problem::not_found("This tenant").into());
    }
    let now = store.clock.now();
    let mut tx = store.begin().await?;
    if let Some(earlier) = before(&mut tx, event.tenant_id, &event.event_id, &event.payload_hash).await? {
        return Ok(earlier);
    }
    if listening(&mut tx, &event).await? != seen {
        return Ok(Received::Overtaken);
    }
    keep(&mut tx, &event, now).await?;
    let id = event.id.to_string();
    let (views, answers) = fire::settle(&mut tx, scope, firings, Some(&id), now).await?;
    let deed = Deed::new(Some(event.tenant_id), "event.receive", "app_event", &event.event_id);
    audit(&mut tx, scope, &[deed], now).await?;
    tx.commit().await?;
    create::announce(store, Wake::Jobs, &answers);
    let NewAppEvent { id, tenant_id, event_id, name, .. } = event;
    Ok(Received::Kept(AppEvent { id, tenant_id, event_id, name, received_at: now }, views))
}

async fn keep(connection: &mut SqliteConnection, event: &NewAppEvent, now: Timestamp) -> Outcome<()> {
    let (id, tenant, now) = (event.id.to_string(), event.tenant_id.to_string(), now.to_string());
    let payload = to_json(&event.payload)?;
    sqlx::query!(
        "INSERT INTO app_events (id, tenant_id, event_id, name, payload, payload_hash, received_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        id,
        tenant,
        event.event_id,
        event.name,
        payload,
        event.payload_hash,
        now
    )
    .execute(connection)
    .await?;
    Ok(())
}

async fn listening(connection: &mut SqliteConnection, event: &NewAppEvent) -> Outcome<Vec<(TriggerId, i64)>> {
    let tenant = event.tenant_id.to_string();
    let rows = sqlx::query!(
        r#"SELECT id AS "id!: String", revision AS "revision!: i64" FROM job_triggers
           WHERE tenant_id = ?1 AND event_name = ?2 AND trigger_type = 'event' AND deleted_at IS NULL
           ORDER BY id"#,
        tenant,
        event.name
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(|row| Ok((Table("job_triggers").parse("id", &row.id)?, row.revision))).collect()
}

pub(super) async fn before(
    connection: &mut SqliteConnection,
    tenant: TenantId,
    event_id: &str,
    payload_hash: &str,
) -> Outcome<Option<Received>> {
    let owner = tenant.to_string();
    let found = sqlx::query!(
        r#"SELECT id AS "id!: String", name, payload_hash, received_at FROM app_events
           WHERE tenant_id = ?1 AND event_id = ?2"#,
        owner,
        event_id
    )
    .fetch_optional(&mut *connection)
    .await?;
    let Some(found) = found else { return Ok(None) };
    if found.payload_hash != payload_hash {
        return Err(event_id_used().into());
    }
    let event = AppEvent {
        id: EVENTS.parse("id", &found.id)?,
        tenant_id: tenant,
        event_id: event_id.to_owned(),
        name: found.name,
        received_at: EVENTS.time("received_at", &found.received_at)?,
    };
    Ok(Some(Received::Replayed(event, firings_on(connection, &found.id).await?)))
}

async fn firings_on(connection: &mut SqliteConnection, event: &str) -> Outcome<Vec<FiringView>> {
    sqlx::query_as!(
        FiringRecord,
        r#"SELECT f.trigger_id, t.label, f.due_at, f.outcome, f.code, f.detail, f.job_number, f.job_id, f.fired_at
           FROM trigger_firings f JOIN job_triggers t ON t.id = f.trigger_id
           WHERE f.app_event = ?1 ORDER BY f.trigger_id"#,
        event
    )
    .fetch_all(connection)
    .await?
    .into_iter()
    .map(TryInto::try_into)
    .collect()
}
