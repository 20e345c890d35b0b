//! The rows of definitions: the policy of each kind of job.

use crate::{
    SqliteStore,
    convert::{Table, to_json},
    error::{Error, Outcome, outcome},
    tx::SqliteTx,
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

const DEFINITIONS: Table = Table("job_definitions");

struct DefinitionRecord {
    id: String,
    key: String,
    description: String,
    domain: String,
    job_type: String,
    queue: String,
    executor: String,
    arg_schema: String,
    timeout_seconds: i64,
    max_attempts: i64,
    retry: String,
    stages: String,
    limits: String,
    is_active: i64,
}

impl TryFrom<DefinitionRecord> for Definition {
    type Error = Error;

    fn try_from(row: DefinitionRecord) -> Outcome<Self> {
        Ok(Self {
            id: DEFINITIONS.parse("id", &row.id)?,
            arg_schema: DEFINITIONS.json("arg_schema", &row.arg_schema)?,
            timeout_seconds: DEFINITIONS.int("timeout_seconds", row.timeout_seconds)?,
            max_attempts: DEFINITIONS.int("max_attempts", row.max_attempts)?,
            retry: DEFINITIONS.json("retry", &row.retry)?,
            stages: DEFINITIONS.json("stages", &row.stages)?,
            limits: DEFINITIONS.json("limits", &row.limits)?,
            is_active: row.is_active != 0,
            key: row.key,
            description: row.description,
            domain: row.domain,
            job_type: row.job_type,
            queue: row.queue,
            executor: row.executor,
        })
    }
}

#[async_trait]
impl DefinitionRows for SqliteTx {
    async fn insert_definition(&mut self, new: &Definition) -> Outcome<bool> {
        let (id, now) = (new.id.to_string(), self.now().to_string());
        let (arg_schema, retry) = (to_json(&new.arg_schema)?, to_json(&new.retry)?);
        let (stages, limits) = (to_json(&new.stages)?, to_json(&new.limits)?);
        let done = sqlx::query!(
            "INSERT INTO job_definitions (id, key, description, domain, job_type, queue, executor, arg_schema,
                 timeout_seconds, max_attempts, retry, stages, limits, is_active, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?15)
             ON CONFLICT DO NOTHING",
            id,
            new.key,
            new.description,
            new.domain,
            new.job_type,
            new.queue,
            new.executor,
            arg_schema,
            new.timeout_seconds,
            new.max_attempts,
            retry,
            stages,
            limits,
            new.is_active,
            now
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    async fn has_definition(&mut self, id: DefinitionId) -> Outcome<bool> {
        let id = id.to_string();
        Ok(sqlx::query_scalar!(
            r#"SELECT EXISTS (SELECT 1 FROM job_definitions WHERE id = ?1) AS "found!: bool""#,
            id
        )
        .fetch_one(&mut *self.tx)
        .await?)
    }

    async fn definition_by_key(&mut self, key: &str) -> Outcome<Option<Definition>> {
        let row = sqlx::query_as!(
            DefinitionRecord,
            "SELECT id, key, description, domain, job_type, queue, executor, arg_schema, timeout_seconds,
                    max_attempts, retry, stages, limits, is_active
             FROM job_definitions WHERE key = ?1",
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
        let (id, now) = (id.to_string(), self.now().to_string());
        let arg_schema = change.arg_schema.as_ref().map(to_json).transpose()?;
        let retry = change.retry.as_ref().map(to_json).transpose()?;
        let stages = change.stages.as_ref().map(to_json).transpose()?;
        let limits = change.limits.as_ref().map(to_json).transpose()?;
        let changed = sqlx::query_as!(
            DefinitionRecord,
            r#"UPDATE job_definitions
               SET description = COALESCE(?2, description), arg_schema = COALESCE(?3, arg_schema),
                   timeout_seconds = COALESCE(?4, timeout_seconds), max_attempts = COALESCE(?5, max_attempts),
                   retry = COALESCE(?6, retry), stages = COALESCE(?7, stages), limits = COALESCE(?8, limits),
                   is_active = COALESCE(?9, is_active), queue = COALESCE(?10, queue), updated_at = ?11
               WHERE id = ?1
               RETURNING id AS "id!", key AS "key!", description AS "description!", domain AS "domain!",
                         job_type AS "job_type!", queue AS "queue!", executor AS "executor!",
                         arg_schema AS "arg_schema!", timeout_seconds AS "timeout_seconds!",
                         max_attempts AS "max_attempts!", retry AS "retry!", stages AS "stages!",
                         limits AS "limits!", is_active AS "is_active!""#,
            id,
            change.description,
            arg_schema,
            change.timeout_seconds,
            change.max_attempts,
            retry,
            stages,
            limits,
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
impl DefinitionQueries for SqliteStore {
    async fn definitions(&self) -> StoreResult<Vec<Definition>> {
        outcome(async {
            let rows = sqlx::query_as!(
                DefinitionRecord,
                "SELECT id, key, description, domain, job_type, queue, executor, arg_schema, timeout_seconds,
                        max_attempts, retry, stages, limits, is_active
                 FROM job_definitions ORDER BY key"
            )
            .fetch_all(&self.read)
            .await?;
            rows.into_iter().map(TryInto::try_into).collect()
        })
        .await
    }

    async fn definition(&self, id: DefinitionId) -> StoreResult<Option<Definition>> {
        outcome(async {
            let id = id.to_string();
            let row = sqlx::query_as!(
                DefinitionRecord,
                "SELECT id, key, description, domain, job_type, queue, executor, arg_schema, timeout_seconds,
                        max_attempts, retry, stages, limits, is_active
                 FROM job_definitions WHERE id = ?1",
                id
            )
            .fetch_optional(&self.read)
            .await?;
            row.map(TryInto::try_into).transpose()
        })
        .await
    }
}
