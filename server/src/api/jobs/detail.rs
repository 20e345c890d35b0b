//! A closer look at one job: its attempts, its log, why it waits, its work units.

use super::{
    list::{LogParams, USUAL_LINES},
    responses::{Attempts, DiagnosisView, LogLines, UnitsPage},
};
use crate::{
    api::{Answer, Api, JobParam, JobPath, QueryPairs, Refusal},
    auth::api_key::Entered,
};
use axum::{Json, extract::State};

/// List a job’s attempts
///
/// Oldest first; the running one, if any, is last.
#[utoipa::path(
    get, path = "/jobs/{id}/attempts", operation_id = "list_attempts", tag = "jobs",
    params(JobParam),
    responses((status = 200, body = Attempts), Refusal)
)]
pub async fn attempts(
    State(api): State<Api>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    pairs: QueryPairs,
) -> Answer<Attempts> {
    pairs.nothing_else()?;
    Ok(Json(api.engine.job_without_logs(&scope, job).await?.into()))
}

/// Read a job’s log
///
/// Of one attempt, in order. Give `next_after` as `after` to read on, also while the attempt runs.
#[utoipa::path(
    get, path = "/jobs/{id}/logs", operation_id = "list_log_lines", tag = "jobs",
    params(JobParam, LogParams),
    responses((status = 200, body = LogLines), Refusal)
)]
pub async fn logs(
    State(api): State<Api>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    pairs: QueryPairs,
) -> Answer<LogLines> {
    let asked = LogParams::read(pairs)?;
    let after = asked.after.unwrap_or(-1);
    let limit = asked.limit.unwrap_or(USUAL_LINES);
    let (attempt, lines) = api.engine.log_lines(&scope, job, asked.attempt, after, limit).await?;
    Ok(Json(LogLines::new(attempt, after, lines)))
}

/// Explain why a job is not running
///
/// Every cause that keeps it waiting now: a time, a pause, a limit, no worker for its kind.
#[utoipa::path(
    get, path = "/jobs/{id}/diagnosis", operation_id = "diagnose_job", tag = "jobs",
    params(JobParam),
    responses((status = 200, body = DiagnosisView), Refusal)
)]
pub async fn diagnosis(
    State(api): State<Api>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    pairs: QueryPairs,
) -> Answer<DiagnosisView> {
    pairs.nothing_else()?;
    Ok(Json(api.engine.diagnosis(&scope, job).await?.into()))
}

/// List a job’s work units
///
/// How many there are in each state, and the first 500 of them.
#[utoipa::path(
    get, path = "/jobs/{id}/units", operation_id = "list_work_units", tag = "jobs",
    params(JobParam),
    responses((status = 200, body = UnitsPage), Refusal)
)]
pub async fn units(
    State(api): State<Api>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    pairs: QueryPairs,
) -> Answer<UnitsPage> {
    pairs.nothing_else()?;
    Ok(Json(api.engine.all_units(&scope, job).await?.into()))
}
