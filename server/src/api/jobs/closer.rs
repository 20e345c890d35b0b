//! A closer look at one job: its attempts, its log, why it waits, its work units.

use super::{
    listing::{LogParams, USUAL_LINES},
    telling::{Attempts, DiagnosisView, LogLines, UnitsPage},
};
use crate::{
    api::{Answer, Api, JobPath, Pairs, Refusal},
    auth::api_key::Entered,
};
use axum::{Json, extract::State};

/// The attempts of a job
///
/// Oldest first; the running one, if any, is last.
#[utoipa::path(
    get, path = "/jobs/{id}/attempts", tag = "jobs",
    params(("id" = String, Path, description = "The number or id of the job")),
    responses((status = 200, body = Attempts), Refusal)
)]
pub async fn attempts(
    State(api): State<Api>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    pairs: Pairs,
) -> Answer<Attempts> {
    pairs.nothing_else()?;
    Ok(Json(api.engine.job_without_logs(&scope, job).await?.into()))
}

/// The log of one attempt
#[utoipa::path(
    get, path = "/jobs/{id}/logs", tag = "jobs",
    params(("id" = String, Path, description = "The number or id of the job"), LogParams),
    responses((status = 200, body = LogLines), Refusal)
)]
pub async fn logs(
    State(api): State<Api>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    pairs: Pairs,
) -> Answer<LogLines> {
    let asked = LogParams::read(pairs)?;
    let after = asked.after.unwrap_or(-1);
    let limit = asked.limit.unwrap_or(USUAL_LINES);
    let (attempt, lines) = api.engine.log_lines(&scope, job, asked.attempt, after, limit).await?;
    Ok(Json(LogLines::new(attempt, after, lines)))
}

/// Why a job is not running
#[utoipa::path(
    get, path = "/jobs/{id}/diagnosis", tag = "jobs",
    params(("id" = String, Path, description = "The number or id of the job")),
    responses((status = 200, body = DiagnosisView), Refusal)
)]
pub async fn diagnosis(
    State(api): State<Api>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    pairs: Pairs,
) -> Answer<DiagnosisView> {
    pairs.nothing_else()?;
    Ok(Json(api.engine.diagnosis(&scope, job).await?.into()))
}

/// The work units of a composite job
///
/// How many there are in each state, and the first 500 of them.
#[utoipa::path(
    get, path = "/jobs/{id}/units", tag = "jobs",
    params(("id" = String, Path, description = "The number or id of the job")),
    responses((status = 200, body = UnitsPage), Refusal)
)]
pub async fn units(
    State(api): State<Api>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    pairs: Pairs,
) -> Answer<UnitsPage> {
    pairs.nothing_else()?;
    Ok(Json(api.engine.all_units(&scope, job).await?.into()))
}
