//! What a job's page shows only in part, whole: payload, result, attempts, and the log of one attempt.

use crate::{api::Attempts, attachments::disposition, problem};
use axum::{
    body::{Body, Bytes},
    extract::{Path, State},
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};
use futures::stream;
use leasehold_app::ssr::CurrentUser;
use leasehold_queue::{Engine, Scope};
use leasehold_types::{JobRef, Problem, ProblemCode, view::LogLine};
use serde::Serialize;
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum File {
    Payload,
    Result,
    Attempts,
    Log { attempt: i32 },
}

impl File {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "payload.json" => Some(Self::Payload),
            "result.json" => Some(Self::Result),
            "attempts.json" => Some(Self::Attempts),
            _ => {
                let attempt = name.strip_prefix("log-")?.strip_suffix(".txt")?.parse().ok()?;
                Some(Self::Log { attempt })
            }
        }
    }
}

pub async fn download(
    State(engine): State<Arc<Engine>>,
    Path((slug, number, name)): Path<(String, String, String)>,
    headers: HeaderMap,
    axum::Extension(current): axum::Extension<CurrentUser>,
) -> Response {
    let answer = open(engine, current, &slug, &number, &name).await;
    answer.unwrap_or_else(|problem| problem::respond_to(&headers, &problem))
}

async fn open(
    engine: Arc<Engine>,
    current: CurrentUser,
    slug: &str,
    number: &str,
    name: &str,
) -> Result<Response, Problem> {
    let user =
        current.0.ok_or_else(|| Problem::new(ProblemCode::Unauthenticated, "Please sign in first."))?;
    let visit = engine.visit(user, slug).await?;
    let number: i64 = number.parse().map_err(|_| Problem::not_found("This job"))?;
    let file = File::parse(name).ok_or_else(|| Problem::not_found("This file"))?;
    // Hides secrets, as the page does.
    let job = engine.job_without_logs(&visit.scope, JobRef::Number(number)).await?;
    let saved_as = format!("job-{number}-{name}");
    match file {
        File::Payload => json(&job.payload, &saved_as),
        File::Result => match &job.result {
            Some(result) => json(result, &saved_as),
            None => Err(Problem::not_found("The result of this job")),
        },
        File::Attempts => json(&Attempts::from(job), &saved_as),
        File::Log { attempt } if (1..=job.row.attempt_count).contains(&attempt) => {
            respond("text/plain; charset=utf-8", &saved_as, log(engine, visit.scope, number, attempt))
        }
        File::Log { .. } => Err(Problem::not_found("This attempt")),
    }
}

fn json(value: &impl Serialize, saved_as: &str) -> Result<Response, Problem> {
    let text = serde_json::to_vec_pretty(value).map_err(unsendable)?;
    respond("application/json", saved_as, Body::from(text))
}

/// Read and sent a thousand lines at a time, however long it is.
fn log(engine: Arc<Engine>, scope: Scope, number: i64, attempt: i32) -> Body {
    Body::from_stream(stream::try_unfold(-1, move |after| {
        let (engine, scope) = (engine.clone(), scope.clone());
        async move {
            let lines = engine.logs(&scope, JobRef::Number(number), attempt, after).await;
            let lines = lines.map_err(|problem| std::io::Error::other(problem.detail))?;
            let Some(last) = lines.last().map(|line| line.seq) else { return Ok(None) };
            let text: String = lines.iter().map(told).collect();
            Ok::<_, std::io::Error>(Some((Bytes::from(text), last)))
        }
    }))
}

fn told(line: &LogLine) -> String {
    format!("{} {} {}\n", line.at, line.stream, line.text)
}

/// Always a download, never a page.
fn respond(content_type: &'static str, saved_as: &str, body: Body) -> Result<Response, Problem> {
    let built = Response::builder()
        .header(header::CONTENT_TYPE, content_type)
        .header(header::CONTENT_DISPOSITION, disposition(saved_as))
        .header(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))
        .body(body);
    built.map_err(unsendable)
}

fn unsendable(error: impl std::fmt::Display) -> Problem {
    tracing::error!(%error, "a part of a job cannot be sent");
    Problem::new(ProblemCode::Internal, "This file cannot be sent. The log has the details.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_names_are_files() {
        assert_eq!(File::parse("payload.json"), Some(File::Payload));
        assert_eq!(File::parse("log-12.txt"), Some(File::Log { attempt: 12 }));
        for name in ["", "payload", "log-.txt", "log-1", "../payload.json", "log-99999999999.txt"] {
            assert_eq!(File::parse(name), None, "{name}");
        }
    }
}
