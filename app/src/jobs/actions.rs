//! What people do to jobs. Each is a plain form post that ends on a page: with good news, or with the problem
//! and everything that was typed.

use super::{query::encode, schema};
use crate::ssr::{self, Flash, Visit, flash_and_redirect, refuse};
use leasehold_queue::{engine::EnqueueRequest, params::CancelAnswer};
use leasehold_types::{JobRef, Problem, ProblemCode, Source, Timestamp};
use leptos::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;

#[server(prefix = "/do", endpoint = "enqueue")]
pub async fn enqueue(
    slug: String,
    definition_key: String,
    /// The schema's fields, posted as `field[name]`.
    #[server(default)]
    field: BTreeMap<String, String>,
    /// Wins over the fields when not empty.
    #[server(default)]
    payload_json: String,
    #[server(default)] priority: String,
    #[server(default)] queue: String,
    #[server(default)] run_at: String,
) -> Result<(), ServerFnError> {
    let visit = ssr::enter(&slug).await.map_err(refuse)?;
    let form = JobForm { definition_key, field, payload_json, priority, queue, run_at };
    let answer = match form.enqueue(&visit).await {
        Ok((number, is_new)) => {
            let text = if is_new {
                "was queued."
            } else {
                "already exists with the same key; no new job was created."
            };
            let flash = Flash::notice(format!("Job #{number} {text}"));
            flash_and_redirect(flash, &job_path(&visit, number)).await
        }
        Err(problem) => {
            let back =
                format!("/t/{}/jobs/new?definition={}", visit.tenant.slug, encode(&form.definition_key));
            flash_and_redirect(form.kept(problem), &back).await
        }
    };
    answer.map_err(refuse)
}

struct JobForm {
    definition_key: String,
    field: BTreeMap<String, String>,
    payload_json: String,
    priority: String,
    queue: String,
    run_at: String,
}

impl JobForm {
    async fn enqueue(&self, visit: &Visit) -> Result<(i64, bool), Problem> {
        let engine = ssr::door().engine;
        let definition = engine.definition_by_key(&self.definition_key).await?;
        let request = EnqueueRequest {
            queue: Some(self.queue.trim().to_owned()).filter(|q| !q.is_empty()),
            priority: priority(&self.priority)?,
            available_at: moment(&self.run_at)?,
            ..EnqueueRequest::new(&self.definition_key, self.payload(&definition.arg_schema)?, Source::Manual)
        };
        let done = engine.enqueue(&visit.scope, visit.tenant.id, request).await?;
        Ok((done.job.number, done.is_new()))
    }

    fn payload(&self, arg_schema: &Value) -> Result<Value, Problem> {
        let text = self.payload_json.trim();
        if text.is_empty() {
            return schema::payload(arg_schema, &self.field);
        }
        serde_json::from_str(text).map_err(|error| {
            let message = format!("This is not JSON: {error}.");
            Problem::new(ProblemCode::InvalidPayload, message.clone()).with_field("payload_json", message)
        })
    }

    /// The problem with everything that was typed.
    fn kept(self, mut problem: Problem) -> Flash {
        if !self.payload_json.trim().is_empty() {
            point_at_json(&mut problem);
        }
        let mut flash = Flash::problem(
            problem,
            &[
                ("payload_json", self.payload_json.as_str()),
                ("priority", self.priority.as_str()),
                ("queue", self.queue.as_str()),
                ("run_at", self.run_at.as_str()),
            ],
        );
        flash.values.extend(self.field.into_iter().map(|(name, value)| (format!("field.{name}"), value)));
        flash
    }
}

/// Whoever wrote JSON looks for the mistake there, not beside a field left alone.
fn point_at_json(problem: &mut Problem) {
    for error in &mut problem.errors {
        if let Some(place) = error.field.strip_prefix("payload/") {
            error.message = format!("{place}: {}", error.message);
        }
        if error.field.starts_with("payload") {
            error.field = "payload_json".into();
        }
    }
}

fn priority(text: &str) -> Result<Option<i32>, Problem> {
    match text.trim() {
        "" => Ok(None),
        given => given
            .parse()
            .map(Some)
            .map_err(|_| Problem::invalid("priority", format!("“{given}” is not a whole number."))),
    }
}

