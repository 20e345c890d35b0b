//! How many jobs stand where.

use crate::{
    api::{Answer, Api, QueryPairs, Refusal, schemas::Moment},
    auth::api_key::Entered,
};
use axum::{Json, extract::State};
use leasehold_types::{
    Timestamp,
    browse::{KindCounts, KindFilter},
};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only its shape is described")]
pub struct KindParams {
    domain: Option<String>,
    queue: Option<String>,
    job_type: Option<String>,
}

pub fn kind(pairs: &mut QueryPairs) -> Result<KindFilter, leasehold_types::Problem> {
    Ok(KindFilter {
        domain: pairs.text("domain")?,
        queue: pairs.text("queue")?,
        job_type: pairs.text("job_type")?,
    })
}

/// Count jobs by state
///
/// From counters: it costs the same however many jobs there are.
#[utoipa::path(
    get, path = "/jobs/summary", operation_id = "get_job_summary", tag = "jobs", params(KindParams),
    responses((status = 200, body = Summary), Refusal)
)]
pub async fn summary(
    State(api): State<Api>,
    Entered(scope): Entered,
    mut pairs: QueryPairs,
) -> Answer<Summary> {
    let filter = kind(&mut pairs)?;
    pairs.nothing_else()?;
    let kinds = api.engine.kind_counts(&scope, &filter).await?;
    Ok(Json(Summary::new(&kinds, api.engine.now())))
}

/// Count jobs by kind and state
///
/// One entry for each domain, queue and type. From counters: it costs the same however many jobs there are.
#[utoipa::path(
    get, path = "/jobs/stats", operation_id = "get_job_stats", tag = "jobs", params(KindParams),
    responses((status = 200, body = Stats), Refusal)
)]
pub async fn stats(State(api): State<Api>, Entered(scope): Entered, mut pairs: QueryPairs) -> Answer<Stats> {
    let filter = kind(&mut pairs)?;
    pairs.nothing_else()?;
    let kinds = api.engine.kind_counts(&scope, &filter).await?;
    Ok(Json(Stats { stats: kinds.into_iter().map(Into::into).collect() }))
}

/// How many jobs there are in each state.
#[derive(Serialize, ToSchema)]
#[schema(as = JobsSummary)]
pub struct Summary {
    counts: ByStatus,
    /// Queued and due.
    ready: i64,
    /// Queued and waiting for a time.
    scheduled: i64,
    /// `scheduled` is the least there are: more wait for a time, and stand among `ready`.
    scheduled_capped: bool,
    running: i64,
    /// Since when the job that has been ready longest could have run.
    #[schema(value_type = Option<Moment>)]
    oldest_queued_at: Option<Timestamp>,
    oldest_queued_age_seconds: Option<f64>,
}

/// How many jobs there are in each state.
#[derive(Default, Serialize, ToSchema)]
#[schema(as = CountsByStatus)]
pub struct ByStatus {
    queued: i64,
    processing: i64,
    completed: i64,
    failed: i64,
    cancelled: i64,
    dead_letter: i64,
    quarantined: i64,
}

impl Summary {
    fn new(kinds: &[KindCounts], now: Timestamp) -> Self {
        let sum = |count: fn(&KindCounts) -> i64| kinds.iter().map(count).sum::<i64>();
        let oldest = kinds.iter().filter_map(|kind| kind.oldest_queued_at).min();
        Self {
            counts: ByStatus {
                queued: sum(|k| k.queued + k.scheduled),
                processing: sum(|k| k.processing),
                completed: sum(|k| k.completed),
                failed: sum(|k| k.failed),
                cancelled: sum(|k| k.cancelled),
                dead_letter: sum(|k| k.dead_letter),
                quarantined: sum(|k| k.quarantined),
            },
            ready: sum(|k| k.queued),
            scheduled: sum(|k| k.scheduled),
            scheduled_capped: kinds.iter().any(|kind| kind.scheduled_capped),
            running: sum(|k| k.processing),
            oldest_queued_at: oldest,
            oldest_queued_age_seconds: oldest.map(|at| now.seconds_since(at).max(0.0)),
        }
    }
}

/// How many jobs of each kind there are in each state.
#[derive(Serialize, ToSchema)]
#[schema(as = JobsStats)]
pub struct Stats {
    stats: Vec<KindStats>,
}

/// How many jobs of one domain, queue and type there are in each state.
#[derive(Serialize, ToSchema)]
pub struct KindStats {
    domain: String,
    queue: String,
    job_type: String,
    /// Ready now.
    queued: i64,
    /// Waiting for a time: scheduled, or a retry.
    scheduled: i64,
    /// `scheduled` is the least there are: more wait for a time, and stand among `queued`.
    scheduled_capped: bool,
    processing: i64,
    quarantined: i64,
    completed: i64,
    failed: i64,
    cancelled: i64,
    dead_letter: i64,
    #[schema(value_type = Option<Moment>)]
    oldest_queued_at: Option<Timestamp>,
}

impl From<KindCounts> for KindStats {
    fn from(kind: KindCounts) -> Self {
        Self {
            domain: kind.domain,
            queue: kind.queue,
            job_type: kind.job_type,
            queued: kind.queued,
            scheduled: kind.scheduled,
            scheduled_capped: kind.scheduled_capped,
            processing: kind.processing,
            quarantined: kind.quarantined,
            completed: kind.completed,
            failed: kind.failed,
            cancelled: kind.cancelled,
            dead_letter: kind.dead_letter,
            oldest_queued_at: kind.oldest_queued_at,
        }
    }
}
