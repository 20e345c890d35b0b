//! The rows of definitions: the policy of each kind of job.

use crate::{
    PostgresStore,
    convert::{as_json, moment, parsed},
    error::{Error, Outcome, outcome},
    tx::PostgresTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreResult,
    administration::DefinitionChange,
    ports::{
        definitions::{DefinitionQueries, DefinitionRows},
        tx::Tx,
    },
};
use leasehold_types::{DefinitionId, view::Definition};
use serde_json::Value;
use uuid::Uuid;

struct DefinitionRecord {
    id: Uuid,
    key: String,
    description: String,
    domain: String,
    job_type: String,
    queue: String,
    executor: String,
    arg_schema: Value,
    timeout_seconds: i32,
    max_attempts: i32,
    retry: Value,
    stages: Value,
    limits: Value,
    is_active: bool,
}

impl TryFrom<DefinitionRecord> for Definition {
    type Error = Error;

    fn try_from(r: DefinitionRecord) -> Outcome<Self> {
        Ok(Self {
            id: DefinitionId(r.id),
            key: r.key,
            description: r.description,
            domain: r.domain,
            job_type: r.job_type,
            queue: r.queue,
            executor: r.executor,
            arg_schema: r.arg_schema,
            timeout_seconds: r.timeout_seconds,
            max_attempts: r.max_attempts,
            retry: parsed("job_definitions", "retry", r.retry)?,
            stages: parsed("job_definitions", "stages", r.stages)?,
            limits: parsed("job_definitions", "limits", r.limits)?,
            is_active: r.is_active,
        })
    }
}

#[async_trait]
impl DefinitionRows for PostgresTx {
    async fn insert_definition(&mut self, new: &Definition) -> Outcome<bool> {
        let now = moment(self.now());
        let done = sqlx::query!(
            "INSERT INTO job_definitions (id, key, description, domain, job_type, queue, executor, arg_schema,
                 timeout_seconds, max_attempts, retry, stages, limits, is_active, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15)
             ON CONFLICT DO NOTHING",
            new.id.0,
            new.key,
            new.description,
            new.domain,
            new.job_type,
            new.queue,
            new.executor,
            new.arg_schema,
            new.timeout_seconds,
            new.max_attempts,
            as_json(&new.retry)?,
            as_json(&new.stages)?,
            as_json(&new.limits)?,
            new.is_active,
            now
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    async fn has_definition(&mut self, id: DefinitionId) -> Outcome<bool> {
        Ok(sqlx::query_scalar!(
            r#"SELECT EXISTS (SELECT FROM job_definitions WHERE id = $1) AS "found!""#,
            id.0
        )
        .fetch_one(&mut *self.tx)
        .await?)
    }

    async fn definition_by_key(&mut self, key: &str) -> Outcome<Option<Definition>> {
        let row = sqlx::query_as!(
            DefinitionRecord,
            "SELECT id, key, description, domain, job_type, queue, executor, arg_schema, timeout_seconds,
                    max_attempts, retry, stages, limits, is_active
             FROM job_definitions WHERE key = $1",
            key
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        row.map(TryInto::try_into).transpose()
    }

    async fn update_definition(
        &mut self,
        id: DefinitionId,
        change: &DefinitionChange,
    ) -> Outcome<Option<Definition>> {
        let now = moment(self.now());
        let changed = sqlx::query_as!(
            DefinitionRecord,
            "UPDATE job_definitions
             SET description = COALESCE($2, description), arg_schema = COALESCE($3, arg_schema),
                 timeout_seconds = COALESCE($4, timeout_seconds), max_attempts = COALESCE($5, max_attempts),
                 retry = COALESCE($6, retry), stages = COALESCE($7, stages), limits = COALESCE($8, limits),
                 is_active = COALESCE($9, is_active), queue = COALESCE($10, queue), updated_at = $11
             WHERE id = $1
             RETURNING id, key, description, domain, job_type, queue, executor, arg_schema, timeout_seconds,
                       max_attempts, retry, stages, limits, is_active",
            id.0,
            change.description,
            change.arg_schema,
            change.timeout_seconds,
            change.max_attempts,
            change.retry.as_ref().map(as_json).transpose()?,
            change.stages.as_ref().map(as_json).transpose()?,
            change.limits.as_ref().map(as_json).transpose()?,
            change.is_active,
            change.queue,
            now
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        changed.map(TryInto::try_into).transpose()
    }
}

#[async_trait]
impl DefinitionQueries for PostgresStore {
    async fn definitions(&self) -> StoreResult<Vec<Definition>> {
        outcome(async {
            let rows = sqlx::query_as!(
                DefinitionRecord,
                "SELECT id, key, description, domain, job_type, queue, executor, arg_schema, timeout_seconds,
                        max_attempts, retry, stages, limits, is_active
                 FROM job_definitions ORDER BY key"
            )
            .fetch_all(&self.work)
            .await?;
            rows.into_iter().map(TryInto::try_into).collect()
        })
        .await
    }

    async fn definition(&self, id: DefinitionId) -> StoreResult<Option<Definition>> {
        outcome(async {
            let row = sqlx::query_as!(
                DefinitionRecord,
                "SELECT id, key, description, domain, job_type, queue, executor, arg_schema, timeout_seconds,
                        max_attempts, retry, stages, limits, is_active
                 FROM job_definitions WHERE id = $1",
                id.0
            )
            .fetch_optional(&self.work)
            .await?;
            row.map(TryInto::try_into).transpose()
        })
        .await
    }
}
