//! Jobs and their events.

use super::{Case, Need, case};
use serde_json::json;

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for path in [
        "/jobs",
        "/jobs/list",
        "/jobs/summary",
        "/jobs/{id}",
        "/jobs/{id}/attempts",
        "/jobs/{id}/logs",
        "/jobs/{id}/diagnosis",
        "/jobs/{id}/units",
        "/jobs/{id}/attachments",
        "/jobs/{id}/events",
        "/jobs/events",
        "/jobs/events/stream",
    ] {
        cases.push(case(Need::Read, "GET", path));
    }
    cases.push(case(Need::Admin, "GET", "/jobs/stats"));
    let job = || json!({"definition_key": "steps", "payload": {}});
    cases.push(case(Need::Write, "POST", "/jobs").body(job()));
    cases.push(case(Need::Write, "POST", "/jobs/bulk").body(json!({"jobs": [job()]})));
    let file = json!({"name": "note.txt", "text": "hello"});
    cases.push(case(Need::Write, "POST", "/jobs/{id}/attachments").body(file));
    cases.push(case(Need::Write, "POST", "/jobs/{id}/cancel").body(json!({})));
    cases.push(case(Need::Write, "POST", "/jobs/{id}/retry").body(json!({})));
    cases
}
