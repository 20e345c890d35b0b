//! Real processes to be killed, and the ledger they keep outside the database.
//!
//! Two kinds of client: one enqueues, one claims and finishes. Each writes what the store *answered* into an
//! append-only file, one line per fact, before it goes on. A `kill -9` may lose the last line, never a fact that
//! was not true. The test then holds the database to the ledger: what was acknowledged is there and done, what
//! was accepted was accepted once.

use leasehold_queue::{
    Clock, Scope, Store, StoreError,
    params::{AttemptFacts, ClaimedJob, Finish, FinishAnswer, NewJob, Selector},
    transition::{Ending, Failure, Rules},
};
use leasehold_types::{
    TenantId, WorkerId,
    view::{Jitter, RetryPolicy},
};
use serde_json::json;
use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::Path,
    sync::Arc,
    time::Duration,
};
use uuid::Uuid;

/// Short, so that a killed worker's jobs come back while the test still runs.
pub const LEASE: Duration = Duration::from_millis(700);
const BATCH: u32 = 10;

pub async fn open(url: &str) -> Result<Arc<dyn Store>, StoreError> {
    if url.starts_with("sqlite:") {
        let options = leasehold_store_sqlite::Options::default();
        return Ok(leasehold_store_sqlite::SqliteStore::connect(url, Clock::system(), options).await?);
    }
    let options = leasehold_store_postgres::Options::default();
    Ok(leasehold_store_postgres::PostgresStore::connect(url, Clock::system(), options).await?)
}

/// Retries at once, and never gives up by itself: only completions end a job.
pub fn rules() -> Rules {
    let retry =
        RetryPolicy { base_seconds: 0.05, cap_seconds: 0.2, jitter: Jitter::Full, ..RetryPolicy::default() };
    Rules { quarantine_threshold: 0, retry }
}

/// Facts, one per line, appended in one write each.
pub struct Ledger(File);

impl Ledger {
    pub fn open(path: &Path) -> std::io::Result<Self> {
        OpenOptions::new().create(true).append(true).open(path).map(Self)
    }

    pub fn note(&mut self, fact: &str) -> std::io::Result<()> {
        self.0.write_all(format!("{fact}\n").as_bytes())
    }
}

/// Enqueues until it is killed; notes `made NUMBER` for every acknowledged job.
pub async fn enqueue_for_ever(
    store: Arc<dyn Store>,
    tenant: TenantId,
    mut ledger: Ledger,
) -> std::io::Result<()> {
    loop {
        let jobs = (0..5).map(|_| new_job(tenant)).collect();
        match store.create_jobs(&Scope::system("faults"), jobs).await {
            Ok(answers) => {
                for made in answers.into_iter().flatten() {
                    ledger.note(&format!("made {}", made.number))?;
                }
            }
            Err(error) => rest(&error).await,
        }
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
}

/// Claims and finishes until it is killed; notes `done NUMBER ATTEMPT` for every accepted completion and
/// `stale NUMBER ATTEMPT` for every refused one.
pub async fn work_for_ever(store: Arc<dyn Store>, mut ledger: Ledger) -> std::io::Result<()> {
    let worker = WorkerId(format!("faults:{}:{}", std::process::id(), Uuid::now_v7().simple()));
    loop {
        let jobs = match store.claim(&worker, &Selector::default(), BATCH, LEASE).await {
            Ok(jobs) => jobs,
            Err(error) => {
                rest(&error).await;
                continue;
            }
        };
        if jobs.is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
        finish(store.as_ref(), jobs, &mut ledger).await?;
    }
}

async fn finish(store: &dyn Store, jobs: Vec<ClaimedJob>, ledger: &mut Ledger) -> std::io::Result<()> {
    let items: Vec<_> = jobs.iter().map(ending).collect();
    loop {
        match store.finish(&rules(), items.clone()).await {
            Ok(answers) => {
                for ((job, item), answer) in jobs.iter().zip(&items).zip(answers) {
                    if item.ending == Ending::Completed {
                        let word = match answer {
                            FinishAnswer::Applied(_) | FinishAnswer::AlreadyDone(_) => "done",
                            FinishAnswer::Stale | FinishAnswer::NotFound => "stale",
                        };
                        ledger.note(&format!("{word} {} {}", job.lease.number, job.attempt))?;
                    }
                }
                return Ok(());
            }
            // Not knowing whether it was applied, ask again with the same token.
            Err(error) => rest(&error).await,
        }
    }
}

/// Every seventh first attempt fails, the rest complete.
fn ending(job: &ClaimedJob) -> Finish {
    let fails = job.attempt == 1 && job.lease.number % 7 == 0;
    let failure =
        Failure { error_code: Some("seven".into()), message: "a seventh".into(), ..Failure::default() };
    Finish {
        lease: job.lease.clone(),
        ending: if fails { Ending::Failed(failure) } else { Ending::Completed },
        result: None,
        facts: AttemptFacts::default(),
        token: Some(job.lease.lease_id.to_string()),
        policy: None,
    }
}

async fn rest(error: &StoreError) {
    if !matches!(error, StoreError::Database { .. }) {
        eprintln!("unexpected: {error}");
    }
    tokio::time::sleep(Duration::from_millis(30)).await;
}

fn new_job(tenant: TenantId) -> NewJob {
    NewJob {
        trace_id: String::new(),
        requested_by: "faults".into(),
        max_attempts: 100,
        ..NewJob::new(tenant, "faults", "no-op", json!({}))
    }
}
