//! The trail: who did what, and why. Only people and keys leave one; what Leasehold does by itself is in the
//! events.

use crate::{convert::to_json, error::Outcome};
use leasehold_queue::Scope;
use leasehold_types::{TenantId, Timestamp};
use serde::Serialize;
use sqlx::SqliteConnection;

/// What was done to which object.
#[derive(Serialize)]
pub(crate) struct Deed {
    tenant_id: Option<String>,
    action: &'static str,
    object_type: &'static str,
    object_id: String,
    reason: Option<String>,
}

impl Deed {
    pub fn new(
        tenant: Option<TenantId>,
        action: &'static str,
        object_type: &'static str,
        object_id: impl ToString,
    ) -> Self {
        let (tenant_id, object_id) = (tenant.map(|id| id.to_string()), object_id.to_string());
        Self { tenant_id, action, object_type, object_id, reason: None }
    }

    pub fn because(self, reason: Option<&str>) -> Self {
        Self { reason: reason.map(str::to_owned), ..self }
    }
}

/// Writes the deeds, if the actor is one whose deeds are kept.
pub(crate) async fn audit(
    connection: &mut SqliteConnection,
    scope: &Scope,
    deeds: &[Deed],
    now: Timestamp,
) -> Outcome<()> {
    if deeds.is_empty() || !scope.actor.leaves_a_trail() {
        return Ok(());
    }
    let (actor, now, deeds) = (scope.actor.to_string(), now.to_string(), to_json(deeds)?);
    sqlx::query!(
        "INSERT INTO audit_log (tenant_id, actor, action, object_type, object_id, reason, created_at, origin)
         SELECT value ->> 'tenant_id', ?2, value ->> 'action', value ->> 'object_type', value ->> 'object_id',
                value ->> 'reason', ?3, ?4
         FROM json_each(?1) ORDER BY key",
        deeds,
        actor,
        now,
        scope.origin
    )
    .execute(connection)
    .await?;
    Ok(())
}
