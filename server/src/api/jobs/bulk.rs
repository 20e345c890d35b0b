//! Many new jobs in one call, each with an answer of its own.

use super::{
    caller::{Caller, one_tenant},
    parent_of,
    requests::{Definitions, NewJobBody, in_dots},
    responses::EnqueuedMany,
};
use crate::{
    api::{Api, Body, Refusal},
    auth::api_key::Entered,
};
use axum::{Json, extract::State, http::StatusCode};
use leasehold_queue::{
    Engine, Scope,
    engine::{EnqueueRequest, Enqueued, MOST_AT_ONCE},
};
use leasehold_types::{Problem, ProblemCode, TenantId};
use serde::Deserialize;
use utoipa::ToSchema;

/// Jobs whose mistakes are named in one answer; a caller with more has seen the pattern by then.
const MOST_NAMED: usize = 50;

/// Jobs to be enqueued together.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewJobs)]
#[serde(deny_unknown_fields)]
pub struct BulkBody {
    #[schema(min_items = 1, max_items = 10_000)]
    jobs: Vec<NewJobBody>,
}

/// Enqueue many jobs
///
/// In one transaction, with an answer for each, in order: the job, or the problem that kept it out. What is wrong
/// with one does not hold up the others. When all are refused, so is the call, and every mistake is named by its place
/// (`jobs[3].payload.rows`).
#[utoipa::path(
    post, path = "/jobs/bulk", operation_id = "enqueue_jobs", tag = "jobs", request_body = BulkBody,
    responses(
        (status = 201, description = "At least one new job", body = EnqueuedMany),
        (status = 200, description = "No new job", body = EnqueuedMany),
        Refusal
    )
)]
pub async fn enqueue_many(
    State(api): State<Api>,
    Entered(scope): Entered,
    caller: Caller,
    Body(body): Body<BulkBody>,
) -> Result<(StatusCode, Json<EnqueuedMany>), Refusal> {
    let tenant = one_tenant(&scope)?;
    let asked = read_all(&api.engine, &scope, body.checked(&caller)?, &caller).await?;
    let made = enqueue_readable(&api.engine, &scope, tenant, asked).await?;
    if let Some(problem) = all_refused(&made) {
        return Err(problem.into());
    }
    let answer = EnqueuedMany::new(tenant, made);
    let status = if answer.created > 0 { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(answer)))
}

impl BulkBody {
    fn checked(self, caller: &Caller) -> Result<Vec<NewJobBody>, Problem> {
        if !(1..=MOST_AT_ONCE).contains(&self.jobs.len()) {
            let count = self.jobs.len();
            let message =
                format!("One call carries 1 to {MOST_AT_ONCE} jobs, not {count}. Nothing was enqueued.");
            return Err(Problem::invalid("jobs", message));
        }
        if caller.idempotency_key.is_some() {
            let message = "One key cannot stand for many jobs: give each its own idempotency_key. Nothing was enqueued.";
            return Err(Problem::invalid("Idempotency-Key", message));
        }
        Ok(self.jobs)
    }
}

async fn read_all(
    engine: &Engine,
    scope: &Scope,
    jobs: Vec<NewJobBody>,
    caller: &Caller,
) -> Result<Vec<Result<EnqueueRequest, Problem>>, Problem> {
    let definitions = engine.definitions().await?;
    let mut asked = Vec::with_capacity(jobs.len());
    for job in jobs {
        asked.push(read(engine, scope, &definitions, job, caller.clone()).await);
    }
    Ok(asked)
}

async fn read(
    engine: &Engine,
    scope: &Scope,
    definitions: &Definitions,
    job: NewJobBody,
    caller: Caller,
) -> Result<EnqueueRequest, Problem> {
    let parent = parent_of(engine, scope, job.parent()?).await?;
    job.request(definitions, parent, caller)
}

/// What could be read goes to the engine; each answer takes the place of its request.
async fn enqueue_readable(
    engine: &Engine,
    scope: &Scope,
    tenant: TenantId,
    asked: Vec<Result<EnqueueRequest, Problem>>,
) -> Result<Vec<Result<Enqueued, Problem>>, Problem> {
    let mut requests = Vec::with_capacity(asked.len());
    let places: Vec<_> = asked.into_iter().map(|one| one.map(|request| requests.push(request))).collect();
    let mut made = engine.enqueue_many(scope, tenant, requests).await?.into_iter();
    let mut answer = |()| made.next().unwrap_or_else(|| Err(no_answer()));
    Ok(places.into_iter().map(|place| place.and_then(&mut answer).map_err(in_dots)).collect())
}

/// The problem of the whole call, when no job came in and none was there before. Its code is that of the first.
fn all_refused(made: &[Result<Enqueued, Problem>]) -> Option<Problem> {
    let problems: Vec<_> = made.iter().map(|one| one.as_ref().err()).collect::<Option<_>>()?;
    let first = *problems.first()?;
    let detail = format!("None of the jobs was enqueued. The first: {}", first.detail);
    let mut whole = Problem::new(first.code, detail);
    whole.retry_after_seconds = problems.iter().filter_map(|problem| problem.retry_after_seconds).max();
    for (place, problem) in problems.into_iter().enumerate().take(MOST_NAMED) {
        let item = format!("jobs[{place}]");
        if problem.errors.is_empty() {
            whole = whole.with_field(item.clone(), &problem.detail);
        }
        for error in &problem.errors {
            whole = whole.with_field(format!("{item}.{}", error.field), &error.message);
        }
    }
    Some(whole)
}

fn no_answer() -> Problem {
    Problem::new(ProblemCode::Internal, "There is no answer for this job. Please look whether it exists.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_of_which_nothing_came_in_names_every_mistake() {
        let made = vec![
            Err(Problem::invalid("priority", "No.")),
            Err(Problem::new(ProblemCode::QuotaExceeded, "Full.").retry_after(7)),
        ];
        let problem = all_refused(&made).unwrap();
        let fields: Vec<_> = problem.errors.iter().map(|e| e.field.as_str()).collect();
        assert_eq!((fields, problem.retry_after_seconds), (vec!["jobs[0].priority", "jobs[1]"], Some(7)));
        assert_eq!(problem.code, ProblemCode::InvalidInput);
        assert!(all_refused(&[]).is_none());
    }
}
