//! One job as a sheet.

use super::moment;
use crate::cli::text::{Colour, Sheet, Style, plain};
use leasehold_app::components::{badge::Tone, format};
use leasehold_types::{JobStatus, Timestamp};
use serde_json::Value;

/// The state of a job as the dashboard words it.
pub fn tone(job: &Value, now: Timestamp) -> Tone {
    let status: JobStatus = job["status"].as_str().and_then(|s| s.parse().ok()).unwrap_or(JobStatus::Queued);
    let tried = job["attempt_count"].as_i64().unwrap_or(0) > 0;
    let waits = moment(&job["scheduled_for"]).is_some_and(|at| at > now);
    Tone::of_job(status, tried, waits, !job["cancel_requested_at"].is_null())
}

pub fn colour_of(tone: Tone) -> Option<Colour> {
    match tone {
        Tone::Running => Some(Colour::Blue),
        Tone::Completed => Some(Colour::Green),
        Tone::Failed | Tone::DeadLetter => Some(Colour::Red),
        Tone::Quarantined => Some(Colour::Magenta),
        Tone::Retrying | Tone::Cancelling | Tone::Warning => Some(Colour::Yellow),
        Tone::Cancelled => Some(Colour::Dim),
        Tone::Queued | Tone::Scheduled => None,
    }
}

pub fn job(job: &Value, style: Style) -> String {
    let text = |name: &str| job[name].as_str().map(str::to_owned);
    let when = |name: &str| moment(&job[name]).map(|at| style.moment(at));
    let link = |link: &Value| link["number"].as_i64().map(|number| format!("job {number}"));
    let children: Vec<_> = job["children"].as_array().into_iter().flatten().filter_map(link).collect();
    Sheet::new(title(job, style))
        .line(
            "Kind",
            Some(format!(
                "{}/{} in queue {}",
                plain(&job["domain"]),
                plain(&job["job_type"]),
                plain(&job["queue"])
            )),
        )
        .line("Id", text("id"))
        .line(
            "Attempts",
            Some(format!("{} of {}", plain(&job["attempt_count"]), plain(&job["max_attempts"]))),
        )
        .line("Priority", job["priority"].as_i64().map(|n| n.to_string()))
        .line("Progress", progress(job))
        .line("Requested by", text("requested_by"))
        .line("Created", when("created_at"))
        .line("Not before", when("scheduled_for"))
        .line("Started", when("started_at"))
        .line("Ended", when("completed_at"))
        .line("Took", took(job))
        .line("Worker", text("worker_id"))
        .line("Lease until", when("leased_until"))
        .line("Cancelled by", cancelled(job))
        .line("Error", error(job))
        .line("Retry of", link(&job["parent"]))
        .line("Retried as", Some(children.join(", ")))
        .line("Owner", text("owner_user_id"))
        .line("Correlation id", text("correlation_id"))
        .line("Dedupe key", text("dedupe_key"))
        .line("Concurrency key", text("concurrency_key"))
        .line("Trace id", text("trace_id"))
        .line("Request id", text("request_id"))
        .json("Payload", &job["payload"])
        .json("Result", &job["result"])
        .json("Metadata", &job["metadata"])
        .block("Stack", job["error_stack"].as_str())
        .text(style.paint)
}

fn title(job: &Value, style: Style) -> String {
    let tone = tone(job, style.now);
    let word = colour_of(tone).map_or_else(|| tone.label().to_owned(), |c| style.paint.put(c, tone.label()));
    let number = format!("Job {}", plain(&job["number"]));
    format!("{}  {word}", style.paint.put(Colour::Bold, &number))
}

fn progress(job: &Value) -> Option<String> {
    let percent = job["progress_percent"].as_i64().filter(|percent| *percent > 0);
    let said = [&job["stage"], &job["progress_message"]].into_iter().filter_map(Value::as_str);
    let parts: Vec<_> =
        percent.map(|p| format!("{p} %")).into_iter().chain(said.map(str::to_owned)).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn took(job: &Value) -> Option<String> {
    let (began, ended) = (moment(&job["started_at"])?, moment(&job["completed_at"])?);
    Some(format::duration(ended.seconds_since(began)))
}

fn cancelled(job: &Value) -> Option<String> {
    let by = job["cancelled_by"].as_str()?;
    let reason = job["cancellation_reason"].as_str();
    Some(reason.map_or_else(|| by.to_owned(), |reason| format!("{by}: {reason}")))
}

fn error(job: &Value) -> Option<String> {
    let (code, message) = (job["error_code"].as_str(), job["error_message"].as_str());
    match (code, message) {
        (Some(code), Some(message)) => Some(format!("{code}: {message}")),
        (code, message) => code.or(message).map(str::to_owned),
    }
}
