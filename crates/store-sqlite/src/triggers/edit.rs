//! The rows of triggers, as people change them.

use super::read;
use crate::{
    convert::{Table, to_json},
    error::Outcome,
    tx::SqliteTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    Scope,
    ports::{
        triggers::{RuleColumns, TriggerRows},
        tx::Tx,
    },
    triggers::{NewTrigger, TriggerEdit},
};
use leasehold_types::{TenantId, Trigger, TriggerId, UserId};

const TRIGGERS: Table = Table("job_triggers");

#[async_trait]
impl TriggerRows for SqliteTx {
    async fn insert_trigger(&mut self, id: TriggerId, new: &NewTrigger, by: Option<UserId>) -> Outcome<()> {
        let (id, tenant, rule) = (id.to_string(), new.tenant_id.to_string(), RuleColumns::from(&new.rule));
        let (kind, definition) = (new.rule.kind().as_str(), new.definition_id.to_string());
        let (filter, template) = (to_json(&rule.event_filter)?, to_json(&new.payload_template)?);
        let (by, now) = (by.map(|id| id.to_string()), self.now().to_string());
        let next_due_at = new.next_due_at.map(|at| at.to_string());
        sqlx::query!(
            "INSERT INTO job_triggers (id, tenant_id, label, is_enabled, trigger_type, event_name, event_filter,
                    cron_expr, timezone, catch_up, definition_id, payload_template, dedupe_window_seconds, next_due_at,
                    created_by, created_at, updated_at)
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
            by,
            now
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    async fn update_trigger(&mut self, id: TriggerId, edit: &TriggerEdit) -> Outcome<bool> {
        let (new, rule) = (&edit.new, RuleColumns::from(&edit.new.rule));
        let (id, tenant, now) = (id.to_string(), new.tenant_id.to_string(), self.now().to_string());
        let (kind, definition) = (new.rule.kind().as_str(), new.definition_id.to_string());
        let (filter, template) = (to_json(&rule.event_filter)?, to_json(&new.payload_template)?);
        let next_due_at = new.next_due_at.map(|at| at.to_string());
        let changed = sqlx::query!(
            "UPDATE job_triggers
             SET label = ?4, is_enabled = ?5, trigger_type = ?6, event_name = ?7, event_filter = ?8, cron_expr = ?9,
                 timezone = ?10, catch_up = ?11, definition_id = ?12, payload_template = ?13,
                 dedupe_window_seconds = ?14, next_due_at = CASE WHEN ?15 THEN ?16 ELSE next_due_at END,
                 last_error = NULL, revision = revision + 1, updated_at = ?17
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
        .execute(&mut *self.tx)
        .await?;
        Ok(changed.rows_affected() > 0)
    }

    async fn delete_trigger(&mut self, id: TriggerId, tenant: Option<TenantId>) -> Outcome<Option<TenantId>> {
        let (id, tenant, now) = (id.to_string(), tenant.map(|id| id.to_string()), self.now().to_string());
        let owner = sqlx::query_scalar!(
            "UPDATE job_triggers
             SET deleted_at = ?3, updated_at = ?3, next_due_at = NULL, revision = revision + 1
             WHERE id = ?1 AND deleted_at IS NULL AND (?2 IS NULL OR tenant_id = ?2)
             RETURNING tenant_id",
            id,
            tenant,
            now
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        TRIGGERS.parse_opt("tenant_id", owner.as_deref())
    }

    async fn trigger(&mut self, scope: &Scope, id: TriggerId) -> Outcome<Option<Trigger>> {
        read::one(&mut *self.tx, scope, id).await
    }
}
