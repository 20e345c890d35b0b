//! Definitions: the policy of each kind of job.

use crate::{
    PostgresStore,
    audit::{self, Act},
    convert::{as_json, parsed},
    error::database,
};
use leasehold_queue::{
    Scope, StoreError, StoreResult,
    params::{NewDefinition, Wake},
};
use leasehold_types::{DefinitionId, Problem, view::Definition};
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
    type Error = StoreError;
    fn try_from(r: DefinitionRecord) -> StoreResult<Self> {
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

impl PostgresStore {
    pub(crate) async fn add_definition(&self, new: NewDefinition) -> StoreResult<Definition> {
        sqlx::query!(
            "INSERT INTO job_definitions (id, key, description, domain, job_type, queue, executor, arg_schema,
                 timeout_seconds, max_attempts, retry, stages, limits, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14)
             ON CONFLICT (key) DO NOTHING",
            Uuid::now_v7(),
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
            self.now()
        )
        .execute(&self.work)
        .await
        .map_err(database)?;
        let row = sqlx::query_as!(
            DefinitionRecord,
            "SELECT id, key, description, domain, job_type, queue, executor, arg_schema, timeout_seconds,
                    max_attempts, retry, stages, limits, is_active
             FROM job_definitions WHERE key = $1",
            new.key
        )
        .fetch_optional(&self.work)
        .await
        .map_err(database)?;
        row.ok_or_else(|| StoreError::from(Problem::not_found("This definition")))?.try_into()
    }

    pub(crate) async fn all_definitions(&self) -> StoreResult<Vec<Definition>> {
        sqlx::query_as!(
            DefinitionRecord,
            "SELECT id, key, description, domain, job_type, queue, executor, arg_schema, timeout_seconds,
                    max_attempts, retry, stages, limits, is_active
             FROM job_definitions ORDER BY key"
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?
        .into_iter()
        .map(TryInto::try_into)
        .collect()
    }

    pub(crate) async fn find_definition(&self, id: DefinitionId) -> StoreResult<Option<Definition>> {
        sqlx::query_as!(
            DefinitionRecord,
            "SELECT id, key, description, domain, job_type, queue, executor, arg_schema, timeout_seconds,
                    max_attempts, retry, stages, limits, is_active
             FROM job_definitions WHERE id = $1",
            id.0
        )
        .fetch_optional(&self.work)
        .await
        .map_err(database)?
        .map(TryInto::try_into)
        .transpose()
    }

    pub(crate) async fn switch_definition(
        &self,
        scope: &Scope,
        id: DefinitionId,
        active: bool,
    ) -> StoreResult<()> {
        let now = self.now();
        let mut tx = self.work.begin().await.map_err(database)?;
        let key = sqlx::query_scalar!(
            "UPDATE job_definitions SET is_active = $2, updated_at = $3 WHERE id = $1 RETURNING key",
            id.0,
            active,
            now
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(database)?
        .ok_or_else(|| Problem::not_found("This definition"))?;
        let act = Act {
            tenant: scope.tenant().map(|t| t.0),
            action: if active { "definition.activate" } else { "definition.deactivate" },
            object_type: "definition",
            object_id: &key,
            reason: None,
        };
        audit::record(&mut tx, scope, now, act).await?;
        tx.commit().await.map_err(database)?;
        self.directory.forget();
        self.wakes.tell(&[Wake::Jobs]);
        Ok(())
    }
}
