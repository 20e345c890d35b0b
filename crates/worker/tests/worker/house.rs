//! A whole worker on a throw-away database, SQLite unless told otherwise, with a command book made up by the test.

use leasehold_queue::{Clock, Engine, EngineConfig, Scope, Store, engine::EnqueueRequest, transition::Rules};
use leasehold_store_postgres::PostgresStore;
use leasehold_store_sqlite::{Options, SqliteStore};
use leasehold_types::{
    JobRef, LogStream, Source, TenantId, TenantLimits,
    view::{AttemptView, JobDetail},
};
use leasehold_worker::{CommandBook, Pool, PoolConfig, Registry, builtin};
use scratch_postgres::fresh_database;
use serde_json::Value;
use std::{path::Path, sync::Arc, time::Duration};
use tokio::{task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

/// Nothing here takes this long unless something is broken.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct House {
    pub engine: Arc<Engine>,
    pub folder: tempfile::TempDir,
    book: Arc<CommandBook>,
    pub tenant: TenantId,
    pub scope: Scope,
}

/// Which database a test runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum On {
    Sqlite,
    Postgres,
}

pub struct Worker {
    pub shutdown: CancellationToken,
    pub id: String,
    task: JoinHandle<()>,
}

impl House {
    pub async fn with_commands(book: &str) -> Self {
        Self::open(On::Sqlite, book).await
    }

    /// With nothing but what is built in.
    pub async fn on(database: On) -> Self {
        Self::open(database, "").await
    }

    async fn open(database: On, book: &str) -> Self {
        let book = CommandBook::parse(book, Path::new("test")).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::system();
        let store: Arc<dyn Store> = match database {
            On::Sqlite => {
                let url = format!("sqlite:{}", folder.path().join("jobs.db").display());
                SqliteStore::connect(&url, clock.clone(), Options::default()).await.unwrap()
            }
            On::Postgres => {
                let options = leasehold_store_postgres::Options::default();
                PostgresStore::connect(&fresh_database(), clock.clone(), options).await.unwrap()
            }
        };
        store.migrate().await.unwrap();
        let rules = Rules { quarantine_threshold: 0, ..Rules::default() };
        let config = EngineConfig { rules, ..EngineConfig::default() };
        let engine = Arc::new(Engine::new(store.clone(), clock, config));
        let scope = Scope::system("test");
        let tenant = engine.create_tenant(&scope, "Acme", None, None).await.unwrap().id;
        for definition in book.definitions().into_iter().chain(builtin::definitions()) {
            store.ensure_definition(definition).await.unwrap();
        }
        Self { engine, folder, book: Arc::new(book), tenant, scope }
    }

    pub fn config() -> PoolConfig {
        PoolConfig {
            poll: Duration::from_millis(100),
            shutdown_wait: Duration::ZERO,
            guard_program: env!("CARGO_BIN_EXE_leasehold-guard").into(),
            ..PoolConfig::default()
        }
    }

    pub fn start(&self, config: PoolConfig) -> Worker {
        Worker::start(Pool::new(self.engine.clone(), self.book.clone(), config))
    }

    pub fn start_with(&self, registry: Registry, config: PoolConfig) -> Worker {
        Worker::start(Pool::with_registry(self.engine.clone(), registry, config))
    }

    pub async fn enqueue(&self, key: &str, payload: Value) -> i64 {
        let request = EnqueueRequest::new(key, payload, Source::Manual);
        self.engine.enqueue(&self.scope, self.tenant, request).await.unwrap().job.number
    }

    /// How many jobs of the tenant may run at a time.
    pub async fn limit_tenant(&self, jobs: i64) {
        let limits = TenantLimits { max_in_flight: Some(jobs), ..TenantLimits::default() };
        self.engine.store().set_tenant_limits(&self.scope, self.tenant, limits).await.unwrap();
    }

    pub async fn job(&self, number: i64) -> JobDetail {
        self.engine.job(&self.scope, JobRef::Number(number)).await.unwrap()
    }

    pub async fn cancel(&self, number: i64) {
        self.engine.cancel(&self.scope, JobRef::Number(number), "enough").await.unwrap();
    }

    /// Waits until the job is as wanted.
    pub async fn until(&self, number: i64, wanted: impl Fn(&JobDetail) -> bool) -> JobDetail {
        self.until_within(PATIENCE, number, wanted).await
    }

    pub async fn until_within(
        &self,
        patience: Duration,
        number: i64,
        wanted: impl Fn(&JobDetail) -> bool,
    ) -> JobDetail {
        let looking = async {
            loop {
                let job = self.job(number).await;
                if wanted(&job) {
                    return job;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        match timeout(patience, looking).await {
            Ok(job) => job,
            Err(_) => panic!("it never came to that: {:#?}", self.job(number).await),
        }
    }

    /// Takes the job back as soon as its lease has run out.
    pub async fn reclaimed(&self, number: i64) {
        let taking = async {
            loop {
                let rules = &self.engine.config().rules;
                let lost = self.engine.store().reclaim_expired(rules, 10).await.unwrap();
                if lost.iter().any(|job| job.number == number) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(PATIENCE, taking).await.expect("the lease runs out");
    }

    pub async fn finished(&self, number: i64) -> JobDetail {
        self.until(number, |job| job.row.status.is_finished()).await
    }
}

impl Worker {
    fn start(pool: Pool) -> Self {
        let shutdown = CancellationToken::new();
        let id = pool.worker_id().to_string();
        Self { id, task: tokio::spawn(pool.run(shutdown.clone())), shutdown }
    }

    /// Ends it as if its machine had lost its power: nothing is renewed, released or said any more.
    pub fn vanish(self) {
        self.task.abort();
    }

    /// Asks it to end and waits until it has.
    pub async fn stop(self) {
        self.shutdown.cancel();
        timeout(PATIENCE, self.task).await.expect("the pool ends").unwrap();
    }
}

pub fn lines(attempt: &AttemptView, stream: LogStream) -> Vec<&str> {
    attempt.logs.iter().filter(|line| line.stream == stream).map(|line| line.text.as_str()).collect()
}

/// Whether a process of that id exists (a zombie does not count).
pub fn lives(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Waits for something that happens outside of this process.
pub async fn eventually(what: &str, happened: impl Fn() -> bool) {
    let waiting = async {
        while !happened() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("never happened: {what}"));
}

/// The number another program writes into a file.
pub async fn number_in(path: &Path) -> i32 {
    let read = || std::fs::read_to_string(path).ok()?.trim().parse::<i32>().ok();
    eventually("a number in a file", || read().is_some()).await;
    read().unwrap()
}
