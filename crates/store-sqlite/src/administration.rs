//! The archive, and the database as it describes itself.

use crate::{SqliteStore, convert::Table, counters, error::Outcome};
use async_trait::async_trait;
use leasehold_queue::{
    Administration, Scope, StoreResult,
    administration::{ArchivedJob, DatabaseFacts, Examination},
};
use leasehold_types::JobRef;

const ARCHIVE: Table = Table("jobs_archive");
const EVENTS: Table = Table("job_events");

#[async_trait]
impl Administration for SqliteStore {
    async fn archived_job(&self, scope: &Scope, job: JobRef) -> StoreResult<Option<ArchivedJob>> {
        Ok(archived(self, scope, job).await?)
    }

    async fn examine(&self) -> StoreResult<Examination> {
        Ok(examine(self).await?)
    }
}

async fn archived(store: &SqliteStore, scope: &Scope, job: JobRef) -> Outcome<Option<ArchivedJob>> {
    let (number, id) = match job {
        JobRef::Number(number) => (Some(number), None),
        JobRef::Id(id) => (None, Some(id.to_string())),
    };
    let only = scope.tenant().map(|id| id.to_string());
    let row = sqlx::query!(
        r#"SELECT number AS "number!: i64", id AS "id!: String", tenant_id AS "tenant_id!: String",
                  domain AS "domain!: String", queue AS "queue!: String", job_type AS "job_type!: String",
                  status AS "status!: String", archived_at AS "archived_at!: String",
                  COALESCE(json_type(job, '$.payload'), 'null') <> 'null' AS "has_payload!: bool",
                  COALESCE(json_type(job, '$.result'), 'null') <> 'null' AS "has_result!: bool"
           FROM jobs_archive WHERE (number = ?1 OR id = ?2) AND (?3 IS NULL OR tenant_id = ?3)"#,
        number,
        id,
        only
    )
    .fetch_optional(&store.read)
    .await?;
    let Some(row) = row else { return Ok(None) };
    scope.check_domain(&row.domain)?;
    Ok(Some(ArchivedJob {
        number: row.number,
        id: ARCHIVE.parse("id", &row.id)?,
        tenant_id: ARCHIVE.parse("tenant_id", &row.tenant_id)?,
        status: ARCHIVE.parse("status", &row.status)?,
        archived_at: ARCHIVE.time("archived_at", &row.archived_at)?,
        has_payload: row.has_payload,
        has_result: row.has_result,
        domain: row.domain,
        queue: row.queue,
        job_type: row.job_type,
    }))
}

async fn examine(store: &SqliteStore) -> Outcome<Examination> {
    let events = sqlx::query!(
        r#"SELECT COALESCE(MAX(id) - MIN(id) + 1, 0) AS "events!: i64",
                  (SELECT created_at FROM job_events ORDER BY id LIMIT 1) AS "oldest: String"
           FROM job_events"#
    )
    .fetch_one(&store.read)
    .await?;
    Ok(Examination {
        database: describe(store).await?,
        events: events.events,
        oldest_event_at: EVENTS.time_opt("created_at", events.oldest.as_deref())?,
        wrong_counters: counters::find_wrong(&mut *store.read.acquire().await?).await?.len() as i64,
    })
}

/// What the writing connection was given: pragmas belong to a connection.
async fn describe(store: &SqliteStore) -> Outcome<DatabaseFacts> {
    let mut connection = store.write.acquire().await?;
    let file: String = sqlx::query_scalar("SELECT file FROM pragma_database_list WHERE name = 'main'")
        .fetch_one(&mut *connection)
        .await?;
    Ok(DatabaseFacts::Sqlite {
        file,
        journal_mode: sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&mut *connection).await?,
        synchronous: sqlx::query_scalar("PRAGMA synchronous").fetch_one(&mut *connection).await?,
        foreign_keys: sqlx::query_scalar("PRAGMA foreign_keys").fetch_one(&mut *connection).await?,
        sound: sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut *connection).await?,
    })
}
