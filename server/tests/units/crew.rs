//! A database with a tenant, and real worker processes on it.

use crate::common::House;
use leasehold_queue::{Clock, Engine, EngineConfig, Scope, Store, engine::EnqueueRequest};
use leasehold_store_postgres::PostgresStore;
use leasehold_store_sqlite::SqliteStore;
use leasehold_types::{JobRef, Source, TenantId, unit::UnitsView, view::JobDetail};
use scratch_postgres::{ScratchPostgres, StartOptions};
use serde_json::{Value, json};
use std::{
    process::{Child, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

pub struct Crew {
    house: House,
    url: String,
    engine: Engine,
    tenant: TenantId,
    workers: Vec<Child>,
    _postgres: Option<ScratchPostgres>,
}

impl Crew {
    pub async fn on_sqlite(providers: &str) -> Self {
        let house = House::new();
        let url = format!("sqlite:{}", house.dir.path().join("units.db").display());
        let store = SqliteStore::connect(&url, Clock::system(), Default::default()).await.unwrap();
        Self::new(house, url, store, None, providers).await
    }

    pub async fn on_postgres(providers: &str) -> Self {
        let postgres = ScratchPostgres::start(StartOptions { fsync: true }).unwrap();
        let url = postgres.url();
        let store = PostgresStore::connect(&url, Clock::system(), Default::default()).await.unwrap();
        Self::new(House::new(), url, store, Some(postgres), providers).await
    }

    async fn new(
        house: House,
        url: String,
        store: Arc<dyn Store>,
        postgres: Option<ScratchPostgres>,
        providers: &str,
    ) -> Self {
        store.migrate().await.unwrap();
        std::fs::write(house.dir.path().join("providers.toml"), providers).unwrap();
        std::fs::write(house.dir.path().join("commands.toml"), "").unwrap();
        let engine = Engine::new(store, Clock::system(), EngineConfig::default());
        let tenant = engine.create_tenant(&Scope::system("test"), "Acme", None, None).await.unwrap().id;
        Self { house, url, engine, tenant, workers: Vec::new(), _postgres: postgres }
    }

    /// One more process that runs one job at a time.
    pub fn hire(&mut self) {
        let log = self.house.dir.path().join(format!("worker-{}.log", self.workers.len()));
        let child = self
            .house
            .command(&["worker", "--concurrency", "1", "--db", &self.url])
            .env("JOBS_LEASE_SECONDS", "3")
            .env("JOBS_LEASE_RENEW_SECONDS", "1")
            .env("JOBS_LEASE_RENEW_JITTER_SECONDS", "0")
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(log).unwrap())
            .spawn()
            .unwrap();
        self.workers.push(child);
    }

    /// `kill -9`.
    pub fn kill(&mut self, worker: usize) {
        self.workers[worker].kill().unwrap();
        self.workers[worker].wait().unwrap();
    }

    /// A book of so many pages, each with a text of its own.
    pub async fn enqueue_book(&self, title: &str, pages: usize) -> i64 {
        let pages: Vec<Value> = (1..=pages).map(|page| json!({"text": page_text(title, page)})).collect();
        self.until("the workers have made their definitions", async || {
            self.engine.definitions_changed();
            self.engine.definition_by_key("books.ocr-correct").await.ok()
        })
        .await;
        let request = EnqueueRequest::new(
            "books.ocr-correct",
            json!({"pages": pages, "llm_provider": "chat"}),
            Source::Manual,
        );
        self.engine.enqueue(&Scope::system("test"), self.tenant, request).await.unwrap().job.number
    }

    pub async fn job(&self, number: i64) -> JobDetail {
        self.engine.job(&Scope::system("test"), JobRef::Number(number)).await.unwrap()
    }

    pub async fn units(&self, number: i64, limit: u32) -> UnitsView {
        let scope = Scope::system("test");
        self.engine.store().units(&scope, JobRef::Number(number), limit).await.unwrap()
    }

    pub async fn finished(&self, number: i64) -> JobDetail {
        self.until("the job has ended", async || {
            let job = self.job(number).await;
            job.row.status.is_finished().then_some(job)
        })
        .await
    }

    pub async fn until<T>(&self, what: &str, look: impl AsyncFn() -> Option<T>) -> T {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(120) {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("it never came to this: {what}. {}", self.logs());
    }

    pub fn logs(&self) -> String {
        let log = |n: usize| self.house.dir.path().join(format!("worker-{n}.log"));
        (0..self.workers.len()).map(|n| std::fs::read_to_string(log(n)).unwrap_or_default()).collect()
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            // Ended already is fine.
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}

pub fn page_text(title: &str, page: usize) -> String {
    format!("{title} page {page}")
}
