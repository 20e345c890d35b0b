//! Reading triggers and their firings.

use crate::{
    SqliteStore,
    convert::{Table, limit as rows_at_most},
    error::{Error, Outcome},
};
use leasehold_queue::Scope;
use leasehold_types::{FiringView, TenantId, Trigger, TriggerId, TriggerKind, TriggerRule};
use sqlx::SqliteExecutor;

const TRIGGERS: Table = Table("job_triggers");
const FIRINGS: Table = Table("trigger_firings");

struct TriggerRecord {
    id: String,
    tenant_id: String,
    label: String,
    is_enabled: i64,
    trigger_type: String,
    event_name: Option<String>,
    event_filter: String,
    cron_expr: Option<String>,
    timezone: Option<String>,
    catch_up: String,
    definition_id: String,
    definition_key: String,
    payload_template: String,
    dedupe_window_seconds: i64,
    revision: i64,
    next_due_at: Option<String>,
    last_fired_for: Option<String>,
    last_fired_at: Option<String>,
    last_error: Option<String>,
    created_by: Option<String>,
    created_at: String,
    updated_at: String,
}

impl TryFrom<TriggerRecord> for Trigger {
    type Error = Error;

    fn try_from(r: TriggerRecord) -> Outcome<Self> {
        let rule = match TRIGGERS.parse("trigger_type", &r.trigger_type)? {
            TriggerKind::Event => TriggerRule::Event {
                event_name: r.event_name.unwrap_or_default(),
                filter: TRIGGERS.json("event_filter", &r.event_filter)?,
            },
            TriggerKind::Schedule => TriggerRule::Schedule {
                cron_expr: r.cron_expr.unwrap_or_default(),
                timezone: r.timezone.unwrap_or_default(),
                catch_up: TRIGGERS.parse("catch_up", &r.catch_up)?,
            },
        };
        Ok(Self {
            id: TRIGGERS.parse("id", &r.id)?,
            tenant_id: TRIGGERS.parse("tenant_id", &r.tenant_id)?,
            label: r.label,
            is_enabled: r.is_enabled != 0,
            rule,
            definition_id: TRIGGERS.parse("definition_id", &r.definition_id)?,
            definition_key: r.definition_key,
            payload_template: TRIGGERS.json("payload_template", &r.payload_template)?,
            dedupe_window_seconds: TRIGGERS.int("dedupe_window_seconds", r.dedupe_window_seconds)?,
            revision: r.revision,
            next_due_at: TRIGGERS.time_opt("next_due_at", r.next_due_at.as_deref())?,
            last_fired_for: TRIGGERS.time_opt("last_fired_for", r.last_fired_for.as_deref())?,
            last_fired_at: TRIGGERS.time_opt("last_fired_at", r.last_fired_at.as_deref())?,
            last_error: r.last_error,
            created_by: TRIGGERS.parse_opt("created_by", r.created_by.as_deref())?,
            created_at: TRIGGERS.time("created_at", &r.created_at)?,
            updated_at: TRIGGERS.time("updated_at", &r.updated_at)?,
        })
    }
}

pub(super) struct FiringRecord {
    pub trigger_id: String,
    pub label: String,
    pub due_at: Option<String>,
    pub outcome: String,
    pub code: Option<String>,
    pub detail: Option<String>,
    pub job_number: Option<i64>,
    pub job_id: Option<String>,
    pub fired_at: String,
}

impl TryFrom<FiringRecord> for FiringView {
    type Error = Error;

    fn try_from(r: FiringRecord) -> Outcome<Self> {
        Ok(Self {
            trigger_id: FIRINGS.parse("trigger_id", &r.trigger_id)?,
            label: r.label,
            due_at: FIRINGS.time_opt("due_at", r.due_at.as_deref())?,
            outcome: FIRINGS.parse("outcome", &r.outcome)?,
            code: r.code,
            detail: r.detail,
            job_number: r.job_number,
            job_id: FIRINGS.parse_opt("job_id", r.job_id.as_deref())?,
            fired_at: FIRINGS.time("fired_at", &r.fired_at)?,
        })
    }
}

fn reached(scope: &Scope) -> Option<String> {
    scope.tenant().map(|tenant| tenant.to_string())
}

pub(super) async fn one(
    executor: impl SqliteExecutor<'_>,
    scope: &Scope,
    id: TriggerId,
) -> Outcome<Option<Trigger>> {
    let (id, tenant) = (id.to_string(), reached(scope));
    sqlx::query_as!(
        TriggerRecord,
        r#"SELECT t.id AS "id!", t.tenant_id, t.label, t.is_enabled, t.trigger_type, t.event_name, t.event_filter,
                  t.cron_expr, t.timezone, t.catch_up, t.definition_id, d.key AS "definition_key!", t.payload_template,
                  t.dedupe_window_seconds, t.revision, t.next_due_at, t.last_fired_for, t.last_fired_at, t.last_error,
                  t.created_by, t.created_at, t.updated_at
           FROM job_triggers t JOIN job_definitions d ON d.id = t.definition_id
           WHERE t.id = ?1 AND t.deleted_at IS NULL AND (?2 IS NULL OR t.tenant_id = ?2)"#,
        id,
        tenant
    )
    .fetch_optional(executor)
    .await?
    .map(TryInto::try_into)
    .transpose()
}

