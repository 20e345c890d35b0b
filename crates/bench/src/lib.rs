//! `leasehold bench`: how fast, as ratios taken in one run on one machine.
//!
//! Absolute rates say more about the disk than about us, so each figure is set against what the same database
//! does by plain SQL in the same run: a bare table with the fewest indexes a queue can live with, no history,
//! no events, no counters. This crate is the one place outside the stores that speaks SQL, for that limit and
//! for filling a million rows of history.

mod drain;
mod fairness;
mod latency;
mod limit_postgres;
mod limit_sqlite;
mod pages;
mod pool;
mod report;
mod sizes;
mod subject;

pub use report::{Figures, Report};
pub use sizes::Sizes;
use subject::Subject;

pub type BenchResult<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[derive(Clone, Debug)]
pub struct BenchOptions {
    pub sizes: Sizes,
    /// A server to use instead of a throw-away one; a database of its own is made there and dropped.
    pub postgres: Option<String>,
    /// Only this store: `postgres` or `sqlite`.
    pub only: Option<String>,
}

/// Runs everything, telling `say` what it is at.
pub async fn run(options: BenchOptions, say: impl Fn(&str)) -> BenchResult<Report> {
    let sizes = options.sizes;
    let wanted = |name: &str| options.only.as_deref().is_none_or(|only| only == name);
    let mut report = Report { postgres: None, sqlite: None };
    if wanted("postgres") {
        let subject = Subject::postgres(options.postgres.as_deref()).await?;
        report.postgres = Some(measure(&subject, &sizes, &say).await?);
        subject.close().await?;
    }
    if wanted("sqlite") {
        let subject = Subject::sqlite().await?;
        report.sqlite = Some(measure(&subject, &sizes, &say).await?);
        subject.close().await?;
    }
    Ok(report)
}

async fn measure(subject: &Subject, sizes: &Sizes, say: &impl Fn(&str)) -> BenchResult<Figures> {
    let name = subject.name();
    let limit = subject.limit(sizes).await?;
    say(&format!("{name}: plain SQL claims and finishes {:.0} jobs a second", limit.drain_batched));
    let ours = drain::measure(subject, sizes).await?;
    say(&format!("{name}: ours drains {:.0} a second, enqueues {:.0} in bulk", ours.drain, ours.bulk));
    say(&format!("{name}: a worker pool drains {:.0} a second", ours.pool));
    let pickup = latency::measure(subject, sizes).await?;
    say(&format!(
        "{name}: a job is picked up after {:.2} ms, one commit takes {:.2} ms",
        pickup.p50, limit.commit_ms
    ));
    let fairness = fairness::measure(subject, sizes).await?;
    say(&format!(
        "{name}: ten jobs take {:.1} ms, beside a backlog {:.1} ms",
        fairness.idle_ms, fairness.busy_ms
    ));
    let pages = pages::measure(subject, sizes).await?;
    say(&format!(
        "{name}: overview {:.2} ms and {:.2} ms, with {} and {} jobs",
        pages.overview_small, pages.overview_large, sizes.pages_small, sizes.pages_large
    ));
    Ok(Figures::gather(limit, ours, pickup, fairness, pages))
}
