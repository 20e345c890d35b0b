//! A bulk operation's own row: what was planned, by whom, and how far it has come.

use super::parameters::Parameters;
use crate::{
    PostgresStore,
    audit::{self, Act},
    convert::{as_json, moment, parsed, stamp, stamp_if},
    error::database,
    filter::{Search, Selection},
};
use leasehold_queue::{Scope, StoreError, StoreResult, upkeep::BulkAction};
use leasehold_types::{
    JobFilter, Problem, ProblemCode, TenantId, Timestamp,
    view::{BulkOperation, BulkState},
};
use serde_json::Value;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

pub(super) const TABLE: &str = "bulk_operations";

/// What people see, and what applying needs beside it.
pub(super) struct Operation {
    pub view: BulkOperation,
    pub action: BulkAction,
    pub filter: JobFilter,
    /// What the filter's text meant when it was planned: a job that is gone since must not turn its number into
    /// a text that others contain.
    pub search: Search,
    /// The highest number already looked at.
    pub reached: i64,
}

const fn word_of(state: BulkState) -> &'static str {
    match state {
        BulkState::Planned => "planned",
        BulkState::Applying => "applying",
        BulkState::Done => "done",
        BulkState::Aborted => "aborted",
    }
}

impl Operation {
    /// The condition that counted it.
    pub fn selection(&self) -> Selection<'_> {
        Selection::new(self.view.tenant_id, &self.filter, &self.search).limited_to(self.action.statuses())
    }

    pub fn is_open(&self) -> bool {
        matches!(self.view.state, BulkState::Planned | BulkState::Applying)
    }

    pub async fn audit(
        &self,
        connection: &mut PgConnection,
        scope: &Scope,
        action: &str,
        now: Timestamp,
    ) -> StoreResult<()> {
        let act = Act {
            tenant: self.view.tenant_id.map(|t| t.0),
            action,
            object_type: "bulk",
            object_id: &self.view.id.to_string(),
            reason: Some(&self.view.reason),
        };
        audit::record(connection, scope, moment(now), act).await
    }

    pub async fn insert(&self, connection: &mut PgConnection) -> StoreResult<()> {
        let view = &self.view;
        sqlx::query!(
            "INSERT INTO bulk_operations (id, tenant_id, action, parameters, filter, state, reason, actor, planned,
                                          groups, sample, highest_number, created_at, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
            view.id,
            view.tenant_id.map(|t| t.0),
            view.action,
            as_json(&Parameters::of(&self.action, &self.search))?,
            as_json(&self.filter)?,
            word_of(view.state),
            view.reason,
            view.actor,
            view.planned,
            as_json(&view.groups)?,
            as_json(&view.sample)?,
            view.highest_number,
            moment(view.created_at),
            moment(view.expires_at)
        )
        .execute(connection)
        .await
        .map(drop)
        .map_err(database)
    }

    /// How far it has come.
    pub async fn save(&self, connection: &mut PgConnection) -> StoreResult<()> {
        let view = &self.view;
        sqlx::query!(
            "UPDATE bulk_operations
             SET state = $2, reached = $3, changed = $4, skipped = $5, finished_at = $6 WHERE id = $1",
            view.id,
            word_of(view.state),
            self.reached,
            view.changed,
            view.skipped,
            view.finished_at.map(moment)
        )
        .execute(connection)
        .await
        .map(drop)
        .map_err(database)
    }
}

struct Record {
    id: Uuid,
    tenant_id: Option<Uuid>,
    action: String,
    parameters: Value,
    filter: Value,
    state: String,
    reason: String,
    actor: String,
    planned: i64,
    groups: Value,
    sample: Value,
    highest_number: i64,
    reached: i64,
    changed: i64,
    skipped: i64,
    created_at: OffsetDateTime,
    expires_at: OffsetDateTime,
    finished_at: Option<OffsetDateTime>,
}

impl TryFrom<Record> for Operation {
    type Error = StoreError;

    fn try_from(row: Record) -> StoreResult<Self> {
        let parameters: Parameters = parsed(TABLE, "parameters", row.parameters)?;
        let filter: JobFilter = parsed(TABLE, "filter", row.filter)?;
        let action = parameters.action(&row.action)?;
        let view = BulkOperation {
            id: row.id,
            tenant_id: row.tenant_id.map(TenantId),
            state: parsed(TABLE, "state", Value::String(row.state))?,
            groups: parsed(TABLE, "groups", row.groups)?,
            sample: parsed(TABLE, "sample", row.sample)?,
            created_at: stamp(row.created_at),
            expires_at: stamp(row.expires_at),
            finished_at: stamp_if(row.finished_at),
            action: row.action,
            reason: row.reason,
            actor: row.actor,
            planned: row.planned,
            highest_number: row.highest_number,
            changed: row.changed,
            skipped: row.skipped,
        };
        Ok(Self { view, action, search: parameters.search(&filter), filter, reached: row.reached })
    }
}

/// The plans the scope reaches, newest first; only the one with this id, if one is given.
async fn read(
    connection: &mut PgConnection,
    scope: &Scope,
    id: Option<Uuid>,
    max: u32,
) -> StoreResult<Vec<Operation>> {
    let rows = sqlx::query_as!(
        Record,
        "SELECT id, tenant_id, action, parameters, filter, state, reason, actor, planned, groups, sample,
                highest_number, reached, changed, skipped, created_at, expires_at, finished_at
         FROM bulk_operations
         WHERE ($1::uuid IS NULL OR id = $1) AND ($2::uuid IS NULL OR tenant_id = $2)
         ORDER BY created_at DESC, id DESC LIMIT $3",
        id,
        scope.tenant().map(|t| t.0),
        i64::from(max)
    )
    .fetch_all(connection)
    .await
    .map_err(database)?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// Finds a plan and keeps others from it until the transaction ends. One of another tenant is as if it did not
/// exist.
pub(super) async fn hold(connection: &mut PgConnection, scope: &Scope, id: Uuid) -> StoreResult<Operation> {
    sqlx::query!("SELECT id FROM bulk_operations WHERE id = $1 FOR UPDATE", id)
        .fetch_optional(&mut *connection)
        .await
        .map_err(database)?;
    let found = read(connection, scope, Some(id), 1).await?.pop();
    Ok(found.ok_or_else(|| Problem::not_found("This plan"))?)
}

pub(super) async fn newest(
    store: &PostgresStore,
    scope: &Scope,
    max: u32,
) -> StoreResult<Vec<BulkOperation>> {
    let mut connection = store.work.acquire().await.map_err(database)?;
    let found = read(&mut connection, scope, None, max).await?;
    Ok(found.into_iter().map(|operation| operation.view).collect())
}

pub(super) async fn abort(store: &PostgresStore, scope: &Scope, id: Uuid) -> StoreResult<BulkOperation> {
    let mut tx = store.work.begin().await.map_err(database)?;
    let now = store.clock.now();
    let mut operation = hold(&mut tx, scope, id).await?;
    if !operation.is_open() {
        let detail = format!("This plan is {}: there is nothing to stop.", word_of(operation.view.state));
        return Err(Problem::new(ProblemCode::WrongState, detail).into());
    }
    operation.view.state = BulkState::Aborted;
    operation.view.finished_at = Some(now);
    operation.save(&mut tx).await?;
    operation.audit(&mut tx, scope, "bulk.abort", now).await?;
    tx.commit().await.map_err(database)?;
    Ok(operation.view)
}
