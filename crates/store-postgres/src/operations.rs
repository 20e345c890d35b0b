//! The rows of bulk operations, and of the jobs they are about.

mod jobs;

use crate::{
    convert::{as_json, moment, parsed, stamp, stamp_if, word},
    error::Outcome,
    filter::{Search, Selection, words_of},
    steering::SteeredRecord,
    tx::PostgresTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    Scope, StoreError, StoreResult,
    params::{CreateAnswer, NewJob},
    ports::{
        bulk::{
            CountedGroup, JobSelection, Operation, OperationFilter, OperationRows, Parameters, RetriedJob,
        },
        steering::SteeredJob,
    },
};
use leasehold_types::{
    JobRef, TenantId, Timestamp,
    view::{BulkGroup, BulkOperation, BulkState},
};
use serde_json::Value;
use sqlx::QueryBuilder;
use time::OffsetDateTime;
use uuid::Uuid;

const TABLE: &str = "bulk_operations";

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
        let view = BulkOperation {
            id: row.id,
            tenant_id: row.tenant_id.map(TenantId),
            state: word(TABLE, "state", &row.state)?,
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
            skips: Vec::new(),
            applied_by: None,
        };
        let parameters: Parameters = parsed(TABLE, "parameters", row.parameters)?;
        let filter = parsed(TABLE, "filter", row.filter)?;
        Self::read(view, filter, row.reached, parameters)
    }
}

fn search(wanted: JobSelection<'_>) -> Search {
    match (wanted.named, words_of(wanted.filter)) {
        (Some(number), _) => Search::Job(number),
        (None, Some(words)) => Search::text(words),
        (None, None) => Search::Nothing,
    }
}

fn selection<'a>(wanted: JobSelection<'a>, search: &'a Search) -> Selection<'a> {
    Selection::new(wanted.tenant, wanted.filter, search)
        .limited_to(wanted.statuses)
        .above(wanted.above)
        .below(wanted.up_to.map(|highest| highest + 1))
        .ended_by(wanted.ended_by)
}

