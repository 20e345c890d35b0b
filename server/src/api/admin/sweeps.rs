//! Removing old jobs, ending those that lived too long, repairing rows that contradict themselves.

mod body;

use super::{
    bulk::{self},
    confirm::Confirmation,
    place,
};
use crate::{
    api::{Answer, Api, Body, Refusal},
    auth::api_key::{Entered, Governing},
};
use axum::{Json, extract::State};
use body::{Integrity, IntegrityFound, Prune, Pruned, Ttl, TtlSwept};

/// Prune jobs that ended long ago
///
/// With their attempts, logs and files. A dry run counts, and names the largest groups when asked to.
#[utoipa::path(
    post, path = "/jobs/prune", operation_id = "prune_jobs", tag = "operations", request_body = Prune,
    params(("X-Confirm" = Option<String>, Header, description = "`true`, unless it is a dry run")),
    responses((status = 200, body = Pruned), Refusal)
)]
pub async fn prune(
    State(api): State<Api>,
    Entered(scope): Entered,
    confirmed: Confirmation,
    Body(body): Body<Prune>,
) -> Answer<Pruned> {
    let with_groups = body.wants_groups();
    let asked = body.asked(api.engine.now(), api.engine.config().archive_before_delete)?;
    confirmed.require_unless(asked.dry_run)?;
    let done = bulk::carry_out(&api.engine, scope, asked).await?;
    Ok(Json(Pruned::new(done, with_groups)))
}

/// End jobs that have waited or run too long
///
/// Decisive: a running job's lease is taken away, and what its worker still reports is refused.
#[utoipa::path(
    post, path = "/jobs/ttl/sweep", operation_id = "expire_jobs", tag = "operations", request_body = Ttl,
    params(("X-Confirm" = Option<String>, Header, description = "`true`")),
    responses((status = 200, body = TtlSwept), Refusal)
)]
pub async fn ttl(
    State(api): State<Api>,
    Entered(scope): Entered,
    confirmed: Confirmation,
    Body(body): Body<Ttl>,
) -> Answer<TtlSwept> {
    let rule = body.rule()?;
    scope.choose_domains(rule.domain.as_deref())?;
    let policy = &api.engine.config().domains;
    // So that rights can be tried out without ending anything.
    if policy.scoped && policy.forced && rule.domain.is_some() && !confirmed.0 {
        return Ok(Json(TtlSwept::default()));
    }
    confirmed.require()?;
    Ok(Json(api.engine.sweep_ttl(&scope, rule).await?.into()))
}

/// Check the integrity of jobs
///
/// Leases on jobs that do not run are cleared, and jobs whose lease has run out are taken back, if `fix` says so.
#[utoipa::path(
    post, path = "/jobs/integrity/sweep", operation_id = "check_integrity", tag = "operations", request_body = Integrity,
    params(("X-Confirm" = Option<String>, Header, description = "`true`, when `fix` is")),
    responses((status = 200, body = IntegrityFound), Refusal)
)]
pub async fn integrity(
    State(api): State<Api>,
    Governing(scope): Governing,
    confirmed: Confirmation,
    Body(body): Body<Integrity>,
) -> Answer<IntegrityFound> {
    confirmed.require_unless(!body.fix)?;
    let place = place::place(body.domain, body.queue, body.job_type)?;
    Ok(Json(api.engine.sweep_integrity(&scope, place, body.fix).await?.into()))
}
