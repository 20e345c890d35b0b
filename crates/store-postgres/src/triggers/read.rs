//! Reading triggers and their firings.

use crate::{
    PostgresStore,
    convert::{stamp, stamp_if, word},
    error::database,
};
use leasehold_queue::{Scope, StoreError, StoreResult};
use leasehold_types::{
    DefinitionId, FiringView, JobId, TenantId, Trigger, TriggerId, TriggerKind, TriggerRule, UserId,
};
use serde_json::Value;
use sqlx::PgExecutor;
use time::OffsetDateTime;
use uuid::Uuid;

pub struct TriggerRecord {
    id: Uuid,
    tenant_id: Uuid,
    label: String,
    is_enabled: bool,
    trigger_type: String,
    event_name: Option<String>,
    event_filter: Value,
    cron_expr: Option<String>,
    timezone: Option<String>,
    catch_up: String,
    definition_id: Uuid,
    definition_key: String,
    payload_template: Value,
    dedupe_window_seconds: i32,
    revision: i64,
    next_due_at: Option<OffsetDateTime>,
    last_fired_for: Option<OffsetDateTime>,
    last_fired_at: Option<OffsetDateTime>,
    last_error: Option<String>,
    created_by: Option<Uuid>,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
}

impl TryFrom<TriggerRecord> for Trigger {
    type Error = StoreError;
    fn try_from(r: TriggerRecord) -> StoreResult<Self> {
        let rule = match word("job_triggers", "trigger_type", &r.trigger_type)? {
            TriggerKind::Event => {
                TriggerRule::Event { event_name: r.event_name.unwrap_or_default(), filter: r.event_filter }
            }
            TriggerKind::Schedule => TriggerRule::Schedule {
                cron_expr: r.cron_expr.unwrap_or_default(),
                timezone: r.timezone.unwrap_or_default(),
                catch_up: word("job_triggers", "catch_up", &r.catch_up)?,
            },
        };
        Ok(Self {
            id: TriggerId(r.id),
            tenant_id: TenantId(r.tenant_id),
            label: r.label,
            is_enabled: r.is_enabled,
            rule,
            definition_id: DefinitionId(r.definition_id),
            definition_key: r.definition_key,
            payload_template: r.payload_template,
            dedupe_window_seconds: r.dedupe_window_seconds,
            revision: r.revision,
            next_due_at: stamp_if(r.next_due_at),
            last_fired_for: stamp_if(r.last_fired_for),
            last_fired_at: stamp_if(r.last_fired_at),
            last_error: r.last_error,
            created_by: r.created_by.map(UserId),
            created_at: stamp(r.created_at),
            updated_at: stamp(r.updated_at),
        })
    }
}

pub struct FiringRecord {
    pub trigger_id: Uuid,
    pub label: String,
    pub due_at: Option<OffsetDateTime>,
    pub outcome: String,
    pub code: Option<String>,
    pub detail: Option<String>,
    pub job_number: Option<i64>,
    pub job_id: Option<Uuid>,
    pub fired_at: OffsetDateTime,
}

impl TryFrom<FiringRecord> for FiringView {
    type Error = StoreError;
    fn try_from(r: FiringRecord) -> StoreResult<Self> {
        Ok(Self {
            trigger_id: TriggerId(r.trigger_id),
            label: r.label,
            due_at: stamp_if(r.due_at),
            outcome: word("trigger_firings", "outcome", &r.outcome)?,
            code: r.code,
            detail: r.detail,
            job_number: r.job_number,
            job_id: r.job_id.map(JobId),
            fired_at: stamp(r.fired_at),
        })
    }
}

pub async fn one(
    executor: impl PgExecutor<'_>,
    scope: &Scope,
    id: TriggerId,
) -> StoreResult<Option<Trigger>> {
    sqlx::query_as!(
        TriggerRecord,
        r#"SELECT t.id, t.tenant_id, t.label, t.is_enabled, t.trigger_type, t.event_name, t.event_filter, t.cron_expr,
                  t.timezone, t.catch_up, t.definition_id, d.key AS definition_key, t.payload_template,
                  t.dedupe_window_seconds, t.revision, t.next_due_at, t.last_fired_for, t.last_fired_at, t.last_error,
                  t.created_by, t.created_at, t.updated_at
           FROM job_triggers t JOIN job_definitions d ON d.id = t.definition_id
           WHERE t.id = $1 AND t.deleted_at IS NULL AND ($2::uuid IS NULL OR t.tenant_id = $2)"#,
        id.0,
        scope.tenant().map(|t| t.0)
    )
    .fetch_optional(executor)
    .await
    .map_err(database)?
    .map(TryInto::try_into)
    .transpose()
}

