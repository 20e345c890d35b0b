//! The rows of bulk operations, and of the jobs they are about.

mod jobs;

use crate::{
    convert::{Table, limit, to_json},
    error::{Error, Outcome},
    filter::{Order, Selection},
    read::{self, JOBS},
    steering::SteeredRecord,
    tx::SqliteTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    Scope,
    params::{CreateAnswer, NewJob},
    ports::{
        bulk::{
            CountedGroup, JobSelection, Operation, OperationFilter, OperationRows, Parameters, RetriedJob,
        },
        steering::SteeredJob,
    },
};
use leasehold_types::{
    TenantId, Timestamp,
    view::{BulkGroup, BulkOperation, BulkState},
};
use sqlx::QueryBuilder;
use uuid::Uuid;

const OPERATIONS: Table = Table("bulk_operations");

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
        let view = BulkOperation {
            id: OPERATIONS.parse("id", &row.id)?,
            tenant_id: OPERATIONS.parse_opt("tenant_id", row.tenant_id.as_deref())?,
            state: OPERATIONS.parse("state", &row.state)?,
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
            skips: Vec::new(),
            applied_by: None,
        };
        let parameters: Parameters = OPERATIONS.json("parameters", &row.parameters)?;
        let filter = OPERATIONS.json("filter", &row.filter)?;
        Ok(Self::read(view, filter, row.reached, parameters)?)
    }
}

