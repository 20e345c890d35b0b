//! Definitions: the policy of each kind of job.

use crate::{
    PostgresStore,
    audit::{self, Act},
    convert::{as_json, parsed},
    error::database,
};
use leasehold_queue::{
    Scope, StoreError, StoreResult,
    administration::DefinitionChange,
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

fn act<'a>(scope: &Scope, action: &'a str, key: &'a str, reason: Option<&'a str>) -> Act<'a> {
    Act { tenant: scope.tenant().map(|t| t.0), action, object_type: "definition", object_id: key, reason }
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

    pub(crate) async fn make_definition(
        &self,
        scope: &Scope,
        new: NewDefinition,
        active: bool,
    ) -> StoreResult<Definition> {
        let now = self.now();
        let mut tx = self.work.begin().await.map_err(database)?;
        let made = sqlx::query_as!(
            DefinitionRecord,
            "INSERT INTO job_definitions (id, key, description, domain, job_type, queue, executor, arg_schema,
                 timeout_seconds, max_attempts, retry, stages, limits, is_active, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15)
             RETURNING id, key, description, domain, job_type, queue, executor, arg_schema, timeout_seconds,
                       max_attempts, retry, stages, limits, is_active",
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
            active,
            now
        )
        .fetch_one(&mut *tx)
        .await
        .map_err(database)?;
        audit::record(&mut tx, scope, now, act(scope, "definition.create", &made.key, None)).await?;
        tx.commit().await.map_err(database)?;
        made.try_into()
    }

    pub(crate) async fn change_definition(
        &self,
        scope: &Scope,
        id: DefinitionId,
        change: DefinitionChange,
    ) -> StoreResult<Definition> {
        let now = self.now();
        let names = change.names();
        let mut tx = self.work.begin().await.map_err(database)?;
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
        .fetch_optional(&mut *tx)
        .await
        .map_err(database)?
        .ok_or_else(|| Problem::not_found("This definition"))?;
        let act = act(scope, "definition.update", &changed.key, Some(&names));
        audit::record(&mut tx, scope, now, act).await?;
        tx.commit().await.map_err(database)?;
        // Jobs that waited for it may be ready.
        self.directory.forget();
        self.wakes.tell(&[Wake::Jobs]);
        changed.try_into()
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
        let action = if active { "definition.activate" } else { "definition.deactivate" };
        audit::record(&mut tx, scope, now, act(scope, action, &key, None)).await?;
        tx.commit().await.map_err(database)?;
        self.directory.forget();
        self.wakes.tell(&[Wake::Jobs]);
        Ok(())
    }
}