/// What `<input type="datetime-local">` sends, read as UTC.
fn moment(text: &str) -> Result<Option<Timestamp>, Problem> {
    let given = text.trim();
    if given.is_empty() {
        return Ok(None);
    }
    let seconds = if given.matches(':').count() == 1 { ":00" } else { "" };
    format!("{given}{seconds}Z")
        .parse()
        .map(Some)
        .map_err(|_| Problem::invalid("run_at", "This is not a date and time such as 2026-11-16T08:30."))
}

#[server(prefix = "/do", endpoint = "cancel")]
pub async fn cancel(
    slug: String,
    number: i64,
    #[server(default)] reason: String,
) -> Result<(), ServerFnError> {
    let visit = ssr::enter(&slug).await.map_err(refuse)?;
    let answer = ssr::door().engine.cancel(&visit.scope, JobRef::Number(number), &reason).await;
    let flash = match answer {
        Ok(CancelAnswer::Cancelled) => Flash::notice(format!("Job #{number} was cancelled.")),
        Ok(CancelAnswer::Requested) => Flash::notice(format!(
            "Job #{number} was asked to stop. Its worker has a few seconds to clean up."
        )),
        Err(problem) => Flash::problem(problem, &[("form", "cancel"), ("reason", &reason)]),
    };
    flash_and_redirect(flash, &job_path(&visit, number)).await.map_err(refuse)
}

#[server(prefix = "/do", endpoint = "retry")]
pub async fn retry(slug: String, number: i64) -> Result<(), ServerFnError> {
    let visit = ssr::enter(&slug).await.map_err(refuse)?;
    let answer = match ssr::door().engine.retry(&visit.scope, JobRef::Number(number)).await {
        Ok(new) => {
            let flash = Flash::notice(format!("Job #{} was queued as a retry of #{number}.", new.number));
            flash_and_redirect(flash, &job_path(&visit, new.number)).await
        }
        Err(problem) => flash_and_redirect(Flash::problem(problem, &[]), &job_path(&visit, number)).await,
    };
    answer.map_err(refuse)
}

#[server(prefix = "/do", endpoint = "requeue")]
pub async fn requeue(
    slug: String,
    number: i64,
    #[server(default)] reason: String,
) -> Result<(), ServerFnError> {
    let visit = ssr::enter(&slug).await.map_err(refuse)?;
    let flash = match ssr::door().engine.requeue(&visit.scope, JobRef::Number(number), &reason).await {
        Ok(()) => Flash::notice(format!("Job #{number} was requeued.")),
        Err(problem) => Flash::problem(problem, &[("form", "requeue"), ("reason", &reason)]),
    };
    flash_and_redirect(flash, &job_path(&visit, number)).await.map_err(refuse)
}

fn job_path(visit: &Visit, number: i64) -> String {
    format!("/t/{}/jobs/{number}", visit.tenant.slug)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browsers_local_moment_is_read_as_utc() {
        assert_eq!(moment("").unwrap(), None);
        let expected = "2026-11-16T08:30:00Z".parse::<Timestamp>().unwrap();
        assert_eq!(moment("2026-11-16T08:30").unwrap(), Some(expected));
        assert_eq!(moment("2026-11-16T08:30:00").unwrap(), Some(expected));
        assert_eq!(moment("tomorrow").unwrap_err().errors[0].field, "run_at");
    }

    #[test]
    fn mistakes_in_written_json_are_shown_beside_it() {
        let mut problem = Problem::new(ProblemCode::InvalidPayload, "No.")
            .with_field("payload/seconds", "0 is too small.")
            .with_field("queue", "Unknown.");
        point_at_json(&mut problem);
        assert_eq!(problem.field("payload_json").as_deref(), Some("seconds: 0 is too small."));
        assert_eq!(problem.field("queue").as_deref(), Some("Unknown."));
    }

    #[test]
    fn a_priority_is_a_whole_number_or_nothing() {
        assert_eq!(priority(" ").unwrap(), None);
        assert_eq!(priority("7").unwrap(), Some(7));
        assert_eq!(priority("high").unwrap_err().errors[0].field, "priority");
    }
}