pub(super) async fn list(
    store: &SqliteStore,
    scope: &Scope,
    after: Option<TriggerId>,
    limit: u32,
) -> Outcome<Vec<Trigger>> {
    let (tenant, after) = (reached(scope), after.map(|id| id.to_string()));
    let limit = rows_at_most(limit);
    sqlx::query_as!(
        TriggerRecord,
        r#"SELECT t.id AS "id!", t.tenant_id, t.label, t.is_enabled, t.trigger_type, t.event_name, t.event_filter,
                  t.cron_expr, t.timezone, t.catch_up, t.definition_id, d.key AS "definition_key!", t.payload_template,
                  t.dedupe_window_seconds, t.revision, t.next_due_at, t.last_fired_for, t.last_fired_at, t.last_error,
                  t.created_by, t.created_at, t.updated_at
           FROM job_triggers t JOIN job_definitions d ON d.id = t.definition_id
           WHERE t.deleted_at IS NULL AND (?1 IS NULL OR t.tenant_id = ?1) AND (?2 IS NULL OR t.id > ?2)
           ORDER BY t.id LIMIT ?3"#,
        tenant,
        after,
        limit
    )
    .fetch_all(&store.read)
    .await?
    .into_iter()
    .map(TryInto::try_into)
    .collect()
}

pub(super) async fn listening(
    store: &SqliteStore,
    tenant: TenantId,
    event_name: &str,
) -> Outcome<Vec<Trigger>> {
    let tenant = tenant.to_string();
    sqlx::query_as!(
        TriggerRecord,
        r#"SELECT t.id AS "id!", t.tenant_id, t.label, t.is_enabled, t.trigger_type, t.event_name, t.event_filter,
                  t.cron_expr, t.timezone, t.catch_up, t.definition_id, d.key AS "definition_key!", t.payload_template,
                  t.dedupe_window_seconds, t.revision, t.next_due_at, t.last_fired_for, t.last_fired_at, t.last_error,
                  t.created_by, t.created_at, t.updated_at
           FROM job_triggers t JOIN job_definitions d ON d.id = t.definition_id
           WHERE t.tenant_id = ?1 AND t.event_name = ?2 AND t.trigger_type = 'event' AND t.deleted_at IS NULL
           ORDER BY t.id"#,
        tenant,
        event_name
    )
    .fetch_all(&store.read)
    .await?
    .into_iter()
    .map(TryInto::try_into)
    .collect()
}

pub(super) async fn due(store: &SqliteStore) -> Outcome<Vec<Trigger>> {
    let now = store.clock.now().to_string();
    sqlx::query_as!(
        TriggerRecord,
        r#"SELECT t.id AS "id!", t.tenant_id, t.label, t.is_enabled, t.trigger_type, t.event_name, t.event_filter,
                  t.cron_expr, t.timezone, t.catch_up, t.definition_id, d.key AS "definition_key!", t.payload_template,
                  t.dedupe_window_seconds, t.revision, t.next_due_at, t.last_fired_for, t.last_fired_at, t.last_error,
                  t.created_by, t.created_at, t.updated_at
           FROM job_triggers t CROSS JOIN job_definitions d ON d.id = t.definition_id
           WHERE t.next_due_at <= ?1 ORDER BY t.next_due_at LIMIT 2000"#,
        now
    )
    .fetch_all(&store.read)
    .await?
    .into_iter()
    .map(TryInto::try_into)
    .collect()
}

pub(super) async fn firings(
    store: &SqliteStore,
    scope: &Scope,
    id: TriggerId,
    limit: u32,
) -> Outcome<Vec<FiringView>> {
    let (id, tenant, limit) = (id.to_string(), reached(scope), rows_at_most(limit));
    sqlx::query_as!(
        FiringRecord,
        r#"SELECT f.trigger_id, t.label, f.due_at, f.outcome, f.code, f.detail, f.job_number, f.job_id, f.fired_at
           FROM trigger_firings f JOIN job_triggers t ON t.id = f.trigger_id
           WHERE f.trigger_id = ?1 AND (?2 IS NULL OR t.tenant_id = ?2)
           ORDER BY f.fired_at DESC, f.id DESC LIMIT ?3"#,
        id,
        tenant,
        limit
    )
    .fetch_all(&store.read)
    .await?
    .into_iter()
    .map(TryInto::try_into)
    .collect()
}
