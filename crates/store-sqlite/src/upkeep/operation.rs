//! A bulk operation's own row: what was planned, by whom, and how far it has come.

use crate::{
    SqliteStore,
    audit::{Deed, audit},
    convert::{Table, limit, to_json},
    error::{Error, Outcome},
    filter::Selection,
};
use leasehold_queue::{Scope, upkeep::BulkAction};
use leasehold_types::{
    JobFilter, Problem, ProblemCode, Timestamp,
    view::{BulkOperation, BulkState},
};
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;
use uuid::Uuid;

const OPERATIONS: Table = Table("bulk_operations");

/// What people see, and what applying needs beside it.
pub(super) struct Operation {
    pub view: BulkOperation,
    pub action: BulkAction,
    pub filter: JobFilter,
    /// The highest number already looked at.
    pub reached: i64,
}

/// What only some actions need.
#[derive(Serialize, Deserialize)]
struct Parameters {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    #[serde(default)]
    archive: bool,
}

fn parameters_of(action: &BulkAction) -> Parameters {
    match action {
        BulkAction::Reschedule { at } => Parameters { at: *at, archive: false },
        BulkAction::Prune { archive } => Parameters { at: None, archive: *archive },
        _ => Parameters { at: None, archive: false },
    }
}

fn action_of(name: &str, parameters: &str) -> Outcome<BulkAction> {
    let parameters: Parameters = OPERATIONS.json("parameters", parameters)?;
    let known = [
        BulkAction::Cancel,
        BulkAction::Reschedule { at: parameters.at },
        BulkAction::Retry,
        BulkAction::RequeueQuarantined,
        BulkAction::Prune { archive: parameters.archive },
    ];
    let unknown = || leasehold_queue::StoreError::corrupt(OPERATIONS.0, "action", name);
    Ok(known.into_iter().find(|action| action.name() == name).ok_or_else(unknown)?)
}

const fn word_of(state: BulkState) -> &'static str {
    match state {
        BulkState::Planned => "planned",
        BulkState::Applying => "applying",
        BulkState::Done => "done",
        BulkState::Aborted => "aborted",
    }
}

fn state_of(word: &str) -> Outcome<BulkState> {
    use BulkState::{Aborted, Applying, Done, Planned};
    let unknown = || leasehold_queue::StoreError::corrupt(OPERATIONS.0, "state", word);
    let found = [Planned, Applying, Done, Aborted].into_iter().find(|state| word_of(*state) == word);
    Ok(found.ok_or_else(unknown)?)
}

impl Operation {
    /// The condition that counted it.
    pub fn selection(&self) -> Selection<'_> {
        Selection::new(self.view.tenant_id, &self.filter).limited_to(self.action.statuses())
    }

    pub fn is_open(&self) -> bool {
        matches!(self.view.state, BulkState::Planned | BulkState::Applying)
    }

    pub fn deed(&self, action: &'static str) -> Deed {
        let reason = Some(self.view.reason.as_str());
        Deed::new(self.view.tenant_id, action, "bulk", self.view.id).because(reason)
    }

    pub async fn insert(&self, connection: &mut SqliteConnection) -> Outcome<()> {
        let view = &self.view;
        let (id, tenant) = (view.id.to_string(), view.tenant_id.map(|id| id.to_string()));
        let (parameters, filter) = (to_json(&parameters_of(&self.action))?, to_json(&self.filter)?);
        let (groups, sample) = (to_json(&view.groups)?, to_json(&view.sample)?);
        let (created_at, expires_at) = (view.created_at.to_string(), view.expires_at.to_string());
        let state = word_of(view.state);
        sqlx::query!(
            "INSERT INTO bulk_operations (id, tenant_id, action, parameters, filter, state, reason, actor, planned,
                                          groups, sample, highest_number, created_at, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            id,
            tenant,
            view.action,
            parameters,
            filter,
            state,
            view.reason,
            view.actor,
            view.planned,
            groups,
            sample,
            view.highest_number,
            created_at,
            expires_at
        )
        .execute(connection)
        .await?;
        Ok(())
    }

    /// How far it has come.
    pub async fn save(&self, connection: &mut SqliteConnection) -> Outcome<()> {
        let view = &self.view;
        let (id, state) = (view.id.to_string(), word_of(view.state));
        let finished_at = view.finished_at.map(|at| at.to_string());
        sqlx::query!(
            "UPDATE bulk_operations
             SET state = ?2, reached = ?3, changed = ?4, skipped = ?5, finished_at = ?6 WHERE id = ?1",
            id,
            state,
            self.reached,
            view.changed,
            view.skipped,
            finished_at
        )
        .execute(connection)
        .await?;
        Ok(())
    }
}