fn selection(wanted: JobSelection<'_>) -> Selection<'_> {
    Selection::new(wanted.tenant, wanted.filter)
        .naming(wanted.named)
        .limited_to(wanted.statuses)
        .above(wanted.above)
        .below(wanted.up_to.map(|highest| highest + 1))
        .ended_by(wanted.ended_by)
}

#[async_trait]
impl OperationRows for SqliteTx {
    async fn named_job(&mut self, tenant: Option<TenantId>, text: &str) -> Outcome<Option<i64>> {
        read::named(&mut self.tx, tenant, text).await
    }

    async fn count_jobs(&mut self, wanted: JobSelection<'_>) -> Outcome<Vec<CountedGroup>> {
        let mut query = QueryBuilder::new(
            "SELECT domain, queue, job_type, status, COUNT(*), MAX(number) FROM jobs WHERE ",
        );
        selection(wanted).push_condition(&mut query);
        query.push(" GROUP BY domain, queue, job_type, status ORDER BY domain, queue, job_type, status");
        let rows: Vec<(String, String, String, String, i64, i64)> =
            query.build_query_as().fetch_all(&mut *self.tx).await?;
        let group = |(domain, queue, job_type, status, jobs, highest): (_, _, _, String, _, _)| {
            let status = JOBS.parse("status", &status)?;
            Ok(CountedGroup { group: BulkGroup { domain, queue, job_type, status, jobs }, highest })
        };
        rows.into_iter().map(group).collect()
    }

    async fn lowest_numbers(&mut self, wanted: JobSelection<'_>, most: u32) -> Outcome<Vec<i64>> {
        let mut query = QueryBuilder::new("SELECT number FROM (");
        selection(wanted).push_numbers(&mut query, Order::OldestFirst, limit(most));
        query.push(") ORDER BY number LIMIT ").push_bind(limit(most));
        Ok(query.build_query_scalar().fetch_all(&mut *self.tx).await?)
    }

    async fn lock_matching(&mut self, wanted: JobSelection<'_>, numbers: &[i64]) -> Outcome<Vec<SteeredJob>> {
        let mut query =
            QueryBuilder::new("SELECT number FROM jobs WHERE number IN (SELECT value FROM json_each(");
        query.push_bind(to_json(numbers)?).push(")) AND ");
        selection(wanted).push_condition(&mut query);
        let matching: Vec<i64> = query.build_query_scalar().fetch_all(&mut *self.tx).await?;
        let matching = to_json(&matching)?;
        let rows = sqlx::query_as!(
            SteeredRecord,
            r#"SELECT number AS "number!: i64", tenant_id, domain, queue, job_type, status, attempt_count,
                      progress_percent, dedupe_key, cancel_requested_at IS NOT NULL AS "cancel_requested!: bool"
               FROM jobs WHERE number IN (SELECT value FROM json_each(?1)) ORDER BY number"#,
            matching
        )
        .fetch_all(&mut *self.tx)
        .await?;
        rows.into_iter().map(TryInto::try_into).collect()
    }

    async fn jobs_to_retry(&mut self, numbers: &[i64]) -> Outcome<Vec<RetriedJob>> {
        jobs::to_retry(self, numbers).await
    }

    async fn create_jobs(&mut self, scope: &Scope, jobs: &[NewJob]) -> Outcome<Option<Vec<CreateAnswer>>> {
        jobs::create(self, scope, jobs).await
    }

    async fn delete_jobs(&mut self, jobs: &[&SteeredJob], archive: bool) -> Outcome<()> {
        jobs::delete(self, jobs, archive).await
    }

    async fn insert_operation(&mut self, operation: &Operation) -> Outcome<()> {
        let view = &operation.view;
        let (id, tenant) = (view.id.to_string(), view.tenant_id.map(|id| id.to_string()));
        let (parameters, filter) = (to_json(&operation.parameters())?, to_json(&operation.filter)?);
        let (groups, sample) = (to_json(&view.groups)?, to_json(&view.sample)?);
        let (created_at, expires_at) = (view.created_at.to_string(), view.expires_at.to_string());
        let state = view.state.as_str();
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
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    /// The writer's lock keeps others from it.
    async fn lock_operation(&mut self, _: Uuid) -> Outcome<()> {
        Ok(())
    }

    async fn operations(&mut self, wanted: OperationFilter, most: u32) -> Outcome<Vec<Operation>> {
        let (tenant, id) = (wanted.tenant.map(|id| id.to_string()), wanted.id.map(|id| id.to_string()));
        let (state, before) = (wanted.state.map(BulkState::as_str), wanted.before.map(|id| id.to_string()));
        let most = limit(most);
        let rows = sqlx::query_as!(
            Record,
            r#"SELECT id AS "id!: String", tenant_id, action, parameters, filter, state, reason, actor, planned,
                      groups, sample, highest_number, reached, changed, skipped, created_at, expires_at, finished_at
               FROM bulk_operations
               WHERE (?1 IS NULL OR tenant_id = ?1) AND (?2 IS NULL OR id = ?2) AND (?3 IS NULL OR state = ?3)
                 AND (?4 IS NULL OR (created_at, id) < (SELECT created_at, id FROM bulk_operations WHERE id = ?4))
               ORDER BY created_at DESC, id DESC LIMIT ?5"#,
            tenant,
            id,
            state,
            before,
            most
        )
        .fetch_all(&mut *self.tx)
        .await?;
        rows.into_iter().map(TryInto::try_into).collect()
    }

    async fn save_operation(&mut self, operation: &Operation) -> Outcome<()> {
        let view = &operation.view;
        let (id, state, parameters) =
            (view.id.to_string(), view.state.as_str(), to_json(&operation.parameters())?);
        let finished_at = view.finished_at.map(|at| at.to_string());
        sqlx::query!(
            "UPDATE bulk_operations
             SET state = ?2, parameters = ?3, reached = ?4, changed = ?5, skipped = ?6, finished_at = ?7
             WHERE id = ?1",
            id,
            state,
            parameters,
            operation.reached,
            view.changed,
            view.skipped,
            finished_at
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    async fn delete_operations(
        &mut self,
        finished_before: Option<Timestamp>,
        expired_before: Timestamp,
        most: u32,
    ) -> Outcome<u64> {
        let finished = finished_before.map(|at| at.to_string());
        let (expired, most) = (expired_before.to_string(), limit(most));
        let done = sqlx::query!(
            "DELETE FROM bulk_operations WHERE id IN (
               SELECT id FROM bulk_operations
               WHERE (state = 'planned' AND expires_at < ?2)
                  OR (state IN ('done', 'aborted') AND finished_at < ?1)
               LIMIT ?3)",
            finished,
            expired,
            most
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(done.rows_affected())
    }
}
