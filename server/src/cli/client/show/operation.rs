//! Bulk operations as people read them.

use super::{fields, moment, rows};
use crate::cli::text::{Style, Table, plain};
use serde_json::Value;

pub fn operations(answer: &Value, style: Style) -> String {
    let mut table = Table::new(["Id", "Action", "State", "Planned", "Changed", "Skipped", "By", "Created"]);
    for row in rows(answer) {
        table.row([
            plain(&row["id"]).into(),
            plain(&row["action"]).into(),
            plain(&row["state"]).into(),
            plain(&row["planned"]).into(),
            plain(&row["changed"]).into(),
            plain(&row["skipped"]).into(),
            plain(&row["planned_by"]).into(),
            moment(&row["created_at"]).map(|at| style.ago(at)).unwrap_or_default().into(),
        ]);
    }
    let table = table.text(style.paint, "No operations yet.");
    match answer["next_before"].as_str() {
        Some(id) => format!("{table}\n\nMore: --before {id}"),
        None => table,
    }
}

pub fn operation(answer: &Value, style: Style) -> String {
    let mut text = fields(answer, style);
    for skip in answer["skips"].as_array().into_iter().flatten() {
        let (jobs, reason, first) = (plain(&skip["jobs"]), plain(&skip["reason"]), plain(&skip["first"]));
        text = format!("{text}\n{jobs} skipped, the first is #{first}: {reason}");
    }
    match answer["state"].as_str() {
        Some("planned") => {
            format!("{text}\n\nApply it: leasehold operations apply {} --yes", plain(&answer["id"]))
        }
        _ => text,
    }
}
