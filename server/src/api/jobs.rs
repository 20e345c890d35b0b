//! Jobs: enqueue, find, look at, stop, repeat.

mod bulk;
mod caller;
mod counts;
mod detail;
pub mod files;
mod list;
mod requests;
mod responses;

use super::{Answer, Api, Body, JobParam, JobPath, QueryPairs, Refusal, openapi::guarded};
use crate::auth::api_key::{Entered, KeyScope};
use axum::{
    Json,
    extract::State,
    http::{HeaderName, StatusCode, header},
};
use caller::Caller;
pub use caller::one_tenant;
pub use counts::kind;
use leasehold_queue::{Engine, Scope};
use leasehold_types::{JobRef, Problem};
use list::ListParams;
use requests::{CancelBody, NewJobBody};
pub use responses::{Attempts, JobView};
use responses::{Cancelled, EnqueuedOne, JobsView, Retried};
use utoipa_axum::{router::OpenApiRouter, routes};

pub fn routes(api: &Api) -> OpenApiRouter {
    let reading = OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(list_too))
        .routes(routes!(counts::summary))
        .routes(routes!(detail))
        .routes(routes!(detail::attempts))
        .routes(routes!(detail::logs))
        .routes(routes!(detail::diagnosis))
        .routes(routes!(detail::units))
        .routes(routes!(files::list));
    let writing = OpenApiRouter::new()
        .routes(routes!(enqueue))
        .routes(routes!(bulk::enqueue_many))
        .routes(routes!(cancel))
        .routes(routes!(retry))
        .routes(routes!(files::add));
    let counting = OpenApiRouter::new().routes(routes!(counts::stats));
    guarded(reading, api, KeyScope::Read)
        .merge(guarded(writing, api, KeyScope::Write))
        .merge(guarded(counting, api, KeyScope::Admin))
        .with_state(api.clone())
}

type Located<T> = (StatusCode, [(HeaderName, String); 1], Json<T>);

fn located<T>(status: StatusCode, id: impl std::fmt::Display, body: T) -> Located<T> {
    (status, [(header::LOCATION, format!("/api/v1/jobs/{id}"))], Json(body))
}

/// Enqueue a job
///
/// Named by its `definition_key`, or by `domain` and `job_type`. A job that exists already for the same idempotency key
/// or an active dedupe key is the answer then, with `created: false`.
#[utoipa::path(
    post, path = "/jobs", operation_id = "enqueue_job", tag = "jobs", request_body = NewJobBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "The same as `idempotency_key` in the body")),
    responses(
        (status = 201, description = "A new job", body = EnqueuedOne),
        (status = 200, description = "The job that exists already", body = EnqueuedOne),
        Refusal
    )
)]
async fn enqueue(
    State(api): State<Api>,
    Entered(scope): Entered,
    caller: Caller,
    Body(body): Body<NewJobBody>,
) -> Result<Located<EnqueuedOne>, Refusal> {
    let tenant = one_tenant(&scope)?;
    let parent = parent_of(&api.engine, &scope, body.parent()?).await?;
    let request = body.request(&*api.engine.definitions().await?, parent, caller)?;
    let made = api.engine.enqueue(&scope, tenant, request).await.map_err(requests::in_dots)?;
    let status = if made.is_new() { StatusCode::CREATED } else { StatusCode::OK };
    Ok(located(status, made.job.id, EnqueuedOne::new(tenant, &made)))
}

async fn parent_of(engine: &Engine, scope: &Scope, parent: Option<JobRef>) -> Result<Option<i64>, Problem> {
    let Some(parent) = parent else { return Ok(None) };
    let found = engine.find_job(scope, parent).await;
    let missing = |_| Problem::invalid("parent_job_id", "There is no such job. Nothing was enqueued.");
    found.map(|job| Some(job.number)).map_err(missing)
}

/// List jobs
///
/// Beside the parameters below, `payload.<name>[.<name>…]=value` finds jobs by what stands in their payload; a value is
/// compared as a number, a string, `true`, `false` or `null`, whichever it is there.
#[utoipa::path(
    get, path = "/jobs", operation_id = "list_jobs", tag = "jobs", params(ListParams),
    responses((status = 200, body = JobsView), Refusal)
)]
async fn list(State(api): State<Api>, Entered(scope): Entered, pairs: QueryPairs) -> Answer<JobsView> {
    let asked = list::Asked::read(pairs)?;
    let found = api.engine.browse(&scope, &asked.filter, asked.page).await?;
    Ok(Json(JobsView::new(&asked, found)))
}

/// List jobs, at another address
///
/// The same as `GET /jobs`.
#[utoipa::path(
    get, path = "/jobs/list", operation_id = "list_jobs_alias", tag = "jobs", params(ListParams),
    responses((status = 200, body = JobsView), Refusal)
)]
async fn list_too(api: State<Api>, entered: Entered, pairs: QueryPairs) -> Answer<JobsView> {
    list(api, entered, pairs).await
}

/// Get a job
///
/// Secrets in payload and result are masked.
#[utoipa::path(
    get, path = "/jobs/{id}", operation_id = "get_job", tag = "jobs",
    params(JobParam),
    responses((status = 200, body = JobView), Refusal)
)]
async fn detail(
    State(api): State<Api>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    pairs: QueryPairs,
) -> Answer<JobView> {
    pairs.nothing_else()?;
    Ok(Json(api.engine.job_without_logs(&scope, job).await?.into()))
}

/// Cancel a job
///
/// One that waits is cancelled at once; one that runs is asked to stop, and its end says what became of it.
#[utoipa::path(
    post, path = "/jobs/{id}/cancel", operation_id = "cancel_job", tag = "jobs", request_body = CancelBody,
    params(JobParam),
    responses((status = 200, body = Cancelled), Refusal)
)]
async fn cancel(
    State(api): State<Api>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    Body(body): Body<CancelBody>,
) -> Answer<Cancelled> {
    let answer = api.engine.cancel(&scope, job, body.reason()).await?;
    Ok(Json(Cancelled::new(answer, &api.engine.job_without_logs(&scope, job).await?)))
}

/// Retry a job that has ended
///
/// The old job stays as it is; its retry is a new job that names it as its parent.
#[utoipa::path(
    post, path = "/jobs/{id}/retry", operation_id = "retry_job", tag = "jobs",
    params(JobParam),
    responses((status = 201, body = Retried), Refusal)
)]
async fn retry(
    State(api): State<Api>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    Body(requests::Nothing {}): Body<requests::Nothing>,
) -> Result<Located<Retried>, Refusal> {
    let made = api.engine.retry(&scope, job).await?;
    let new = api.engine.job_without_logs(&scope, JobRef::Number(made.number)).await?;
    let old = api.engine.job_without_logs(&scope, job).await?;
    Ok(located(StatusCode::CREATED, made.id, Retried::new(&new, &old)))
}
