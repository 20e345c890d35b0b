//! This process: its requests, connections, streams, pools and memory.

use super::{gauges::Standing, names, page::Page, tally::Tally};
use axum::{
    extract::{MatchedPath, Request, State},
    http::Method,
    middleware::Next,
    response::Response,
};
use leasehold_queue::{Engine, clock::process_time};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    },
};

type Answered = (&'static str, String, u16);

/// Counted where it happens; read by the page.
pub struct ProcessFigures {
    requests: Mutex<BTreeMap<Answered, u64>>,
    pub streams_open: AtomicI64,
    pub stream_events: AtomicU64,
    pub stream_resyncs: AtomicU64,
    pub connections: AtomicI64,
    pub connections_refused: AtomicU64,
    /// Closed because what was sent was not read, or nothing was asked.
    pub connections_stalled: AtomicU64,
    pub connections_idle: AtomicU64,
    pub limited_by_key: AtomicU64,
    pub limited_by_address: AtomicU64,
    began: f64,
}

impl Default for ProcessFigures {
    fn default() -> Self {
        let began = process_time().micros() as f64 / 1e6;
        Self {
            requests: Mutex::default(),
            streams_open: AtomicI64::new(0),
            stream_events: AtomicU64::new(0),
            stream_resyncs: AtomicU64::new(0),
            connections: AtomicI64::new(0),
            connections_refused: AtomicU64::new(0),
            connections_stalled: AtomicU64::new(0),
            connections_idle: AtomicU64::new(0),
            limited_by_key: AtomicU64::new(0),
            limited_by_address: AtomicU64::new(0),
            began,
        }
    }
}

impl ProcessFigures {
    fn requests(&self) -> MutexGuard<'_, BTreeMap<Answered, u64>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Outermost: counts every answer by the route that gave it.
pub async fn count_requests(
    State(figures): State<Arc<ProcessFigures>>,
    request: Request,
    next: Next,
) -> Response {
    let matched = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let route = matched.unwrap_or_else(|| area(request.uri().path()).to_owned());
    let method = word(request.method());
    let response = next.run(request).await;
    *figures.requests().entry((method, route, response.status().as_u16())).or_default() += 1;
    response
}

/// Anyone may invent a method; a label is not made of it.
fn word(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// For what the pages answer: their addresses are made of tenants and numbers, so only the area is told.
fn area(path: &str) -> &'static str {
    let areas = [
        ("/do/", "/do/{*function}"),
        ("/pkg/", "/pkg/{*file}"),
        ("/api/", "/api/{*path}"),
        ("/admin", "/admin/{*page}"),
    ];
    if path.starts_with("/t/") {
        return if path.ends_with("/live") { "/t/{slug}/live" } else { "/t/{slug}/{*page}" };
    }
    areas.iter().find(|(start, _)| path.starts_with(start)).map_or("other", |(_, route)| route)
}

impl Page<'_> {
    pub fn process(&mut self, engine: &Engine, tally: &Tally, standing: Option<&Standing>) {
        let figures = self.metrics.process.clone();
        let out = &mut self.out;
        out.sample(&names::EVENTS_MISSED, &[], tally.events_missed);
        out.sample(&names::TIMES_UNKNOWN, &[], tally.times_unknown);
        if let Some(standing) = standing {
            out.sample(&names::OUTBOX_BEHIND, &[], standing.behind);
        }
        out.sample(&names::STREAMS_OPEN, &[], figures.streams_open.load(Relaxed));
        out.sample(&names::STREAM_EVENTS, &[], figures.stream_events.load(Relaxed));
        out.sample(&names::STREAM_RESYNCS, &[], figures.stream_resyncs.load(Relaxed));
        out.sample(&names::CLAIMED, &[], engine.jobs_claimed());
        let pools = engine.store().pools();
        for pool in &pools {
            out.sample(&names::POOL, &[pool.name, "in_use"], pool.in_use);
            out.sample(&names::POOL, &[pool.name, "idle"], pool.idle);
        }
        for pool in &pools {
            out.sample(&names::POOL_MOST, &[pool.name], pool.most);
        }
        for ((method, route, status), count) in figures.requests().iter() {
            out.sample(&names::HTTP, &[method, route, &status.to_string()], count);
        }
        out.sample(&names::CONNECTIONS, &[], figures.connections.load(Relaxed));
        out.sample(&names::CONNECTIONS_REFUSED, &[], figures.connections_refused.load(Relaxed));
        out.sample(&names::CONNECTIONS_CLOSED, &["unread"], figures.connections_stalled.load(Relaxed));
        out.sample(&names::CONNECTIONS_CLOSED, &["idle"], figures.connections_idle.load(Relaxed));
        out.sample(&names::RATE_LIMITED, &["key"], figures.limited_by_key.load(Relaxed));
        out.sample(&names::RATE_LIMITED, &["address"], figures.limited_by_address.load(Relaxed));
        out.sample(&names::DATABASE_UP, &[], i32::from(standing.is_some()));
        let database = engine.store().engine_name();
        out.sample(&names::BUILD, &[env!("CARGO_PKG_VERSION"), database], 1);
        self.machine(&figures);
    }

    fn machine(&mut self, figures: &ProcessFigures) {
        if let Some(bytes) = resident_bytes() {
            self.out.sample(&names::MEMORY, &[], bytes);
        }
        if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
            self.out.sample(&names::FILES, &[], open.count());
        }
        self.out.sample(&names::BEGAN, &[], figures.began);
    }
}

/// What the kernel says this process holds in memory.
pub fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_do_not_become_labels() {
        assert_eq!(area("/t/acme/jobs/17"), "/t/{slug}/{*page}");
        assert_eq!(area("/t/acme/live"), "/t/{slug}/live");
        assert_eq!(area("/do/sign_in123"), "/do/{*function}");
        assert_eq!(area("/../../etc/passwd"), "other");
        assert_eq!(word(&Method::from_bytes(b"BREW").unwrap()), "other");
    }
}
