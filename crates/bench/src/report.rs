//! What comes out: ratios first, rates beside them.

use crate::{drain::Ours, fairness::Fairness, latency::Pickup, pages::Pages};
use serde::Serialize;
use std::fmt;

#[derive(Debug, Serialize)]
pub struct Report {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postgres: Option<Figures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sqlite: Option<Figures>,
}

/// What the database does by plain SQL, per second. `commit_ms` is the median of single-row inserts at the pace of the
/// pick-ups, `commit_hot_ms` of such inserts one right after the other.
#[derive(Clone, Debug)]
pub struct Limit {
    pub commit_ms: f64,
    pub commit_hot_ms: f64,
    pub insert_one: f64,
    pub insert_bulk: f64,
    pub drain_one: f64,
    pub drain_batched: f64,
}

#[derive(Debug, Serialize)]
pub struct Figures {
    pub drain_ratio: f64,
    pub drain_ratio_no_outbox: f64,
    /// Through a real worker pool, as a share of the drain above.
    pub pool_drain_ratio: f64,
    pub bulk_enqueue_ratio: f64,
    pub commit_ms: f64,
    pub commit_hot_ms: f64,
    pub pickup_p50_ms: f64,
    pub pickup_p95_ms: f64,
    pub pickup_p99_ms: f64,
    pub page_growth: f64,
    pub fairness_ratio: f64,
    pub limit_insert_per_s: f64,
    pub limit_bulk_insert_per_s: f64,
    pub limit_drain_one_by_one_per_s: f64,
    pub limit_drain_per_s: f64,
    pub enqueue_per_s: f64,
    pub bulk_enqueue_per_s: f64,
    pub drain_per_s: f64,
    pub drain_no_outbox_per_s: f64,
    pub pool_drain_per_s: f64,
    pub overview_small_ms: f64,
    pub overview_large_ms: f64,
    pub list_small_ms: f64,
    pub list_large_ms: f64,
    pub fairness_idle_ms: f64,
    pub fairness_busy_ms: f64,
}

impl Figures {
    pub fn gather(limit: Limit, ours: Ours, pickup: Pickup, fairness: Fairness, pages: Pages) -> Self {
        Self {
            drain_ratio: ours.drain / limit.drain_batched,
            drain_ratio_no_outbox: ours.drain_no_outbox / limit.drain_batched,
            pool_drain_ratio: ours.pool / ours.drain,
            bulk_enqueue_ratio: ours.bulk / limit.insert_bulk,
            commit_ms: limit.commit_ms,
            commit_hot_ms: limit.commit_hot_ms,
            pickup_p50_ms: pickup.p50,
            pickup_p95_ms: pickup.p95,
            pickup_p99_ms: pickup.p99,
            page_growth: pages.growth(),
            fairness_ratio: fairness.busy_ms / fairness.idle_ms,
            limit_insert_per_s: limit.insert_one,
            limit_bulk_insert_per_s: limit.insert_bulk,
            limit_drain_one_by_one_per_s: limit.drain_one,
            limit_drain_per_s: limit.drain_batched,
            enqueue_per_s: ours.one_by_one,
            bulk_enqueue_per_s: ours.bulk,
            drain_per_s: ours.drain,
            drain_no_outbox_per_s: ours.drain_no_outbox,
            pool_drain_per_s: ours.pool,
            overview_small_ms: pages.overview_small,
            overview_large_ms: pages.overview_large,
            list_small_ms: pages.list_small,
            list_large_ms: pages.list_large,
            fairness_idle_ms: fairness.idle_ms,
            fairness_busy_ms: fairness.busy_ms,
        }
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        vec![
            ("drain ÷ limit (history, events, counters on)", format!("{:.2}", self.drain_ratio)),
            ("drain ÷ limit, outbox off", format!("{:.2}", self.drain_ratio_no_outbox)),
            ("drain through a worker pool ÷ drain", format!("{:.2}", self.pool_drain_ratio)),
            ("bulk enqueue ÷ limit", format!("{:.2}", self.bulk_enqueue_ratio)),
            ("pick-up p50 ÷ single-row commit", format!("{:.1}", self.pickup_p50_ms / self.commit_ms)),
            ("pick-up p99 ÷ p50", format!("{:.1}", self.pickup_p99_ms / self.pickup_p50_ms)),
            ("pages at 1,000,000 ÷ at 10,000", format!("{:.2}", self.page_growth)),
            ("tenant B's ten jobs, busy ÷ idle", format!("{:.2}", self.fairness_ratio)),
            (
                "single-row commit, idle / hot",
                format!("{:.2} / {:.2} ms", self.commit_ms, self.commit_hot_ms),
            ),
            (
                "pick-up p50 / p95 / p99",
                format!(
                    "{:.2} / {:.2} / {:.2} ms",
                    self.pickup_p50_ms, self.pickup_p95_ms, self.pickup_p99_ms
                ),
            ),
            ("enqueue one by one (limit)", rate_pair(self.enqueue_per_s, self.limit_insert_per_s)),
            ("bulk enqueue (limit)", rate_pair(self.bulk_enqueue_per_s, self.limit_bulk_insert_per_s)),
            ("drain (limit in hundreds)", rate_pair(self.drain_per_s, self.limit_drain_per_s)),
            ("drain through a worker pool", format!("{:.0}/s", self.pool_drain_per_s)),
            ("limit, claim and finish one by one", format!("{:.0}/s", self.limit_drain_one_by_one_per_s)),
            (
                "overview at 10,000 / 1,000,000",
                format!("{:.2} / {:.2} ms", self.overview_small_ms, self.overview_large_ms),
            ),
            (
                "first page of jobs at 10,000 / 1,000,000",
                format!("{:.2} / {:.2} ms", self.list_small_ms, self.list_large_ms),
            ),
        ]
    }
}

fn rate_pair(ours: f64, limit: f64) -> String {
    format!("{ours:.0}/s ({limit:.0}/s)")
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, figures) in [("Postgres", &self.postgres), ("SQLite", &self.sqlite)] {
            let Some(figures) = figures else { continue };
            writeln!(f, "| {name} | |\n|---|---|")?;
            for (label, value) in figures.rows() {
                writeln!(f, "| {label} | {value} |")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
