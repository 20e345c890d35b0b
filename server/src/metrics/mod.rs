//! `GET /metrics`: what this installation and this process are doing, for Prometheus and its kin.
//!
//! Three sources, told apart in `docs/metrics.md`: the database (gauges, read at most every few seconds), the
//! installation's events since this process started (counters and histograms, by the one follower of the outbox, so no
//! job pays for being counted), and this process itself. Labels are bounded everywhere: what comes too late is
//! counted as `other`. Written by hand because both text formats are wanted, cut to a tenant, from figures that are
//! not kept in a registry.

mod door;
mod exposition;
mod follow;
mod gauges;
mod histogram;
mod labels;
mod memory;
mod names;
mod page;
mod process;
mod tally;

use crate::{config::MetricsConfig, problem, rates::ApiRates};
use axum::{
    Router,
    extract::State,
    http::{HeaderMap, header},
    middleware::from_fn_with_state,
    response::{IntoResponse, Response},
    routing::get,
};
use exposition::Format;
pub use follow::follow;
use histogram::Histogram;
use leasehold_queue::Engine;
use leasehold_types::{Problem, TenantId};
use page::Page;
pub use process::{ProcessFigures, count_requests};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tally::Tally;

/// From a commit to its being heard of; the page's promise is a quarter of a second.
const LAG_BOUNDS: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

pub struct Metrics {
    pub config: Arc<MetricsConfig>,
    pub process: Arc<ProcessFigures>,
    tally: Mutex<Tally>,
    event_lag: Mutex<Histogram>,
    cache: gauges::Cache,
}

impl Metrics {
    pub fn new(config: MetricsConfig) -> Self {
        let config = Arc::new(config);
        Self {
            process: Arc::default(),
            tally: Mutex::new(Tally::new(config.clone())),
            event_lag: Mutex::default(),
            cache: gauges::Cache::default(),
            config,
        }
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn event_lag(&self) -> MutexGuard<'_, Histogram> {
        self.event_lag.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything for who sees all tenants; with a tenant, the figures of its jobs alone.
    async fn page(&self, engine: &Engine, tenant: Option<TenantId>, format: Format) -> String {
        let standing = self.standing(engine).await;
        let mut page = Page::new(self, tenant, format);
        let mut tally = self.tally();
        if let Some(standing) = &standing {
            page.standing(standing, &mut tally);
        }
        page.tally(&tally, standing.as_deref());
        if tenant.is_none() {
            if let Some(standing) = &standing {
                page.workers(standing);
            }
            page.event_lag();
            page.process(engine, &tally, standing.as_deref());
        }
        page.out.finish()
    }
}

/// What stands behind `/metrics`.
#[derive(Clone)]
pub struct Exposed {
    pub metrics: Arc<Metrics>,
    pub engine: Arc<Engine>,
    pub rates: Arc<ApiRates>,
}

pub fn routes(exposed: Exposed) -> Router {
    let guarded = get(show).with_state(exposed.clone()).layer(from_fn_with_state(exposed, door::enter));
    Router::new().route("/metrics", guarded)
}

async fn show(State(exposed): State<Exposed>, reader: door::Reader, headers: HeaderMap) -> Response {
    if !exposed.metrics.config.enabled {
        return problem::respond(&Problem::not_found("This address"));
    }
    let format = Format::asked_for(&headers);
    let text = exposed.metrics.page(&exposed.engine, reader.0, format).await;
    ([(header::CONTENT_TYPE, format.content_type())], text).into_response()
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod document;
