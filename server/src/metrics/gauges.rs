//! Figures from the database: read at most every few seconds however often they are asked for, by one query each.

use super::Metrics;
use leasehold_queue::{
    Engine, Scope, StoreResult,
    figures::{Kindred, RecentRun},
};
use leasehold_types::{JobStatus, TenantId, Timestamp, view::WorkerList};
use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Mutex;

/// More scheduled jobs than this are not told from ready ones.
const MOST_SCHEDULED: u32 = 50_000;
const MOST_LEASES: u32 = 10_000;
/// Completed jobs per tenant that percentiles are made of.
const RECENT_RUNS: u32 = 1_000;
const RUNS_FRESH: Duration = Duration::from_secs(60);
const MOST_BEHIND: u32 = 1_000;
/// All are counted; of these is told what they run less of.
const MOST_WORKERS: u32 = 1_000;
/// A database that hangs must not keep the scraper waiting.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Default)]
pub struct Standing {
    pub counts: Vec<(Kindred, JobStatus, i64)>,
    pub scheduled: Vec<(Kindred, i64)>,
    pub leases: Vec<(Kindred, Timestamp)>,
    pub read_at: Timestamp,
    pub slugs: HashMap<TenantId, String>,
    pub workers: WorkerList,
    pub runs: Arc<Vec<RecentRun>>,
    pub behind: usize,
}

#[derive(Default)]
pub struct Cache {
    standing: Mutex<Option<(Instant, Option<Arc<Standing>>)>>,
    runs: Mutex<Option<(Instant, Arc<Vec<RecentRun>>)>>,
}

impl Metrics {
    /// What the database says, or nothing when it does not answer. Callers at the same time share one answer.
    pub(super) async fn standing(&self, engine: &Engine) -> Option<Arc<Standing>> {
        let mut cached = self.cache.standing.lock().await;
        if let Some((read_at, standing)) = cached.as_ref()
            && read_at.elapsed() < self.config.fresh
        {
            return standing.clone();
        }
        let fresh = match tokio::time::timeout(PATIENCE, self.read(engine)).await {
            Ok(Ok(standing)) => Some(Arc::new(standing)),
            Ok(Err(error)) => {
                tracing::warn!(%error, "figures for the metrics cannot be read");
                None
            }
            Err(_) => {
                tracing::warn!("the database takes too long to tell figures for the metrics");
                None
            }
        };
        if let Some(standing) = &fresh {
            self.look_at_leases(standing);
        }
        *cached = Some((Instant::now(), fresh.clone()));
        fresh
    }

    async fn read(&self, engine: &Engine) -> StoreResult<Standing> {
        let (store, all) = (engine.store(), Scope::system("metrics"));
        let horizon = engine.hub().horizon();
        Ok(Standing {
            counts: store.job_counts(&all).await?,
            scheduled: store.scheduled_counts(&all, MOST_SCHEDULED).await?,
            leases: store.running_leases(&all, MOST_LEASES).await?,
            read_at: engine.now(),
            slugs: store.tenants(&all).await?.into_iter().map(|t| (t.id, t.slug)).collect(),
            workers: store.workers(MOST_WORKERS).await?,
            runs: self.runs(engine).await?,
            behind: store.events(&all, horizon, i64::MAX, MOST_BEHIND).await?.len(),
        })
    }

    async fn runs(&self, engine: &Engine) -> StoreResult<Arc<Vec<RecentRun>>> {
        let Some(window) = self.config.slo_window else { return Ok(Arc::default()) };
        let mut cached = self.cache.runs.lock().await;
        if let Some((read_at, runs)) = cached.as_ref()
            && read_at.elapsed() < RUNS_FRESH
        {
            return Ok(runs.clone());
        }
        let since = engine.now().minus(window);
        let all = Scope::system("metrics");
        let runs = Arc::new(engine.store().recent_runs(&all, since, RECENT_RUNS).await?);
        *cached = Some((Instant::now(), runs.clone()));
        Ok(runs)
    }

    fn look_at_leases(&self, standing: &Standing) {
        let mut tally = self.tally();
        for (kind, until) in &standing.leases {
            tally.lease_left(kind, until.seconds_since(standing.read_at));
        }
    }
}

/// The value below which this share of the sorted values lies.
pub fn percentile(sorted: &[f64], share: f64) -> f64 {
    let place = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(place.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!([0.5, 0.9, 0.99].map(|share| percentile(&values, share)), [50.0, 90.0, 99.0]);
        assert_eq!(percentile(&[7.0], 0.5), 7.0);
        assert_eq!(percentile(&[], 0.5), 0.0);
    }
}