impl PostgresStore {
    pub(super) async fn find_trigger(&self, scope: &Scope, id: TriggerId) -> StoreResult<Option<Trigger>> {
        one(&self.work, scope, id).await
    }

    pub(super) async fn reached_triggers(
        &self,
        scope: &Scope,
        after: Option<TriggerId>,
        limit: u32,
    ) -> StoreResult<Vec<Trigger>> {
        sqlx::query_as!(
            TriggerRecord,
            r#"SELECT t.id, t.tenant_id, t.label, t.is_enabled, t.trigger_type, t.event_name, t.event_filter,
                      t.cron_expr, t.timezone, t.catch_up, t.definition_id, d.key AS definition_key,
                      t.payload_template, t.dedupe_window_seconds, t.revision, t.next_due_at, t.last_fired_for,
                      t.last_fired_at, t.last_error, t.created_by, t.created_at, t.updated_at
               FROM job_triggers t JOIN job_definitions d ON d.id = t.definition_id
               WHERE t.deleted_at IS NULL AND ($1::uuid IS NULL OR t.tenant_id = $1)
                 AND ($2::uuid IS NULL OR t.id > $2)
               ORDER BY t.id LIMIT $3"#,
            scope.tenant().map(|t| t.0),
            after.map(|id| id.0),
            i64::from(limit)
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?
        .into_iter()
        .map(TryInto::try_into)
        .collect()
    }

    pub(super) async fn listening_triggers(&self, tenant: TenantId, name: &str) -> StoreResult<Vec<Trigger>> {
        sqlx::query_as!(
            TriggerRecord,
            r#"SELECT t.id, t.tenant_id, t.label, t.is_enabled, t.trigger_type, t.event_name, t.event_filter,
                      t.cron_expr, t.timezone, t.catch_up, t.definition_id, d.key AS definition_key,
                      t.payload_template, t.dedupe_window_seconds, t.revision, t.next_due_at, t.last_fired_for,
                      t.last_fired_at, t.last_error, t.created_by, t.created_at, t.updated_at
               FROM job_triggers t JOIN job_definitions d ON d.id = t.definition_id
               WHERE t.tenant_id = $1 AND t.event_name = $2 AND t.trigger_type = 'event' AND t.deleted_at IS NULL
               ORDER BY t.id"#,
            tenant.0,
            name
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?
        .into_iter()
        .map(TryInto::try_into)
        .collect()
    }

    /// The limit is written out: with a bind the plan for any value would read the whole table.
    pub(super) async fn triggers_due(&self) -> StoreResult<Vec<Trigger>> {
        sqlx::query_as!(
            TriggerRecord,
            r#"SELECT t.id, t.tenant_id, t.label, t.is_enabled, t.trigger_type, t.event_name, t.event_filter,
                      t.cron_expr, t.timezone, t.catch_up, t.definition_id, d.key AS definition_key,
                      t.payload_template, t.dedupe_window_seconds, t.revision, t.next_due_at, t.last_fired_for,
                      t.last_fired_at, t.last_error, t.created_by, t.created_at, t.updated_at
               FROM (SELECT * FROM job_triggers WHERE next_due_at <= $1 ORDER BY next_due_at LIMIT 2000) t
               JOIN job_definitions d ON d.id = t.definition_id
               ORDER BY t.next_due_at, t.id"#,
            self.now()
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?
        .into_iter()
        .map(TryInto::try_into)
        .collect()
    }

    pub(super) async fn firings_of(
        &self,
        scope: &Scope,
        id: TriggerId,
        limit: u32,
    ) -> StoreResult<Vec<FiringView>> {
        sqlx::query_as!(
            FiringRecord,
            r#"SELECT f.trigger_id, t.label, f.due_at, f.outcome, f.code, f.detail, f.job_number, f.job_id, f.fired_at
               FROM trigger_firings f JOIN job_triggers t ON t.id = f.trigger_id
               WHERE f.trigger_id = $1 AND ($2::uuid IS NULL OR t.tenant_id = $2)
               ORDER BY f.fired_at DESC, f.id DESC LIMIT $3"#,
            id.0,
            scope.tenant().map(|t| t.0),
            i64::from(limit)
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?
        .into_iter()
        .map(TryInto::try_into)
        .collect()
    }
}
