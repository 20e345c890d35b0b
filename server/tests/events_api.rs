//! Events over the API: by cursor, as a stream, and the stream of one job.

mod common;

use common::{
    House,
    program::{Programs, hear},
    remote::new_key,
};
use serde_json::{Value, json};
use std::{
    io::BufRead,
    time::{Duration, Instant},
};

on_both_databases! {
    events_are_read_by_cursor,
    a_stream_resumes_where_it_was_left,
    one_job_is_followed_to_its_end,
    a_revoked_key_ends_its_stream,
}

/// Polls until so many events can be read.
fn events(programs: &Programs, path: &str, at_least: usize) -> Value {
    let began = Instant::now();
    loop {
        let (status, page) = programs.get(path);
        assert_eq!(status, 200, "{page}");
        if page["events"].as_array().unwrap().len() >= at_least {
            return page;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{page}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn ids(page: &Value) -> Vec<i64> {
    page["events"].as_array().unwrap().iter().map(|event| event["id"].as_i64().unwrap()).collect()
}

fn events_are_read_by_cursor(house: House) {
    let programs = Programs::new(house);
    let numbers: Vec<_> = (0..5).map(|n| programs.enqueue(json!({"n": n}))).collect();
    let high = json!({"definition_key": "steps", "queue": "high"});
    assert_eq!(programs.post("/jobs", &high).0, 201);
    let page = events(&programs, "/jobs/events?after_id=0", 6);
    let first = &page["events"][0];
    assert_eq!((&first["kind"], &first["number"]), (&json!("job.created"), &json!(numbers[0])));
    let all = ids(&page);
    assert!(all.is_sorted_by(|a, b| a < b), "{all:?}");
    assert_eq!(page["next_after_id"], json!(all[5]));
    let (mut paged, mut after) = (Vec::new(), 0);
    loop {
        let (_, page) = programs.get(&format!("/jobs/events?after_id={after}&limit=2"));
        paged.extend(ids(&page));
        after = page["next_after_id"].as_i64().unwrap();
        if page["more"] == json!(false) {
            break;
        }
    }
    assert_eq!(paged, all);
    let (_, narrow) = programs.get("/jobs/events?queue=high&domain=media&job_type=steps");
    assert_eq!(
        (ids(&narrow), &narrow["next_after_id"]),
        (vec![all[5]], &json!(all[5])),
        "the cursor moves on"
    );
    let (_, nothing) = programs.get("/jobs/events?queue=low");
    assert_eq!((ids(&nothing), &nothing["next_after_id"]), (vec![], &json!(all[5])));
    let (status, gone) = programs.get("/jobs/events?after_id=1000000");
    assert_eq!((status, &gone["code"]), (410, &json!("CURSOR_EXPIRED")), "a cursor of another database");
    for wrong in ["after_id=-1", "after_id=x", "limit=0", "limit=1001", "color=red"] {
        assert_eq!(programs.get(&format!("/jobs/events?{wrong}")).0, 422, "{wrong}");
    }
}

fn a_stream_resumes_where_it_was_left(house: House) {
    let programs = Programs::new(house);
    let mut live = programs.hear("/jobs/events/stream", &[]);
    assert_eq!(live.next().unwrap().event, "hello");
    for n in 0..6 {
        programs.enqueue(json!({"n": n}));
    }
    let told: Vec<_> = (0..6).map(|_| live.next().unwrap()).collect();
    assert!(
        told.iter().all(|told| told.data["kind"] == "job.created" && told.id == told.data["id"].as_i64())
    );
    let third = told[2].id.unwrap().to_string();
    for mut resumed in [
        programs.hear("/jobs/events/stream", &[("last-event-id", &third)]),
        programs.hear(&format!("/jobs/events/stream?after_id={third}"), &[]),
        programs.hear("/jobs/events/stream?after_id=1", &[("last-event-id", &third)]),
    ] {
        assert_eq!(resumed.next().unwrap().event, "hello");
        let next: Vec<_> = (0..3).map(|_| resumed.next().unwrap().id).collect();
        assert_eq!(next, told[3..].iter().map(|told| told.id).collect::<Vec<_>>());
    }
    let mut whole = programs.hear("/jobs/events/stream?after_id=0", &[]);
    whole.next();
    assert_eq!(whole.next().unwrap().id, told[0].id);
    let mut lost = programs.hear("/jobs/events/stream?after_id=1000000", &[]);
    assert_eq!(lost.next().unwrap().event, "hello");
    let resync = lost.next().unwrap();
    assert_eq!((resync.event.as_str(), resync.id), ("resync", told[5].id), "goes on from now");
    let mut narrow = programs.hear("/jobs/events/stream?queue=high&after_id=0", &[]);
    narrow.next();
    let high = programs.post("/jobs", &json!({"definition_key": "steps", "queue": "high"})).1;
    assert_eq!(narrow.next().unwrap().data["number"], high["number"]);
    assert_eq!(lost.next().unwrap().data["number"], high["number"]);
    let stranger = new_key(&programs.house, "other", "read");
    let mut theirs = hear(&programs.server, &stranger, "/jobs/events/stream?after_id=0", &[]);
    theirs.next();
    let own = programs.post_as(
        &new_key(&programs.house, "other", "write"),
        "/jobs",
        &json!({"definition_key": "steps"}),
    );
    assert_eq!(theirs.next().unwrap().data["number"], own.1["number"], "nothing of another tenant");
    let refused = programs
        .server
        .get("/api/v1/jobs/events/stream", &[("x-api-key", &programs.key), ("last-event-id", "x")]);
    assert_eq!(refused.status, 422);
}

fn one_job_is_followed_to_its_end(house: House) {
    let programs = Programs::new(house);
    let (_, made) =
        programs.post("/jobs", &json!({"definition_key": "steps", "payload": {"password": "hush-hush"}}));
    let number = made["number"].as_i64().unwrap();
    let mut live = programs.hear(&format!("/jobs/{number}/events"), &[]);
    let snapshot = live.next().unwrap();
    assert_eq!((snapshot.event.as_str(), &snapshot.data["status"]), ("snapshot", &json!("queued")));
    assert!(!snapshot.data.to_string().contains("hush-hush"));
    programs.enqueue(json!({"other": true}));
    let worker = new_key(&programs.house, "acme", "worker");
    let (_, claimed) =
        programs.post_as(&worker, "/worker/jobs/claim", &json!({"worker_id": "w", "limit": 1}));
    let lease = &claimed["jobs"][0]["lease_id"];
    assert_eq!(claimed["jobs"][0]["number"], json!(number), "{claimed}");
    let tell = |what: &str, mut body: Value| {
        body["worker_id"] = json!("w");
        body["lease_id"] = lease.clone();
        let (status, answer) = programs.post_as(&worker, &format!("/worker/jobs/{number}/{what}"), &body);
        assert_eq!(status, 200, "{answer}");
    };
    tell("progress", json!({"percent": 40, "stage": "reading", "message": "half way"}));
    tell("complete", json!({}));
    let told = live.rest();
    // A created event may follow the snapshot that holds it already.
    let told: Vec<_> = told.iter().filter(|t| t.data["metadata"]["kind"] != "job.created").collect();
    let stages: Vec<_> = told.iter().map(|t| t.data["stage"].as_str().unwrap()).collect();
    assert_eq!(stages, ["processing", "reading", "completed"]);
    for event in &told {
        let data = event.data.as_object().unwrap();
        let known = ["id", "jobId", "timestamp", "stage", "progress", "message", "attempt", "metadata"];
        assert!(data.keys().all(|key| known.contains(&key.as_str())), "{data:?}");
        assert!(data["id"].as_str().unwrap().parse::<uuid::Uuid>().is_ok() && data["jobId"] == made["id"]);
        assert_eq!(data["attempt"], 1);
    }
    assert_eq!((&told[1].data["progress"], &told[1].data["message"]), (&json!(40), &json!("half way")));
    assert_eq!(told[2].data["progress"], 100);
    let seen = told[2].id.unwrap();
    let ended = programs.hear(&format!("/jobs/{number}/events"), &[]).rest();
    let kinds: Vec<_> =
        ended.iter().map(|t| (t.event.as_str(), t.data["stage"].as_str().unwrap_or_default())).collect();
    assert_eq!(kinds, [("snapshot", "reading"), ("", "completed")], "{ended:?}");
    let again = programs
        .hear(&format!("/jobs/{number}/events"), &[("last-event-id", &(seen - 1).to_string())])
        .rest();
    assert_eq!(again.len(), 2, "who missed the end is told");
    for known in [seen, ended[1].id.unwrap()] {
        let path = format!("/api/v1/jobs/{number}/events");
        let headers = [("x-api-key", programs.key.as_str()), ("last-event-id", &known.to_string())];
        assert_eq!(programs.server.get(&path, &headers).status, 204, "who knows the end need not come again");
    }
}

fn a_revoked_key_ends_its_stream(house: House) {
    let programs = Programs::new(house);
    let key = new_key(&programs.house, "acme", "read");
    let mut live = hear(&programs.server, &key, "/jobs/events/stream", &[]);
    assert_eq!(live.next().unwrap().event, "hello");
    let prefix = key["lh_".len()..].split('_').next().unwrap();
    programs.house.json(&["key", "revoke", prefix], "");
    live.ends_soon();
}

#[test]
fn one_key_has_only_so_many_streams() {
    let mut programs = Programs::new(House::new());
    programs.server = programs.house.serve(&[("JOBS_SSE_MAX_STREAMS_PER_TENANT", "5")]);
    let open: Vec<_> = (0..5).map(|_| programs.hear("/jobs/events/stream", &[])).collect();
    let (status, refused) = programs.get("/jobs/events/stream");
    assert_eq!((status, &refused["code"]), (429, &json!("QUOTA_EXCEEDED")));
    drop(open);
    let began = Instant::now();
    let path = "/api/v1/jobs/events/stream";
    let mut status = String::new();
    while !status.starts_with("HTTP/1.1 200") {
        assert!(began.elapsed() < Duration::from_secs(20), "the places are given back: {status}");
        status.clear();
        programs.server.stream(path, &[("x-api-key", &programs.key)]).read_line(&mut status).unwrap();
    }
}
