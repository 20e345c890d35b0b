//! What server-sent events look like, control events too. OpenAPI 3.1 has no word for it: as tools expect, the schema is
//! that of one event, with the fields a line of the stream can have.

use serde_json::{Value, json};

/// Puts the schemas of both streams' events into the description.
pub fn describe(api: &mut Value) {
    let cursor = json!({
        "type": "object", "required": ["cursor"], "additionalProperties": false,
        "properties": {"cursor": {"type": "integer", "format": "int64", "description": "Where the stream goes on: the id of an event."}}
    });
    let kinds = [
        ("HelloEvent", "hello", "Comes first, and says where the stream begins.", cursor.clone()),
        (
            "ResyncEvent",
            "resync",
            "Events in between are no longer kept: read what you follow anew. The stream goes on from the \
            cursor.",
            cursor,
        ),
        (
            "ResyncJobEvent",
            "resync",
            "Events in between are no longer kept, and the stream ends: open it again.",
            json!({"type": "object"}),
        ),
        (
            "MessageEvent",
            "message",
            "Something happened to a job. The line `event:` is left out.",
            refer("Event"),
        ),
        (
            "SnapshotEvent",
            "snapshot",
            "Comes first: the job as `GET /jobs/{id}` shows it.",
            refer("JobDetail"),
        ),
        (
            "JobMessageEvent",
            "message",
            "Something happened to this job. The line `event:` is left out.",
            refer("JobEvent"),
        ),
    ];
    for (name, event, meaning, data) in kinds {
        api["components"]["schemas"][name] = one_event(event, meaning, data);
    }
    for (name, path, meaning, kinds) in [
        (
            "StreamedEvent",
            "/api/v1/jobs/events/stream",
            "One event of the stream. Between events a comment (a line that begins with `:`) every 15 seconds keeps the connection alive.",
            ["HelloEvent", "MessageEvent", "ResyncEvent"],
        ),
        (
            "StreamedJobEvent",
            "/api/v1/jobs/{id}/events",
            "One event of the stream of a job. Between events a comment (a line that begins with `:`) every 15 seconds keeps the \
             connection alive.",
            ["SnapshotEvent", "JobMessageEvent", "ResyncJobEvent"],
        ),
    ] {
        api["components"]["schemas"][name] = json!({"description": meaning, "oneOf": kinds.map(refer)});
        api["paths"][path]["get"]["responses"]["200"]["content"]["text/event-stream"]["schema"] = refer(name);
    }
}

fn one_event(event: &str, meaning: &str, data: Value) -> Value {
    json!({
        "description": meaning,
        "type": "object",
        "required": ["event", "data"],
        "properties": {
            "event": {"const": event, "description": "The name of the event; `message` when the line is left out."},
            "id": {"type": "string", "pattern": "^[0-9]+$", "description": "The cursor: send it as `Last-Event-ID` to go on behind it."},
            "retry": {"type": "integer", "description": "Milliseconds to wait before opening the stream again."},
            "data": {"type": "string", "contentMediaType": "application/json", "contentSchema": data, "description": "JSON on one line."}
        }
    })
}

fn refer(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}
