//! What a field or parameter of a name means, wherever it occurs. A field that says something of its own keeps it; the
//! tests see to it that none says nothing.

use serde_json::{Value, json};

/// Gives every field of the schemas that has no description the one of its name.
pub fn describe_fields(schemas: &mut Value) {
    for schema in schemas.as_object_mut().into_iter().flat_map(|all| all.values_mut()) {
        describe_fields_of(schema);
    }
}

fn describe_fields_of(schema: &mut Value) {
    for part in ["allOf", "oneOf", "anyOf"] {
        let parts = schema.get_mut(part).and_then(Value::as_array_mut);
        parts.into_iter().flatten().for_each(describe_fields_of);
    }
    let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (name, field) in fields {
        if !says_something(field)
            && let Some(meaning) = meaning(name)
        {
            field["description"] = json!(meaning);
        }
    }
}

/// A field that refers to a schema says what that schema says.
pub fn says_something(field: &Value) -> bool {
    let within = || field["oneOf"].as_array().is_some_and(|choices| choices.iter().any(says_something));
    field["description"].is_string() || field["$ref"].is_string() || within()
}

pub fn describe_parameters(operation: &mut Value) {
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap_or_default().to_owned();
        if !parameter["description"].is_string()
            && let Some(meaning) = meaning(&name)
        {
            parameter["description"] = json!(meaning);
        }
    }
}

fn meaning(name: &str) -> Option<&'static str> {
    MEANINGS.iter().find(|(known, _)| *known == name).map(|(_, meaning)| *meaning)
}

