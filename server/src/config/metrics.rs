//! What `/metrics` shows, to whom, and in which buckets.

use super::sources::{Sources, items, wrong};
use leasehold_types::Problem;
use std::{sync::Arc, time::Duration};

/// Who may read `/metrics` without a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anonymous {
    Nobody,
    /// Programs on this very machine, unless a proxy sent them.
    Loopback,
    Everyone,
}

#[derive(Clone, Debug)]
pub struct MetricsConfig {
    pub enabled: bool,
    pub anonymous: Anonymous,
    pub duration_buckets: Arc<[f64]>,
    pub latency_buckets: Arc<[f64]>,
    /// The share of finished jobs whose trace id is shown with their duration.
    pub exemplars: Option<f64>,
    /// How far back percentiles per owner look.
    pub slo_window: Option<Duration>,
    /// Groups of owners with percentiles.
    pub owner_groups: usize,
    /// Groups, tenants, error codes and stages that get a label of their own; what comes later is `other`.
    pub groups: usize,
    /// How old figures from the database may be.
    pub fresh: Duration,
}

#[cfg(test)]
impl MetricsConfig {
    pub fn for_tests() -> Self {
        let none = Sources { flags: Default::default(), env: Default::default(), file: Default::default() };
        metrics(&none).unwrap()
    }
}

const DURATIONS: &[f64] =
    &[0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3_600.0];
const MOST_BUCKETS: usize = 50;
/// A scrape every second should not cost a query every second.
const FRESH: Duration = Duration::from_secs(2);

pub fn metrics(sources: &Sources) -> Result<MetricsConfig, Problem> {
    let slo =
        sources.switch("JOBS_SLO_ENABLE", false)? || sources.switch("JOBS_METRICS_GAUGES_ENABLED", false)?;
    let window = hours(sources, "JOBS_SLO_WINDOW_HOURS", 6.0)?;
    let sampling = share(sources, "JOBS_METRICS_EXEMPLAR_SAMPLING", 0.01)?;
    let debounce: u64 = sources.parsed("JOBS_GAUGES_DEBOUNCE_MS", 0)?;
    Ok(MetricsConfig {
        enabled: sources.switch("JOBS_ENABLE_METRICS", true)?,
        anonymous: anonymous(sources)?,
        duration_buckets: buckets(sources, "JOBS_DURATION_BUCKETS")?,
        latency_buckets: buckets(sources, "JOBS_QUEUE_LATENCY_BUCKETS")?,
        exemplars: sources.switch("JOBS_METRICS_EXEMPLARS", false)?.then_some(sampling),
        slo_window: slo.then_some(window),
        owner_groups: sources.parsed("JOBS_METRICS_RECONCILE_GROUPS_PER_TICK", 100)?,
        groups: sources.parsed("JOBS_METRICS_MAX_GROUPS", 100)?,
        fresh: FRESH.max(Duration::from_millis(debounce)),
    })
}

fn anonymous(sources: &Sources) -> Result<Anonymous, Problem> {
    let name = "JOBS_METRICS_ANONYMOUS";
    match sources.get(name).map(str::to_ascii_lowercase).as_deref() {
        None | Some("loopback") => Ok(Anonymous::Loopback),
        Some("nobody") => Ok(Anonymous::Nobody),
        Some("everyone") => Ok(Anonymous::Everyone),
        Some(other) => Err(wrong(name, other, "say nobody, loopback or everyone")),
    }
}

/// Upper bounds in seconds: positive, finite, each larger than the one before.
fn buckets(sources: &Sources, name: &str) -> Result<Arc<[f64]>, Problem> {
    let Some(text) = sources.get(name) else { return Ok(DURATIONS.into()) };
    let rule =
        format!("it must be 1 to {MOST_BUCKETS} positive numbers in rising order, separated by commas");
    let bounds: Result<Vec<f64>, _> = items(text, ',').iter().map(|item| item.parse()).collect();
    let bounds = bounds.map_err(|_| wrong(name, text, &rule))?;
    let rising = bounds.windows(2).all(|pair| pair[0] < pair[1]);
    let positive = bounds.iter().all(|bound| bound.is_finite() && *bound > 0.0);
    if bounds.is_empty() || bounds.len() > MOST_BUCKETS || !rising || !positive {
        return Err(wrong(name, text, &rule));
    }
    Ok(bounds.into())
}

fn hours(sources: &Sources, name: &str, default: f64) -> Result<Duration, Problem> {
    let hours: f64 = sources.parsed(name, default)?;
    if !hours.is_finite() || hours <= 0.0 || hours > 24.0 * 365.0 {
        return Err(wrong(name, &hours.to_string(), "it must be more than 0 and at most a year"));
    }
    Ok(Duration::from_secs_f64(hours * 3_600.0))
}

fn share(sources: &Sources, name: &str, default: f64) -> Result<f64, Problem> {
    let share: f64 = sources.parsed(name, default)?;
    if !(0.0..=1.0).contains(&share) {
        return Err(wrong(name, &share.to_string(), "it must lie between 0 and 1"));
    }
    Ok(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: &str) -> Result<MetricsConfig, Problem> {
        let env = [(name.to_owned(), value.to_owned())].into();
        metrics(&Sources { flags: Default::default(), env, file: Default::default() })
    }

    #[test]
    fn buckets_are_positive_and_rise() {
        let config = read("JOBS_DURATION_BUCKETS", " 0.5, 1 ,30").unwrap();
        assert_eq!(*config.duration_buckets, [0.5, 1.0, 30.0]);
        for wrong in ["1,1", "2,1", "0,1", "-1", "1,x", ",", "inf", "NaN", "1,inf"] {
            let problem = read("JOBS_QUEUE_LATENCY_BUCKETS", wrong).unwrap_err();
            assert_eq!(problem.errors[0].field, "JOBS_QUEUE_LATENCY_BUCKETS", "{wrong}");
        }
    }

    #[test]
    fn percentiles_and_exemplars_are_off_until_asked_for() {
        let plain = read("JOBS_SLO_WINDOW_HOURS", "2").unwrap();
        assert_eq!((plain.enabled, plain.slo_window, plain.exemplars), (true, None, None));
        assert_eq!(plain.anonymous, Anonymous::Loopback);
        assert!(read("JOBS_SLO_ENABLE", "true").unwrap().slo_window.is_some());
        assert!(read("JOBS_METRICS_GAUGES_ENABLED", "1").unwrap().slo_window.is_some());
        assert_eq!(read("JOBS_METRICS_EXEMPLARS", "true").unwrap().exemplars, Some(0.01));
    }

    #[test]
    fn nonsense_stops_the_start() {
        for (name, value) in [
            ("JOBS_SLO_WINDOW_HOURS", "0"),
            ("JOBS_METRICS_EXEMPLAR_SAMPLING", "1.5"),
            ("JOBS_METRICS_ANONYMOUS", "perhaps"),
            ("JOBS_ENABLE_METRICS", "maybe"),
        ] {
            assert!(read(name, value).is_err(), "{name}");
        }
    }
}