#[async_trait]
impl OperationRows for PostgresTx {
    async fn named_job(&mut self, tenant: Option<TenantId>, text: &str) -> Outcome<Option<i64>> {
        let (number, id) = match text.parse() {
            Ok(JobRef::Number(number)) => (Some(number), None),
            Ok(JobRef::Id(id)) => (None, Some(id.0)),
            Err(()) => return Ok(None),
        };
        let found = sqlx::query_scalar!(
            "SELECT number FROM jobs
             WHERE number = COALESCE($1, (SELECT number FROM jobs WHERE id = $2)) AND ($3::uuid IS NULL OR tenant_id = $3)",
            number,
            id,
            tenant.map(|id| id.0)
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        Ok(found)
    }

    async fn count_jobs(&mut self, wanted: JobSelection<'_>) -> Outcome<Vec<CountedGroup>> {
        let search = search(wanted);
        let selection = selection(wanted, &search);
        let mut query = QueryBuilder::new(
            "SELECT j.domain, j.queue, j.job_type, j.status, count(*), max(j.number) FROM ",
        );
        selection.push_ranges(&mut query);
        query.push(" JOIN jobs j ON ");
        selection.push_range_condition(&mut query);
        query.push(" GROUP BY j.domain, j.queue, j.job_type, j.status");
        let mut rows: Vec<(String, String, String, String, i64, i64)> =
            query.build_query_as().fetch_all(&mut *self.tx).await?;
        // By bytes, whatever the database's collation.
        rows.sort();
        let group = |(domain, queue, job_type, status, jobs, highest): (_, _, _, String, _, _)| {
            let status = word("jobs", "status", &status)?;
            Ok(CountedGroup { group: BulkGroup { domain, queue, job_type, status, jobs }, highest })
        };
        rows.into_iter().map(group).collect()
    }

    async fn lowest_numbers(&mut self, wanted: JobSelection<'_>, most: u32) -> Outcome<Vec<i64>> {
        let search = search(wanted);
        let mut query = QueryBuilder::new("");
        selection(wanted, &search).push_lowest_numbers(&mut query, i64::from(most));
        Ok(query.build_query_scalar().fetch_all(&mut *self.tx).await?)
    }

    async fn lock_matching(&mut self, wanted: JobSelection<'_>, numbers: &[i64]) -> Outcome<Vec<SteeredJob>> {
        let search = search(wanted);
        let mut query = QueryBuilder::new("SELECT j.number FROM jobs j WHERE ");
        selection(wanted, &search).push_condition_on(&mut query, numbers.to_vec());
        query.push(" ORDER BY j.number FOR UPDATE");
        let matching: Vec<i64> = query.build_query_scalar().fetch_all(&mut *self.tx).await?;
        let rows = sqlx::query_as!(
            SteeredRecord,
            r#"SELECT number, tenant_id, domain, queue, job_type, status, attempt_count, progress_percent, dedupe_key,
                      cancel_requested_at IS NOT NULL AS "cancel_requested!"
               FROM jobs WHERE number = ANY($1) ORDER BY number"#,
            &matching
        )
        .fetch_all(&mut *self.tx)
        .await?;
        Ok(rows.into_iter().map(TryInto::try_into).collect::<StoreResult<_>>()?)
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
        sqlx::query!(
            "INSERT INTO bulk_operations (id, tenant_id, action, parameters, filter, state, reason, actor, planned,
                                          groups, sample, highest_number, created_at, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
            view.id,
            view.tenant_id.map(|t| t.0),
            view.action,
            as_json(&operation.parameters())?,
            as_json(&operation.filter)?,
            view.state.as_str(),
            view.reason,
            view.actor,
            view.planned,
            as_json(&view.groups)?,
            as_json(&view.sample)?,
            view.highest_number,
            moment(view.created_at),
            moment(view.expires_at)
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    async fn lock_operation(&mut self, id: Uuid) -> Outcome<()> {
        sqlx::query!("SELECT id FROM bulk_operations WHERE id = $1 FOR UPDATE", id)
            .fetch_optional(&mut *self.tx)
            .await?;
        Ok(())
    }

    async fn operations(&mut self, wanted: OperationFilter, most: u32) -> Outcome<Vec<Operation>> {
        let rows = sqlx::query_as!(
            Record,
            "SELECT id, tenant_id, action, parameters, filter, state, reason, actor, planned, groups, sample,
                    highest_number, reached, changed, skipped, created_at, expires_at, finished_at
             FROM bulk_operations
             WHERE ($1::uuid IS NULL OR tenant_id = $1) AND ($2::uuid IS NULL OR id = $2)
               AND ($3::text IS NULL OR state = $3)
               AND ($4::uuid IS NULL
                    OR (created_at, id) < (SELECT b.created_at, b.id FROM bulk_operations b WHERE b.id = $4))
             ORDER BY created_at DESC, id DESC LIMIT $5",
            wanted.tenant.map(|t| t.0),
            wanted.id,
            wanted.state.map(BulkState::as_str),
            wanted.before,
            i64::from(most)
        )
        .fetch_all(&mut *self.tx)
        .await?;
        Ok(rows.into_iter().map(TryInto::try_into).collect::<StoreResult<_>>()?)
    }

    async fn save_operation(&mut self, operation: &Operation) -> Outcome<()> {
        let view = &operation.view;
        sqlx::query!(
            "UPDATE bulk_operations
             SET state = $2, parameters = $3, reached = $4, changed = $5, skipped = $6, finished_at = $7
             WHERE id = $1",
            view.id,
            view.state.as_str(),
            as_json(&operation.parameters())?,
            operation.reached,
            view.changed,
            view.skipped,
            view.finished_at.map(moment)
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
        let done = sqlx::query!(
            "DELETE FROM bulk_operations WHERE id IN (
               SELECT id FROM bulk_operations
               WHERE (state = 'planned' AND expires_at < $2)
                  OR (state IN ('done', 'aborted') AND finished_at < $1)
               LIMIT $3 FOR UPDATE SKIP LOCKED)",
            finished_before.map(moment),
            moment(expired_before),
            i64::from(most)
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(done.rows_affected())
    }
}