/// Sorted by name.
const MEANINGS: &[(&str, &str)] = &[
    ("acquired_at", "When its running attempt began."),
    ("affected", "How many jobs were changed, or would be."),
    ("already_done", "The job had ended before; this report changed nothing."),
    ("arg_schema", "The JSON Schema (2020-12) of its payload."),
    ("at", "The moment to move them to."),
    ("attachments", "The files, by name."),
    ("attempt", "Which execution of the job, counted from 1."),
    ("attempt_count", "How often it was started."),
    ("attempts", "How often it was tried."),
    ("available_at", "Not before this moment."),
    ("base_seconds", "The wait before the first retry."),
    ("cancel_requested", "Somebody wants the job to stop: end it soon."),
    ("cancel_requested_at", "When somebody asked the running job to stop."),
    ("cancellation_reason", "Why it was cancelled."),
    ("cancelled", "How many were cancelled."),
    ("cancelled_at", "When it was cancelled."),
    ("cancelled_by", "Who cancelled it."),
    ("cap_seconds", "The longest wait before a retry."),
    ("catch_up", "Of a schedule: what is done about times due that were missed."),
    ("causes", "What keeps it from running, the most important first."),
    ("children", "Jobs that name this one as their parent."),
    ("commands", "The kinds of job it runs, `domain/job_type`."),
    ("completed", "How many were completed."),
    ("completed_at", "When it ended, however it ended."),
    ("completion_token", "The worker's own name for this report: sent again, it has no further effect."),
    ("concurrency_key", "Jobs that share it are limited together, as their definition says."),
    ("content_type", "The media type."),
    ("correlation_id", "Your own name for what the job belongs to; it can be searched for."),
    ("count", "How many jobs."),
    ("counts", "How many there are in each state."),
    ("cron_expr", "Of a schedule: minute, hour, day of the month, month, day of the week."),
    ("dead_letter", "How many used up their attempts."),
    ("dedupe_key", "While a job with this key waits or runs, no second one is made."),
    ("dedupe_window_seconds", "The same payload within so many seconds makes no second job."),
    ("definition_key", "The definition: the kind of job."),
    ("definitions", "The definitions, by key."),
    ("delay_seconds", "Move them so many seconds from now."),
    ("deleted", "How many jobs were removed, or would be."),
    ("description", "What it does, for people."),
    ("domain", "The part of the application it belongs to."),
    ("drain", "What runs may end; nothing more is given out."),
    ("dropped", "Lines beyond the limits of an attempt's log."),
    ("due_at", "The time it was due."),
    ("error_class", "Why it failed, coarsely."),
    ("error_code", "Why it failed, as a word programs can match on."),
    ("error_message", "Why it failed, for people."),
    ("error_stack", "The stack trace the worker sent."),
    ("error_text", "Why it failed, for people."),
    ("event", "The payload of the event."),
    ("event_id", "The sender's own name for the event."),
    ("event_name", "Of an event's trigger: the event it waits for."),
    ("events", "The events, oldest first."),
    ("exit_code", "The exit code of the command."),
    ("failed", "How many failed for good."),
    ("failure_timeline", "Its failed attempts, oldest first."),
    ("filter", "Of an event's trigger: conditions on the payload, all of which must hold."),
    ("finished_at", "When it ended."),
    ("firings", "The times it fired or is due, with what came of them."),
    ("fix", "Repair what is found; else only count."),
    ("fixed", "How many rows were repaired."),
    ("from", "Where it begins on the progress bar, in per cent."),
    ("has_payload_compressed", "Whether a compressed payload is kept."),
    ("has_payload_json", "Whether the payload is kept."),
    ("has_result_compressed", "Whether a compressed result is kept."),
    ("has_result_json", "Whether the result is kept."),
    ("hostname", "The machine it runs on."),
    ("id", "Its id, unique everywhere."),
    ("is_active", "New jobs of it can be enqueued."),
    ("is_enabled", "It fires."),
    ("job", "The job it is about."),
    ("jobId", "The id of the job."),
    ("job_number", "The number of the job."),
    ("job_type", "The kind of job within its domain."),
    ("jobs", "The jobs."),
    ("kept", "Lines that are in the log now."),
    ("key", "The name by which jobs of this kind are enqueued."),
    ("label", "The trigger's name, for people."),
    ("last_fired_at", "When it fired last."),
    ("last_fired_for", "The newest time due that made a job."),
    ("lease_id", "The lease under which the job is held, from the claim."),
    ("lease_seconds", "How long the lease is to last from now."),
    ("leased_until", "When its lease runs out, unless it is renewed."),
    ("limit", "How many at most."),
    ("limits", "How many may run at once."),
    ("lines", "The log's lines, in order."),
    ("max_active_per_key", "How many that share a concurrency key may run at once."),
    ("max_attempts", "How often it may be run in all."),
    ("max_in_flight", "How many may run at once."),
    ("max_in_flight_per_tenant", "How many of one tenant may run at once."),
    ("meaning", "What it does."),
    ("message", "What happened, for people."),
    ("metadata", "A small object of your own, kept with the job."),
    ("name", "Its name."),
    ("next_due_at", "When it is due next."),
    ("non_processing_with_lease", "Leases on jobs that do not run."),
    ("number", "The job's number, as the dashboard shows it; every address takes it."),
    ("offset", "How many were skipped."),
    ("oldest_queued_age_seconds", "How long the job that has been ready longest has waited."),
    ("oldest_queued_at", "Since when the job that has been ready longest could have run."),
    ("owner_user_id", "Whom the job is for, in your own application."),
    ("parent", "The job this one follows from."),
    ("parent_job_id", "The id of the job this one follows from."),
    ("parent_number", "The number of the job this one follows from."),
    ("paused", "Nothing is given out until it is resumed."),
    ("payload_template", "The job's payload, in which `{{event.path}}` and the like are replaced."),
    ("percent", "How far it is, from 0 to 100; it never goes back."),
    ("pid", "The process that ran it."),
    ("plan_id", "The plan, as the audit log names it."),
    ("priority", "1 comes before 1000."),
    ("processing", "How many run."),
    ("processing_expired", "Jobs whose lease has run out."),
    ("progress", "How far it is, in per cent."),
    ("progress_message", "What it is doing, for people."),
    ("progress_percent", "How far it is, in per cent."),
    ("project_id", "The project it belongs to, in your own application."),
    ("provider", "Whom it calls."),
    ("quarantined", "How many are quarantined: they failed alike too often and wait for somebody."),
    ("quarantined_at", "When it was quarantined."),
    ("queue", "The queue within its domain."),
    ("queued", "How many wait."),
    ("reason", "Why; the activity of the jobs and the audit log show it."),
    ("request_id", "The `X-Request-ID` of the request that made it."),
    ("requested_by", "Who asked for it."),
    ("retry", "How failures are retried."),
    ("retryable", "False: trying again cannot help."),
    ("running", "How many run."),
    ("running_count", "How many jobs it runs now."),
    ("scheduled_for", "Not before this moment."),
    ("seq", "Its number within the whole, counted from 1."),
    ("set_now", "Make them ready now."),
    ("settings", "Every setting, by name."),
    ("sha256", "The hash of the content, in hex."),
    ("sort_order", "Ascending or descending; descending when left out."),
    ("source", "Who asked for the job."),
    ("source_ref", "What it came from: a trigger, an event."),
    ("stack", "A stack trace, if there is one."),
    ("stage", "The part of the job it has come to."),
    ("stages", "The parts of the job and the span of the progress bar each covers."),
    ("standard_queues", "The queues every domain has."),
    ("started_at", "When it began."),
    ("stats", "One entry for each kind of job."),
    ("status", "The state it is in."),
    ("stderr_tail", "The end of what the command wrote to stderr."),
    ("stdout_tail", "The end of what the command wrote to stdout."),
    ("stream", "Where the line came from."),
    ("summary", "The answer in a sentence."),
    ("tenant", "The slug of its tenant."),
    ("tenant_id", "The id of its tenant."),
    ("text", "The words themselves."),
    ("timeout_seconds", "How long one attempt may take."),
    ("timezone", "Of a schedule: an IANA time zone."),
    ("title", "What sort of problem it is, for people."),
    ("to", "Where it ends on the progress bar, in per cent."),
    ("trace_id", "Under which other systems know what this job belongs to."),
    ("trigger_id", "The trigger."),
    ("trigger_type", "What the trigger waits for."),
    ("triggers", "The triggers, oldest first."),
    ("type", "Always `about:blank`: `code` says which problem it is."),
    ("units", "The work units."),
    ("version", "The version of Leasehold it runs."),
    ("wait_seconds", "How long to wait for a job when there is none, at most 30."),
    ("worker_id", "The worker's name."),
    ("workers", "The workers, the latest heard of first."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_keeps_its_own_words_and_takes_the_usual_ones() {
        let mut schemas = json!({"A": {"properties": {"queue": {"type": "string"}, "number": {"description": "Own."}},
            "oneOf": [{"properties": {"domain": {"type": "string"}}}]}});
        describe_fields(&mut schemas);
        let fields = &schemas["A"]["properties"];
        assert_eq!(fields["queue"]["description"], "The queue within its domain.");
        assert_eq!(fields["number"]["description"], "Own.");
        assert!(schemas["A"].get("allOf").is_none(), "nothing else is added");
        assert!(says_something(&schemas["A"]["oneOf"][0]["properties"]["domain"]));
    }

    #[test]
    fn each_name_has_one_meaning() {
        assert!(MEANINGS.is_sorted_by(|(a, _), (b, _)| a < b));
    }
}
