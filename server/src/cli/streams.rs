//! `leasehold bench --streams`: many live streams on one serving process, and how soon its events reach them.
//!
//! The server is a child process with a database of its own, so that its memory is its own. Jobs are enqueued through it
//! at a steady pace; the time runs from sending the request to the event's line at the client, so it includes the
//! request itself and its commit.

mod clients;
mod house;

use super::failed;
use clients::Heard;
use house::House;
use leasehold_types::Problem;
use serde::Serialize;
use std::{
    collections::HashMap,
    fmt,
    time::{Duration, Instant},
};

#[derive(Clone, Copy)]
pub struct StreamSizes {
    pub streams: usize,
    pub events: usize,
    pub per_second: u32,
}

impl StreamSizes {
    pub fn full() -> Self {
        Self { streams: 1_000, events: 400, per_second: 20 }
    }

    pub fn quick() -> Self {
        Self { streams: 1_000, events: 60, per_second: 10 }
    }
}

#[derive(Serialize)]
pub struct StreamReport {
    pub database: String,
    pub streams: usize,
    pub events: usize,
    /// Of the events that should have come to each stream.
    pub delivered_share: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub worst_ms: f64,
    pub memory_before_kib: u64,
    pub memory_after_kib: u64,
    pub kib_per_stream: f64,
}

const PROMISED_P99_MS: f64 = 250.0;
const PROMISED_KIB: f64 = 64.0;

impl StreamReport {
    pub fn is_kept(&self) -> bool {
        self.delivered_share >= 1.0 && self.p99_ms < PROMISED_P99_MS && self.kib_per_stream < PROMISED_KIB
    }
}

impl fmt::Display for StreamReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { database, streams, events, p50_ms, p99_ms, worst_ms, kib_per_stream, .. } = self;
        let verdict = if self.is_kept() { "kept" } else { "missed" };
        writeln!(
            f,
            "{database}: {streams} streams, {events} events, {:.2} % delivered",
            self.delivered_share * 100.0
        )?;
        writeln!(f, "  event to client   p50 {p50_ms:.1} ms   p99 {p99_ms:.1} ms   worst {worst_ms:.1} ms")?;
        let (before, after) = (self.memory_before_kib / 1024, self.memory_after_kib / 1024);
        writeln!(
            f,
            "  memory            {kib_per_stream:.1} KiB per stream ({before} MiB before, {after} MiB with all)"
        )?;
        writeln!(
            f,
            "  promised          p99 < {PROMISED_P99_MS} ms, < {PROMISED_KIB} KiB per stream: {verdict}"
        )
    }
}

pub async fn measure(
    database: &str,
    postgres: Option<&str>,
    sizes: StreamSizes,
) -> Result<StreamReport, Problem> {
    raise_files_limit();
    let house = House::open(database, postgres, sizes.streams).await?;
    // What the first requests need is not what a stream costs.
    let warm = clients::open(&house, 20).await?;
    for _ in 0..5 {
        house.enqueue().await?;
    }
    drop(warm);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let memory_before_kib = house.memory_kib()?;
    let mut crowd = clients::open(&house, sizes.streams).await?;
    let mut sent = HashMap::new();
    let mut pace = tokio::time::interval(Duration::from_secs(1) / sizes.per_second);
    for _ in 0..sizes.events {
        pace.tick().await;
        let began = Instant::now();
        sent.insert(house.enqueue().await?, began);
    }
    let heard = crowd.wait_for(sizes.events * sizes.streams, Duration::from_secs(20)).await;
    let memory_after_kib = house.memory_kib()?;
    let times = latencies(&sent, &heard);
    Ok(StreamReport {
        database: database.to_owned(),
        streams: sizes.streams,
        events: sizes.events,
        delivered_share: times.len() as f64 / (sizes.events * sizes.streams) as f64,
        p50_ms: at(&times, 0.5),
        p99_ms: at(&times, 0.99),
        worst_ms: at(&times, 1.0),
        memory_before_kib,
        memory_after_kib,
        kib_per_stream: memory_after_kib.saturating_sub(memory_before_kib) as f64 / sizes.streams as f64,
    })
}

/// Milliseconds, sorted.
fn latencies(sent: &HashMap<i64, Instant>, heard: &[Heard]) -> Vec<f64> {
    let took = |heard: &Heard| Some(heard.at.saturating_duration_since(*sent.get(&heard.number)?));
    let mut times: Vec<f64> = heard.iter().filter_map(took).map(|took| took.as_secs_f64() * 1e3).collect();
    times.sort_by(f64::total_cmp);
    times
}

fn at(sorted: &[f64], share: f64) -> f64 {
    let place = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(place.saturating_sub(1)).copied().unwrap_or_default()
}

/// A thousand clients need a thousand sockets on this side as well.
fn raise_files_limit() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let raised = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(soft, hard)| setrlimit(Resource::RLIMIT_NOFILE, hard.min(16_384).max(soft), hard));
    if let Err(error) = raised {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

fn unexpected(what: &str) -> Problem {
    failed("measure streams", what)
}
