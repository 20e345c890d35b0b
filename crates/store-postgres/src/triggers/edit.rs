//! Triggers as people change them.

use super::read;
use crate::{
    PostgresStore,
    audit::{self, Act},
    convert::moment,
    error::database,
};
use leasehold_queue::{
    Actor, Scope, StoreResult,
    triggers::{NewTrigger, TriggerEdit},
};
use leasehold_types::{Problem, TenantId, Trigger, TriggerId, TriggerRule};
use serde_json::{Value, json};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

/// A rule as its columns.
struct Columns {
    event_name: Option<String>,
    event_filter: Value,
    cron_expr: Option<String>,
    timezone: Option<String>,
    catch_up: &'static str,
}

impl From<&TriggerRule> for Columns {
    fn from(rule: &TriggerRule) -> Self {
        match rule.clone() {
            TriggerRule::Event { event_name, filter } => Self {
                event_name: Some(event_name),
                event_filter: filter,
                cron_expr: None,
                timezone: None,
                catch_up: "once",
            },
            TriggerRule::Schedule { cron_expr, timezone, catch_up } => Self {
                event_name: None,
                event_filter: json!({}),
                cron_expr: Some(cron_expr),
                timezone: Some(timezone),
                catch_up: catch_up.as_str(),
            },
        }
    }
}

impl PostgresStore {
    pub(super) async fn add_trigger(&self, scope: &Scope, new: NewTrigger) -> StoreResult<Trigger> {
        if !scope.reaches(new.tenant_id) {
            return Err(Problem::not_found("This tenant").into());
        }
        let (id, now, rule) = (TriggerId(Uuid::now_v7()), self.now(), Columns::from(&new.rule));
        let created_by = match &scope.actor {
            Actor::User { id, .. } => Some(id.0),
            Actor::Key { .. } | Actor::Terminal(_) | Actor::System(_) => None,
        };
        let mut tx = self.work.begin().await.map_err(database)?;
        sqlx::query!(
            "INSERT INTO job_triggers (id, tenant_id, label, is_enabled, trigger_type, event_name, event_filter,
                    cron_expr, timezone, catch_up, definition_id, payload_template, dedupe_window_seconds, next_due_at,
                    created_by, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
                     (SELECT id FROM users WHERE id = $15), $16, $16)",
            id.0,
            new.tenant_id.0,
            new.label,
            new.is_enabled,
            new.rule.kind().as_str(),
            rule.event_name,
            rule.event_filter,
            rule.cron_expr,
            rule.timezone,
            rule.catch_up,
            new.definition_id.0,
            new.payload_template,
            new.dedupe_window_seconds,
            new.next_due_at.map(moment),
            created_by,
            now
        )
        .execute(&mut *tx)
        .await
        .map_err(database)?;
        trail(&mut tx, scope, now, new.tenant_id, "trigger.create", id).await?;
        let made = read::one(&mut *tx, scope, id).await?;
        tx.commit().await.map_err(database)?;
        made.ok_or_else(|| gone().into())
    }

    pub(super) async fn change_trigger(
        &self,
        scope: &Scope,
        id: TriggerId,
        edit: TriggerEdit,
    ) -> StoreResult<Option<Trigger>> {
        let (now, new, rule) = (self.now(), &edit.new, Columns::from(&edit.new.rule));
        let mut tx = self.work.begin().await.map_err(database)?;
        let changed = sqlx::query!(
            "UPDATE job_triggers
             SET label = $4, is_enabled = $5, trigger_type = $6, event_name = $7, event_filter = $8, cron_expr = $9,
                 timezone = $10, catch_up = $11, definition_id = $12, payload_template = $13,
                 dedupe_window_seconds = $14, next_due_at = CASE WHEN $15 THEN $16 ELSE next_due_at END,
                 last_error = NULL, revision = revision + 1, updated_at = $17
             WHERE id = $1 AND tenant_id = $2 AND revision = $3 AND deleted_at IS NULL",
            id.0,
            new.tenant_id.0,
            edit.revision,
            new.label,
            new.is_enabled,
            new.rule.kind().as_str(),
            rule.event_name,
            rule.event_filter,
            rule.cron_expr,
            rule.timezone,
            rule.catch_up,
            new.definition_id.0,
            new.payload_template,
            new.dedupe_window_seconds,
            edit.reschedule,
            new.next_due_at.map(moment),
            now
        )
        .execute(&mut *tx)
        .await
        .map_err(database)?;
        let found = read::one(&mut *tx, scope, id).await?.ok_or_else(gone)?;
        if changed.rows_affected() == 0 {
            return Ok(None);
        }
        trail(&mut tx, scope, now, new.tenant_id, "trigger.update", id).await?;
        tx.commit().await.map_err(database)?;
        Ok(Some(found))
    }

    pub(super) async fn remove_trigger(&self, scope: &Scope, id: TriggerId) -> StoreResult<()> {
        let now = self.now();
        let mut tx = self.work.begin().await.map_err(database)?;
        let tenant = sqlx::query_scalar!(
            "UPDATE job_triggers
             SET deleted_at = $3, updated_at = $3, next_due_at = NULL, revision = revision + 1
             WHERE id = $1 AND deleted_at IS NULL AND ($2::uuid IS NULL OR tenant_id = $2)
             RETURNING tenant_id",
            id.0,
            scope.tenant().map(|t| t.0),
            now
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(database)?
        .ok_or_else(gone)?;
        trail(&mut tx, scope, now, TenantId(tenant), "trigger.delete", id).await?;
        tx.commit().await.map_err(database)
    }
}

fn gone() -> Problem {
    Problem::not_found("This trigger")
}

pub async fn trail(
    connection: &mut PgConnection,
    scope: &Scope,
    now: OffsetDateTime,
    tenant: TenantId,
    action: &str,
    id: TriggerId,
) -> StoreResult<()> {
    let object_id = id.to_string();
    let act =
        Act { tenant: Some(tenant.0), action, object_type: "trigger", object_id: &object_id, reason: None };
    audit::record(connection, scope, now, act).await
}
