//! Every route of the API, the key it needs, and a request to it that is in order.

use crate::rest::{Case, Need, Thing, case};
use serde_json::{Value, json};

pub fn cases() -> Vec<Case> {
    [jobs(), definitions(), events(), triggers(), operations(), admin(), worker()]
        .into_iter()
        .flatten()
        .collect()
}

fn get(need: Need, path: &'static str) -> Case {
    case(need, "GET", path)
}

fn post(need: Need, path: &'static str, body: Value) -> Case {
    case(need, "POST", path).body(body)
}

fn jobs() -> Vec<Case> {
    vec![
        get(Need::Read, "/jobs"),
        get(Need::Read, "/jobs/list"),
        get(Need::Read, "/jobs/summary"),
        get(Need::Admin, "/jobs/stats"),
        get(Need::Read, "/jobs/{id}"),
        get(Need::Read, "/jobs/{id}/attempts"),
        get(Need::Read, "/jobs/{id}/logs"),
        get(Need::Read, "/jobs/{id}/diagnosis"),
        get(Need::Read, "/jobs/{id}/units"),
        get(Need::Read, "/jobs/{id}/attachments"),
        post(Need::Write, "/jobs", json!({"definition_key": "steps", "payload": {}})),
        post(Need::Write, "/jobs/bulk", json!({"jobs": [{"definition_key": "steps", "payload": {}}]})),
        post(Need::Write, "/jobs/{id}/attachments", json!({"name": "note.txt", "text": "hello"})),
        post(Need::Write, "/jobs/{id}/cancel", json!({"reason": "because"})),
        post(Need::Write, "/jobs/{id}/retry", json!({})).about(Thing::EndedJob),
    ]
}

fn definitions() -> Vec<Case> {
    vec![get(Need::Read, "/jobs/definitions"), get(Need::Read, "/jobs/definitions/{key}")]
}

fn events() -> Vec<Case> {
    vec![
        get(Need::Read, "/jobs/events"),
        get(Need::Read, "/jobs/events/stream"),
        get(Need::Read, "/jobs/{id}/events"),
        post(Need::Read, "/jobs/events/token", json!({"domain": "media"})),
    ]
}

fn triggers() -> Vec<Case> {
    let cron = json!({"cron_expr": "0 2 * * *", "timezone": "Europe/Berlin"});
    let label = json!({"label": "mine"});
    let new = json!({"label": "new", "trigger_type": "event", "event_name": "x", "definition_key": "steps"});
    vec![
        post(Need::Write, "/events", json!({"name": "nobody.listens", "payload": {}})),
        get(Need::Read, "/jobs/triggers"),
        get(Need::Read, "/jobs/triggers/{id}"),
        post(Need::Read, "/jobs/triggers/preview", cron),
        post(Need::Admin, "/jobs/triggers", new),
        case(Need::Admin, "PATCH", "/jobs/triggers/{id}").body(label),
        post(Need::Admin, "/jobs/triggers/{id}/run", json!({})),
        case(Need::Admin, "DELETE", "/jobs/triggers/{id}"),
    ]
}

fn operations() -> Vec<Case> {
    let media = || json!({"domain": "media", "dry_run": true});
    let prune = json!({"statuses": ["completed"], "older_than_days": 1, "dry_run": true});
    let reschedule = json!({"domain": "media", "set_now": true, "dry_run": true});
    let control = json!({"domain": "media", "queue": "low", "action": "resume"});
    vec![
        post(Need::Admin, "/jobs/prune", prune),
        post(Need::Admin, "/jobs/ttl/sweep", json!({"age_seconds": 86400, "action": "cancel"})),
        post(Need::Admin, "/jobs/batch/cancel", media()),
        post(Need::Admin, "/jobs/batch/reschedule", reschedule),
        post(Need::Admin, "/jobs/batch/requeue_quarantined", media()),
        post(Need::Admin, "/operations", json!({"action": "cancel", "filter": {"domain": "media"}})),
        post(Need::Admin, "/operations/{id}/apply", json!({})),
        post(Need::Admin, "/operations/{id}/abort", json!({})),
        get(Need::Read, "/operations"),
        get(Need::Read, "/operations/{id}"),
        get(Need::Admin, "/jobs/archive/meta").query("?job_id={id}").about(Thing::ArchivedJob),
        get(Need::Read, "/jobs/queue/status").query("?domain=media&queue=low"),
        post(Need::Govern, "/jobs/queue/control", control),
        post(Need::Govern, "/jobs/integrity/sweep", json!({"fix": false})),
    ]
}

fn admin() -> Vec<Case> {
    vec![
        get(Need::Govern, "/admin/jobs/definitions"),
        post(Need::Govern, "/admin/jobs/definitions", json!({"key": "fresh"})),
        case(Need::Govern, "PATCH", "/admin/jobs/definitions/{id}").body(json!({"description": "better"})),
        get(Need::Govern, "/admin/workers"),
        get(Need::Govern, "/config/jobs"),
    ]
}

fn worker() -> Vec<Case> {
    let reports = [
        "/worker/jobs/{id}/heartbeat",
        "/worker/jobs/{id}/progress",
        "/worker/jobs/{id}/complete",
        "/worker/jobs/{id}/fail",
        "/worker/jobs/{id}/release",
    ];
    let report = |path| post(Need::Worker, path, json!({})).about(Thing::HeldJob);
    let claim = post(Need::Worker, "/worker/jobs/claim", json!({"worker_id": "w"}));
    let checkpoint = post(Need::Worker, "/worker/jobs/{id}/checkpoint", json!({"checkpoint": {"page": 3}}))
        .about(Thing::HeldJob);
    let file = json!({"name": "notes.txt", "text": "ok"});
    let file = post(Need::Worker, "/worker/jobs/{id}/attachments", file).about(Thing::HeldJob);
    let files = get(Need::Worker, "/worker/jobs/{id}/attachments").about(Thing::HeldJob);
    let cancelled = post(Need::Worker, "/worker/jobs/{id}/cancelled", json!({})).about(Thing::StoppingJob);
    let logs = post(Need::Worker, "/worker/jobs/{id}/logs", json!({"lines": []})).about(Thing::HeldJob);
    reports.into_iter().map(report).chain([claim, logs, checkpoint, file, files, cancelled]).collect()
}