struct Record {
    id: String,
    tenant_id: Option<String>,
    action: String,
    parameters: String,
    filter: String,
    state: String,
    reason: String,
    actor: String,
    planned: i64,
    groups: String,
    sample: String,
    highest_number: i64,
    reached: i64,
    changed: i64,
    skipped: i64,
    created_at: String,
    expires_at: String,
    finished_at: Option<String>,
}

impl TryFrom<Record> for Operation {
    type Error = Error;

    fn try_from(row: Record) -> Outcome<Self> {
        let action = action_of(&row.action, &row.parameters)?;
        let view = BulkOperation {
            id: OPERATIONS.parse("id", &row.id)?,
            tenant_id: OPERATIONS.parse_opt("tenant_id", row.tenant_id.as_deref())?,
            state: state_of(&row.state)?,
            groups: OPERATIONS.json("groups", &row.groups)?,
            sample: OPERATIONS.json("sample", &row.sample)?,
            created_at: OPERATIONS.time("created_at", &row.created_at)?,
            expires_at: OPERATIONS.time("expires_at", &row.expires_at)?,
            finished_at: OPERATIONS.time_opt("finished_at", row.finished_at.as_deref())?,
            action: row.action,
            reason: row.reason,
            actor: row.actor,
            planned: row.planned,
            highest_number: row.highest_number,
            changed: row.changed,
            skipped: row.skipped,
        };
        Ok(Self { view, action, filter: OPERATIONS.json("filter", &row.filter)?, reached: row.reached })
    }
}

/// The plans the scope reaches, newest first; only the one with this id, if one is given.
async fn read(
    connection: &mut SqliteConnection,
    scope: &Scope,
    id: Option<Uuid>,
    max: u32,
) -> Outcome<Vec<Operation>> {
    let (id, tenant) = (id.map(|id| id.to_string()), scope.tenant().map(|id| id.to_string()));
    let max = limit(max);
    let rows = sqlx::query_as!(
        Record,
        r#"SELECT id AS "id!: String", tenant_id, action, parameters, filter, state, reason, actor, planned, groups,
                  sample, highest_number, reached, changed, skipped, created_at, expires_at, finished_at
           FROM bulk_operations
           WHERE (?1 IS NULL OR id = ?1) AND (?2 IS NULL OR tenant_id = ?2)
           ORDER BY created_at DESC, id DESC LIMIT ?3"#,
        id,
        tenant,
        max
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// A plan of another tenant is as if it did not exist.
pub(super) async fn find(connection: &mut SqliteConnection, scope: &Scope, id: Uuid) -> Outcome<Operation> {
    let found = read(connection, scope, Some(id), 1).await?.pop();
    Ok(found.ok_or_else(|| Problem::not_found("This plan"))?)
}

pub(super) async fn newest(store: &SqliteStore, scope: &Scope, max: u32) -> Outcome<Vec<BulkOperation>> {
    let found = read(&mut *store.read.acquire().await?, scope, None, max).await?;
    Ok(found.into_iter().map(|operation| operation.view).collect())
}

pub(super) async fn abort(store: &SqliteStore, scope: &Scope, id: Uuid) -> Outcome<BulkOperation> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let mut operation = find(&mut tx, scope, id).await?;
    if !operation.is_open() {
        let detail = format!("This plan is {}: there is nothing to stop.", word_of(operation.view.state));
        return Err(Problem::new(ProblemCode::WrongState, detail).into());
    }
    operation.view.state = BulkState::Aborted;
    operation.view.finished_at = Some(now);
    operation.save(&mut tx).await?;
    audit(&mut tx, scope, &[operation.deed("bulk.abort")], now).await?;
    tx.commit().await?;
    Ok(operation.view)
}
