//! Answers of the API as people read them.

mod job;
mod operation;

use crate::cli::text::{Cell, Colour, Sheet, Style, Table, label, plain};
pub use job::{colour_of, job, tone};
use leasehold_app::components::format;
use leasehold_types::Timestamp;
pub use operation::{operation, operations};
use serde_json::Value;

/// The rows of an answer: the first list in it.
fn rows(answer: &Value) -> &[Value] {
    let list = match answer {
        Value::Array(list) => Some(list),
        Value::Object(map) => map.values().find_map(Value::as_array),
        _ => None,
    };
    list.map(Vec::as_slice).unwrap_or_default()
}

pub fn moment(value: &Value) -> Option<Timestamp> {
    value.as_str().and_then(|text| text.parse().ok())
}

pub fn jobs(answer: &Value, style: Style) -> String {
    let mut table =
        Table::new(["Number", "Status", "Domain", "Queue", "Type", "Attempts", "Created", "Error"]);
    for row in rows(answer) {
        let tone = tone(row, style.now);
        let status = match (tone.label(), row["progress_percent"].as_i64()) {
            ("Running", Some(percent)) => format!("Running {percent} %"),
            (word, _) => word.to_owned(),
        };
        table.row([
            plain(&row["number"]).into(),
            Cell::from(status).coloured(colour_of(tone)),
            plain(&row["domain"]).into(),
            plain(&row["queue"]).into(),
            plain(&row["job_type"]).into(),
            format!("{} of {}", plain(&row["attempt_count"]), plain(&row["max_attempts"])).into(),
            moment(&row["created_at"]).map(|at| style.ago(at)).unwrap_or_default().into(),
            Cell::from(row["error_code"].as_str().unwrap_or_default()).coloured(error_colour(row)),
        ]);
    }
    let table = table.text(style.paint, "No jobs match.");
    match answer["next_cursor"].as_str() {
        Some(cursor) => format!("{table}\n\nMore: --cursor {cursor}"),
        None => table,
    }
}

fn error_colour(row: &Value) -> Option<Colour> {
    row["error_code"].is_string().then_some(Colour::Red)
}

pub fn stats(answer: &Value, style: Style) -> String {
    const COUNTS: [&str; 5] = ["queued", "scheduled", "processing", "quarantined", "failed"];
    let mut table =
        Table::new(["Domain", "Queue", "Type", "Queued", "Scheduled", "Running", "Quarantined", "Failed"]);
    for row in rows(answer) {
        let [queued, scheduled, running, quarantined, failed] =
            COUNTS.map(|name| Cell::from(format::count(row[name].as_i64().unwrap_or(0))));
        let [domain, queue, kind] = ["domain", "queue", "job_type"].map(|name| Cell::from(plain(&row[name])));
        table.row([domain, queue, kind, queued, scheduled, running, quarantined, failed]);
    }
    table.text(style.paint, "No jobs yet.")
}

pub fn enqueued(answer: &Value, _: Style) -> String {
    let (number, kind) = (plain(&answer["number"]), plain(&answer["definition_key"]));
    if answer["replayed"] == true {
        return format!("Job {number} ({kind}) exists already: the idempotency key was used before.");
    }
    if answer["deduplicated"] == true {
        return format!("Job {number} ({kind}) exists already: it holds the dedupe key.");
    }
    format!("Job {number} ({kind}) is queued.")
}

pub fn cancelled(answer: &Value, _: Style) -> String {
    let number = plain(&answer["number"]);
    if answer["outcome"] == "cancelled" {
        return format!("Job {number} is cancelled.");
    }
    format!("Job {number} was asked to stop; `leasehold jobs tail {number}` follows it.")
}

pub fn retried(answer: &Value, _: Style) -> String {
    format!("Job {} repeats job {}.", plain(&answer["number"]), plain(&answer["parent_number"]))
}

pub fn definitions(answer: &Value, style: Style) -> String {
    let mut table = Table::new(["Key", "Domain", "Queue", "Run by", "Active", "Description"]);
    for row in rows(answer) {
        let [key, domain, queue, by, about] =
            ["key", "domain", "queue", "executor", "description"].map(|name| Cell::from(plain(&row[name])));
        let active = if row["is_active"] == true { "yes" } else { "no" };
        table.row([key, domain, queue, by, active.into(), about]);
    }
    table.text(style.paint, "No definitions.")
}

pub fn definition(answer: &Value, style: Style) -> String {
    let text = |name: &str| answer[name].as_str().map(str::to_owned);
    let number = |name: &str| answer[name].as_i64();
    let stage = |stage: &Value| plain(&stage["name"]);
    let stages: Vec<_> = answer["stages"].as_array().into_iter().flatten().map(stage).collect();
    let limits = answer["limits"].as_object().into_iter().flatten().filter(|(_, limit)| !limit.is_null());
    let limits: Vec<_> = limits.map(|(name, limit)| format!("{name} {}", plain(limit))).collect();
    Sheet::new(style.paint.put(Colour::Bold, &plain(&answer["key"])))
        .line("Description", text("description"))
        .line("Domain", text("domain"))
        .line("Type", text("job_type"))
        .line("Queue", text("queue"))
        .line("Run by", text("executor"))
        .line("Active", Some(if answer["is_active"] == true { "yes" } else { "no" }.to_owned()))
        .line("Attempts", number("max_attempts").map(|n| n.to_string()))
        .line("Timeout", number("timeout_seconds").map(|seconds| format::duration(seconds as f64)))
        .line("Stages", Some(stages.join(", ")))
        .line("Limits", Some(limits.join(", ")))
        .json("Payload schema", &answer["arg_schema"])
        .text(style.paint)
}

/// Any other answer: its fields, and the list in it as a table.
pub fn fields(answer: &Value, style: Style) -> String {
    let Value::Object(map) = answer else { return plain(answer) };
    let mut sheet = Sheet::default();
    for (name, value) in map.iter().filter(|(_, value)| !value.is_null() && !value.is_array()) {
        let text = moment(value).map_or_else(|| plain(value), |at| style.moment(at));
        sheet = sheet.line(&label(name), Some(text));
    }
    let text = sheet.text(style.paint);
    match groups(answer, style) {
        Some(groups) => format!("{text}\n\n{groups}"),
        None => text,
    }
}

fn groups(answer: &Value, style: Style) -> Option<String> {
    let groups = answer["groups"].as_array().filter(|groups| !groups.is_empty())?;
    let mut table = Table::new(["Domain", "Queue", "Type", "Status", "Jobs"]);
    for group in groups {
        let tone = tone(group, style.now);
        let [domain, queue, kind] =
            ["domain", "queue", "job_type"].map(|name| Cell::from(plain(&group[name])));
        let count = format::count(group["count"].as_i64().unwrap_or(0));
        table.row([domain, queue, kind, Cell::from(tone.label()).coloured(colour_of(tone)), count.into()]);
    }
    Some(table.text(style.paint, ""))
}

#[cfg(test)]
mod tests;
