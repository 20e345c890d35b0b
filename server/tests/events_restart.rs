//! A reader of the event stream whose server is killed and restarted while about a thousand events a second are
//! written: nothing is missing, nothing comes twice, all is in order.

mod common;

use common::{
    House, Serving,
    program::{Programs, hear},
};
use leasehold_queue::{Clock, Scope, Store, params::NewJob};
use leasehold_types::TenantId;
use nix::sys::signal::Signal;
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

on_both_databases! { a_reader_survives_restarts_under_load }

const WRITERS: u64 = 4;
const BATCH: usize = 10;
/// Four writers of ten jobs each, twenty-five times a second.
const PACE: Duration = Duration::from_millis(40);
const PATIENCE: Duration = Duration::from_secs(60);
/// Events between one restart and the next.
const STRETCH: usize = 2_000;

async fn open(url: &str) -> Arc<dyn Store> {
    if url.starts_with("sqlite:") {
        let options = leasehold_store_sqlite::Options::default();
        return leasehold_store_sqlite::SqliteStore::connect(url, Clock::system(), options).await.unwrap();
    }
    let options = leasehold_store_postgres::Options::default();
    leasehold_store_postgres::PostgresStore::connect(url, Clock::system(), options).await.unwrap()
}

/// Writes until it is told to stop; some transactions are slower than others, so that ids become visible out of order.
async fn write(store: Arc<dyn Store>, tenants: [TenantId; 2], stop: Arc<AtomicBool>) {
    let mut tick = tokio::time::interval(PACE);
    while !stop.load(Ordering::Relaxed) {
        tick.tick().await;
        let jobs =
            (0..BATCH).map(|n| NewJob::new(tenants[usize::from(n == 0)], "media", "steps", json!({"n": n})));
        for answer in store.create_jobs(&Scope::system("test"), jobs.collect()).await.unwrap() {
            answer.unwrap();
        }
    }
}

async fn tenant(store: &Arc<dyn Store>, slug: &str) -> TenantId {
    store.tenant_by_slug(&Scope::system("test"), slug).await.unwrap().unwrap().id
}

/// The ids of a tenant's events, as the database has them in the end.
async fn truth(store: &Arc<dyn Store>, tenant: TenantId) -> Vec<i64> {
    let scope = Scope::system("test").within(tenant);
    let mut ids = Vec::new();
    loop {
        let after = ids.last().copied().unwrap_or(0);
        let page = store.events(&scope, after, i64::MAX, 1_000).await.unwrap();
        if page.is_empty() {
            return ids;
        }
        ids.extend(page.iter().map(|event| event.event.id));
    }
}

struct Reader {
    key: String,
    seen: Vec<i64>,
    began: Instant,
}

impl Reader {
    /// Follows one server until so many events were seen, or until the stream breaks off.
    fn follow(&mut self, server: &Serving, until: usize) {
        let last = self.seen.last().copied().unwrap_or(0).to_string();
        let mut ear = hear(server, &self.key, "/jobs/events/stream", &[("last-event-id", &last)]);
        while self.seen.len() < until {
            assert!(self.began.elapsed() < 4 * PATIENCE, "only {} events in time", self.seen.len());
            let Some(told) = ear.next() else { return };
            assert_ne!(told.event, "resync");
            if told.event.is_empty() {
                self.seen.push(told.id.unwrap());
            }
        }
    }

    /// What still comes after the server was told to end.
    fn drain(&mut self, server: &Serving, signal: Signal) {
        let last = self.seen.last().copied().unwrap_or(0).to_string();
        let mut ear = hear(server, &self.key, "/jobs/events/stream", &[("last-event-id", &last)]);
        ear.next();
        server.signal(signal);
        for told in ear.rest() {
            assert_eq!(told.event, "");
            self.seen.push(told.id.unwrap());
        }
    }
}

fn a_reader_survives_restarts_under_load(house: House) {
    let Programs { house, mut server, key } = Programs::new(house);
    let writers = tokio::runtime::Runtime::new().unwrap();
    let store = writers.block_on(open(&house.db_url()));
    let tenants = writers.block_on(async { [tenant(&store, "acme").await, tenant(&store, "other").await] });
    let stop = Arc::new(AtomicBool::new(false));
    let ended = Arc::new(AtomicUsize::new(0));
    for _ in 0..WRITERS {
        let (work, ended) = (write(store.clone(), tenants, stop.clone()), ended.clone());
        writers.spawn(async move {
            work.await;
            ended.fetch_add(1, Ordering::Release);
        });
    }
    let began = Instant::now();
    let mut reader = Reader { key, seen: Vec::new(), began };
    for signal in [Signal::SIGKILL, Signal::SIGTERM, Signal::SIGKILL] {
        let until = reader.seen.len() + STRETCH;
        reader.follow(&server, until);
        reader.drain(&server, signal);
        server.ended(PATIENCE);
        server = house.serve(&[]);
    }
    stop.store(true, Ordering::Relaxed);
    while ended.load(Ordering::Acquire) < WRITERS as usize {
        assert!(began.elapsed() < 4 * PATIENCE, "the writers failed");
        std::thread::sleep(Duration::from_millis(10));
    }
    let took = began.elapsed();
    let expected = writers.block_on(truth(&store, tenants[0]));
    reader.follow(&server, expected.len());
    println!("{} events in {took:?}", expected.len());
    assert!(expected.len() >= 3 * STRETCH, "{}", expected.len());
    let missing = expected.iter().filter(|id| reader.seen.binary_search(id).is_err()).count();
    assert!(reader.seen.is_sorted_by(|a, b| a < b), "in order, and none twice");
    assert_eq!((reader.seen.len(), missing), (expected.len(), 0));
    assert_eq!(reader.seen, expected);
}
