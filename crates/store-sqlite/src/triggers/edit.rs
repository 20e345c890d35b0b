//! Triggers as people change them.

use super::read;
use crate::{
    SqliteStore,
    audit::{Deed, audit},
    convert::{Table, to_json},
    error::Outcome,
};
use leasehold_queue::{
    Actor, Scope,
    triggers::{NewTrigger, TriggerEdit},
};
use leasehold_types::{Problem, Trigger, TriggerId, TriggerRule};
use serde_json::{Value, json};
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

pub(super) async fn create(store: &SqliteStore, scope: &Scope, new: NewTrigger) -> Outcome<Trigger> {
    if !scope.reaches(new.tenant_id) {
        return Err(Problem::not_found("This tenant").into());
    }
    let (trigger, at, rule) = (TriggerId(Uuid::now_v7()), store.clock.now(), Columns::from(&new.rule));
    let created_by = match &scope.actor {
        Actor::User { id, .. } => Some(id.to_string()),
        Actor::Key { .. } | Actor::Terminal(_) | Actor::System(_) => None,
    };
    let (id, now, tenant) = (trigger.to_string(), at.to_string(), new.tenant_id.to_string());
    let (kind, definition) = (new.rule.kind().as_str(), new.definition_id.to_string());
    let (filter, template) = (to_json(&rule.event_filter)?, to_json(&new.payload_template)?);
    let next_due_at = new.next_due_at.map(|at| at.to_string());
    let mut tx = store.begin().await?;
    sqlx::query!(
        "INSERT INTO job_triggers (id, tenant_id, label, is_enabled, trigger_type, event_name, event_filter, cron_expr,
                timezone, catch_up, definition_id, payload_template, dedupe_window_seconds, next_due_at, created_by,
                created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,
                 (SELECT id FROM users WHERE id = ?15), ?16, ?16)",
        id,
        tenant,
        new.label,
        new.is_enabled,
        kind,
        rule.event_name,
        filter,
        rule.cron_expr,
        rule.timezone,
        rule.catch_up,
        definition,
        template,
        new.dedupe_window_seconds,
        next_due_at,
        created_by,
        now
    )
    .execute(&mut *tx)
    .await?;
    audit(&mut tx, scope, &[Deed::new(Some(new.tenant_id), "trigger.create", "trigger", trigger)], at)
        .await?;
    let made = read::one(&mut *tx, scope, trigger).await?;
    tx.commit().await?;
    made.ok_or_else(|| gone().into())
}

pub(super) async fn update(
    store: &SqliteStore,
    scope: &Scope,
    trigger: TriggerId,
    edit: TriggerEdit,
) -> Outcome<Option<Trigger>> {
    let (new, rule, at) = (&edit.new, Columns::from(&edit.new.rule), store.clock.now());
    let (id, now, tenant) = (trigger.to_string(), at.to_string(), new.tenant_id.to_string());
    let (kind, definition) = (new.rule.kind().as_str(), new.definition_id.to_string());
    let (filter, template) = (to_json(&rule.event_filter)?, to_json(&new.payload_template)?);
    let next_due_at = new.next_due_at.map(|at| at.to_string());
    let mut tx = store.begin().await?;
    let changed = sqlx::query!(
        "UPDATE job_triggers
         SET label = ?4, is_enabled = ?5, trigger_type = ?6, event_name = ?7, event_filter = ?8, cron_expr = ?9,
             timezone = ?10, catch_up = ?11, definition_id = ?12, payload_template = ?13, dedupe_window_seconds = ?14,
             next_due_at = CASE WHEN ?15 THEN ?16 ELSE next_due_at END, last_error = NULL, revision = revision + 1,
             updated_at = ?17
         WHERE id = ?1 AND tenant_id = ?2 AND revision = ?3 AND deleted_at IS NULL",
        id,
        tenant,
        edit.revision,
        new.label,
        new.is_enabled,
        kind,
        rule.event_name,
        filter,
        rule.cron_expr,
        rule.timezone,
        rule.catch_up,
        definition,
        template,
        new.dedupe_window_seconds,
        edit.reschedule,
        next_due_at,
        now
    )
    .execute(&mut *tx)
    .await?;
    let found = read::one(&mut *tx, scope, trigger).await?.ok_or_else(gone)?;
    if changed.rows_affected() == 0 {
        return Ok(None);
    }
    audit(&mut tx, scope, &[Deed::new(Some(new.tenant_id), "trigger.update", "trigger", trigger)], at)
        .await?;
    tx.commit().await?;
    Ok(Some(found))
}

pub(super) async fn delete(store: &SqliteStore, scope: &Scope, trigger: TriggerId) -> Outcome<()> {
    let at = store.clock.now();
    let (id, now, tenant) = (trigger.to_string(), at.to_string(), scope.tenant().map(|t| t.to_string()));
    let mut tx = store.begin().await?;
    let owner = sqlx::query_scalar!(
        "UPDATE job_triggers SET deleted_at = ?3, updated_at = ?3, next_due_at = NULL, revision = revision + 1
         WHERE id = ?1 AND deleted_at IS NULL AND (?2 IS NULL OR tenant_id = ?2)
         RETURNING tenant_id",
        id,
        tenant,
        now
    )
    .fetch_optional(&mut *tx)
    .await?
    .ok_or_else(gone)?;
    let owner = Table("job_triggers").parse("tenant_id", &owner)?;
    audit(&mut tx, scope, &[Deed::new(Some(owner), "trigger.delete", "trigger", trigger)], at).await?;
    Ok(tx.commit().await?)
}

fn gone() -> Problem {
    Problem::not_found("This trigger")
}
