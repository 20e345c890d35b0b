//! The policies of kinds of jobs.

use crate::{
    SqliteStore,
    audit::{Deed, audit},
    convert::{Table, to_json},
    error::{Error, Outcome, taken},
};
use leasehold_queue::{
    Scope,
    administration::DefinitionChange,
    params::{NewDefinition, Wake},
};
use leasehold_types::{DefinitionId, Problem, ProblemCode, view::Definition};
use sqlx::SqliteConnection;
use uuid::Uuid;

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

pub(crate) async fn ensure(store: &SqliteStore, new: NewDefinition) -> Outcome<Definition> {
    let mut tx = store.begin().await?;
    insert(&mut tx, &new, &store.clock.now().to_string()).await?;
    let row = sqlx::query_as!(
        DefinitionRecord,
        "SELECT id, key, description, domain, job_type, queue, executor, arg_schema, timeout_seconds,
                max_attempts, retry, stages, limits, is_active
         FROM job_definitions WHERE key = ?1",
        new.key
    )
    .fetch_one(&mut *tx)
    .await?;
    tx.commit().await?;
    row.try_into()
}

/// Leaves the definition alone that already has this key; a person may have edited it.
async fn insert(connection: &mut SqliteConnection, new: &NewDefinition, now: &str) -> Outcome<()> {
    let id = Uuid::now_v7().to_string();
    let (arg_schema, retry) = (to_json(&new.arg_schema)?, to_json(&new.retry)?);
    let (stages, limits) = (to_json(&new.stages)?, to_json(&new.limits)?);
    sqlx::query!(
        "INSERT INTO job_definitions (id, key, description, domain, job_type, queue, executor, arg_schema,
                                      timeout_seconds, max_attempts, retry, stages, limits, created_at,
                                      updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?14)
         ON CONFLICT (key) DO NOTHING",
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
        now
    )
    .execute(connection)
    .await
    .map_err(|error| taken(error, "Another definition already has this domain and job type."))?;
    Ok(())
}

pub(crate) async fn create(
    store: &SqliteStore,
    scope: &Scope,
    new: NewDefinition,
    active: bool,
) -> Outcome<Definition> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let exists = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT 1 FROM job_definitions WHERE key = ?1) AS "exists!: bool""#,
        new.key
    )
    .fetch_one(&mut *tx)
    .await?;
    if exists {
        let detail = "A definition with this key exists already. Nothing was changed.";
        return Err(Problem::new(ProblemCode::AlreadyExists, detail).with_field("key", detail).into());
    }
    let at = now.to_string();
    insert(&mut tx, &new, &at).await?;
    let made = sqlx::query_as!(
        DefinitionRecord,
        r#"UPDATE job_definitions SET is_active = ?2 WHERE key = ?1
           RETURNING id AS "id!", key AS "key!", description AS "description!", domain AS "domain!",
                     job_type AS "job_type!", queue AS "queue!", executor AS "executor!",
                     arg_schema AS "arg_schema!", timeout_seconds AS "timeout_seconds!",
                     max_attempts AS "max_attempts!", retry AS "retry!", stages AS "stages!", limits AS "limits!",
                     is_active AS "is_active!""#,
        new.key,
        active
    )
    .fetch_one(&mut *tx)
    .await?;
    audit(&mut tx, scope, &[deed(scope, "definition.create", &made.key)], now).await?;
    tx.commit().await?;
    made.try_into()
}

pub(crate) async fn change(
    store: &SqliteStore,
    scope: &Scope,
    id: DefinitionId,
    change: DefinitionChange,
) -> Outcome<Definition> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let (id, at) = (id.to_string(), now.to_string());
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
                     max_attempts AS "max_attempts!", retry AS "retry!", stages AS "stages!", limits AS "limits!",
                     is_active AS "is_active!""#,
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
        at
    )
    .fetch_optional(&mut *tx)
    .await?
    .ok_or_else(|| Problem::not_found("This definition"))?;
    let deed = deed(scope, "definition.update", &changed.key).because(Some(&change.names()));
    audit(&mut tx, scope, &[deed], now).await?;
    tx.commit().await?;
    // Jobs that waited for it may be ready.
    store.bell.ring(Wake::Jobs);
    changed.try_into()
}

fn deed(scope: &Scope, action: &'static str, key: &str) -> Deed {
    Deed::new(scope.tenant(), action, "definition", key)
}

pub(crate) async fn all(store: &SqliteStore) -> Outcome<Vec<Definition>> {
    let rows = sqlx::query_as!(
        DefinitionRecord,
        "SELECT id, key, description, domain, job_type, queue, executor, arg_schema, timeout_seconds,
                max_attempts, retry, stages, limits, is_active
         FROM job_definitions ORDER BY key"
    )
    .fetch_all(&store.read)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

pub(crate) async fn one(store: &SqliteStore, id: DefinitionId) -> Outcome<Option<Definition>> {
    let id = id.to_string();
    let row = sqlx::query_as!(
        DefinitionRecord,
        "SELECT id, key, description, domain, job_type, queue, executor, arg_schema, timeout_seconds,
                max_attempts, retry, stages, limits, is_active
         FROM job_definitions WHERE id = ?1",
        id
    )
    .fetch_optional(&store.read)
    .await?;
    row.map(TryInto::try_into).transpose()
}

pub(crate) async fn set_active(
    store: &SqliteStore,
    scope: &Scope,
    id: DefinitionId,
    active: bool,
) -> Outcome<()> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let (id, at) = (id.to_string(), now.to_string());
    let key = sqlx::query_scalar!(
        r#"UPDATE job_definitions SET is_active = ?2, updated_at = ?3 WHERE id = ?1 RETURNING key AS "key!: String""#,
        id,
        active,
        at
    )
    .fetch_optional(&mut *tx)
    .await?
    .ok_or_else(|| Problem::not_found("This definition"))?;
    let action = if active { "definition.activate" } else { "definition.deactivate" };
    audit(&mut tx, scope, &[deed(scope, action, &key)], now).await?;
    tx.commit().await?;
    // Jobs that waited for it may be ready.
    store.bell.ring(Wake::Jobs);
    Ok(())
}
