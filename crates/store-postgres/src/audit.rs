//! Who did what. Only people and keys are audited; what Leasehold does by itself is in the events.

use crate::error::database;
use leasehold_queue::{Scope, StoreResult};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

/// The actor's name when the act belongs into the audit log.
pub fn audited(scope: &Scope) -> Option<String> {
    scope.actor.leaves_a_trail().then(|| scope.actor.to_string())
}

pub struct Act<'a> {
    pub tenant: Option<Uuid>,
    pub action: &'a str,
    pub object_type: &'a str,
    pub object_id: &'a str,
    pub reason: Option<&'a str>,
}

/// Writes the act inside the transaction that does it.
pub async fn record(
    connection: &mut PgConnection,
    scope: &Scope,
    now: OffsetDateTime,
    act: Act<'_>,
) -> StoreResult<()> {
    let Some(actor) = audited(scope) else { return Ok(()) };
    sqlx::query!(
        "INSERT INTO audit_log (tenant_id, actor, action, object_type, object_id, reason, created_at, origin)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        act.tenant,
        actor,
        act.action,
        act.object_type,
        act.object_id,
        act.reason,
        now,
        scope.origin
    )
    .execute(connection)
    .await
    .map(drop)
    .map_err(database)
}
