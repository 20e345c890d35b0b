//! A database under measurement: our store on it, and a plain pool beside it.

use crate::{BenchResult, Sizes, limit_postgres, limit_sqlite, report::Limit};
use leasehold_queue::prelude::*;
use leasehold_queue::{
    Clock, Scope, Store,
    params::{NewDefinition, NewJob, NewTenant},
};
use leasehold_store_postgres::PostgresStore;
use leasehold_store_sqlite::SqliteStore;
use leasehold_types::{DefinitionLimits, TenantId, view::RetryPolicy};
use scratch_postgres::{ScratchPostgres, StartOptions};
use serde_json::json;
use sqlx::{
    ConnectOptions, Connection, PgConnection, PgPool, SqlitePool,
    postgres::{PgConnectOptions, PgPoolOptions},
    sqlite::SqlitePoolOptions,
};
use std::sync::Arc;
use uuid::Uuid;

/// What kind of jobs it has.
pub const DOMAIN: &str = "bench";
pub const JOB_TYPE: &str = "no-op";

pub struct Subject {
    pub database: Database,
    /// History, events and counters on: what users run.
    pub store: Arc<dyn Store>,
    /// The same database without the outbox.
    pub without_outbox: Arc<dyn Store>,
    pub busy: TenantId,
    pub calm: TenantId,
}

pub enum Database {
    Postgres { pool: PgPool, admin: String, name: String, _scratch: Option<ScratchPostgres> },
    Sqlite { pool: SqlitePool, _folder: tempfile::TempDir },
}

impl Subject {
    pub async fn postgres(server: Option<&str>) -> BenchResult<Self> {
        let scratch = match server {
            Some(_) => None,
            None => Some(ScratchPostgres::start(StartOptions { fsync: true })?),
        };
        let admin =
            server.map_or_else(|| scratch.as_ref().map(|s| s.url()).unwrap_or_default(), str::to_owned);
        let name = format!("leasehold_bench_{}", Uuid::now_v7().simple());
        let mut connection = PgConnection::connect(&admin).await?;
        sqlx::raw_sql(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}")))
            .execute(&mut connection)
            .await?;
        let url = with_database(&admin, &name);
        let on = leasehold_store_postgres::Options::default();
        let off = leasehold_store_postgres::Options { outbox: false, ..on.clone() };
        let store = PostgresStore::connect(&url, Clock::system(), on).await?;
        store.migrate().await?;
        let without_outbox = PostgresStore::connect(&url, Clock::system(), off).await?;
        // Filling a million rows takes its time, and that is nobody's news.
        let plain = url.parse::<PgConnectOptions>()?.disable_statement_logging();
        let pool = PgPoolOptions::new().max_connections(16).connect_with(plain).await?;
        let database = Database::Postgres { pool, admin, name, _scratch: scratch };
        Self::furnish(database, store, without_outbox).await
    }

    pub async fn sqlite() -> BenchResult<Self> {
        let folder = tempfile::tempdir()?;
        let url = format!("sqlite:{}", folder.path().join("bench.db").display());
        let on = leasehold_store_sqlite::Options::default();
        let off = leasehold_store_sqlite::Options { outbox: false, ..on.clone() };
        let store = SqliteStore::connect(&url, Clock::system(), on).await?;
        store.migrate().await?;
        let without_outbox = SqliteStore::connect(&url, Clock::system(), off).await?;
        let options = url
            .parse::<sqlx::sqlite::SqliteConnectOptions>()?
            .journal_mode(sqlx::sqlite::SqliteJournalMode::Wal)
            .synchronous(sqlx::sqlite::SqliteSynchronous::Full)
            .busy_timeout(std::time::Duration::from_secs(20))
            .disable_statement_logging();
        let pool = SqlitePoolOptions::new().max_connections(2).connect_with(options).await?;
        Self::furnish(Database::Sqlite { pool, _folder: folder }, store, without_outbox).await
    }

    async fn furnish(
        database: Database,
        store: Arc<dyn Store>,
        without_outbox: Arc<dyn Store>,
    ) -> BenchResult<Self> {
        let scope = Scope::system("bench");
        let mut tenants = Vec::new();
        for slug in ["busy", "calm"] {
            let tenant = NewTenant { slug: slug.into(), name: slug.into(), timezone: "UTC".into() };
            tenants.push(store.create_tenant(&scope, tenant).await?.id);
        }
        store.ensure_definition(definition()).await?;
        Ok(Self { database, store, without_outbox, busy: tenants[0], calm: tenants[1] })
    }

    pub fn name(&self) -> &'static str {
        self.store.engine_name()
    }

    pub async fn limit(&self, sizes: &Sizes) -> BenchResult<Limit> {
        match &self.database {
            Database::Postgres { pool, .. } => limit_postgres::measure(pool, sizes).await,
            Database::Sqlite { pool, .. } => limit_sqlite::measure(pool, sizes).await,
        }
    }

    /// Between measurements: what a calm minute would do, so that one part does not pay for another's litter.
    pub async fn settle(&self) -> BenchResult<()> {
        self.store.fold_counters().await?;
        match &self.database {
            Database::Postgres { pool, .. } => {
                for table in ["jobs", "job_attempts", "job_events", "job_counter_deltas"] {
                    let vacuum = sqlx::AssertSqlSafe(format!("VACUUM (ANALYZE) {table}"));
                    sqlx::raw_sql(vacuum).execute(pool).await?;
                }
                sqlx::raw_sql("CHECKPOINT").execute(pool).await?;
            }
            Database::Sqlite { pool, .. } => {
                sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(pool).await?;
            }
        }
        Ok(())
    }

    /// Drops the database made on someone else's server.
    pub async fn close(self) -> BenchResult<()> {
        if let Database::Postgres { pool, admin, name, _scratch: None } = self.database {
            pool.close().await;
            let mut connection = PgConnection::connect(&admin).await?;
            let drop = sqlx::AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)"));
            sqlx::raw_sql(drop).execute(&mut connection).await?;
        }
        Ok(())
    }
}

fn with_database(url: &str, name: &str) -> String {
    let (url, query) = url.split_once('?').map_or((url, None), |(u, q)| (u, Some(q)));
    let base = url.rsplit_once('/').map_or(url, |(base, _)| base);
    query.map_or_else(|| format!("{base}/{name}"), |q| format!("{base}/{name}?{q}"))
}

fn definition() -> NewDefinition {
    NewDefinition {
        key: JOB_TYPE.into(),
        description: String::new(),
        domain: DOMAIN.into(),
        job_type: JOB_TYPE.into(),
        queue: "default".into(),
        executor: "builtin".into(),
        arg_schema: json!({}),
        timeout_seconds: 60,
        max_attempts: 3,
        retry: RetryPolicy::default(),
        stages: vec![],
        limits: DefinitionLimits::default(),
    }
}

pub fn no_op(tenant: TenantId) -> NewJob {
    NewJob {
        trace_id: String::new(),
        requested_by: "bench".into(),
        ..NewJob::new(tenant, DOMAIN, JOB_TYPE, json!({"n": 1}))
    }
}
