//! `/metrics` as a scraper meets it: clean by promtool's rules, true, small, and closed to strangers.

mod common;

use common::{
    House, PASSWORD, Serving,
    remote::{Remote, new_key},
};
use serde_json::json;
use std::{
    io::Write,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

fn scrape(server: &Serving, headers: &[(&str, &str)]) -> String {
    let answer = server.get("/metrics", headers);
    assert_eq!(answer.status, 200, "{} {}", answer.head, answer.body);
    unchunked(&answer)
}

/// The client of these tests leaves chunks as they come; a page of metrics has none of its own lines in hex.
fn unchunked(answer: &common::Answer) -> String {
    if answer.header("transfer-encoding") != Some("chunked") {
        return answer.body.clone();
    }
    let (mut rest, mut text) = (answer.body.as_str(), String::new());
    while let Some((size, more)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        if size == 0 {
            break;
        }
        text += &more[..size];
        rest = more[size..].trim_start_matches("\r\n");
    }
    text
}

/// Scrapes until the sample has the value.
fn scrape_until(server: &Serving, sample: &str) -> String {
    let began = Instant::now();
    loop {
        let text = scrape(server, &[]);
        if text.lines().any(|line| line == sample) {
            return text;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "never “{sample}” in:\n{text}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Named by the environment; without it the test fails rather than passing unseen.
fn promtool(arguments: &[&str], input: &str) {
    let tool =
        std::env::var_os("PROMTOOL").expect("PROMTOOL names no promtool: run through `cargo xtask test`");
    let mut child = Command::new(tool)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

fn jobs_of_every_ending(house: House) {
    let remote = Remote::new(house);
    remote.enqueue("acme", json!({}));
    let job = remote.claim("w1", 30);
    assert_eq!(remote.tell(&job, "progress", json!({"stage": "read \"it\"", "percent": 5})).0, 200);
    let (status, answer) = remote.tell(&job, "complete", json!({"result": {}}));
    assert_eq!(status, 200, "{answer}");
    remote.enqueue("acme", json!({}));
    let job = remote.claim("w1", 30);
    let failure = json!({"error_code": "BOOM", "error_class": "validation_error", "message": "no"});
    let (status, answer) = remote.tell(&job, "fail", failure);
    assert_eq!(status, 200, "{answer}");
    let number = remote.enqueue("acme", json!({}));
    remote.cancel(number);
    remote.enqueue("other", json!({}));

    let group = r#"domain="media",queue="default",job_type="steps""#;
    let server = &remote.server;
    scrape_until(server, r#"jobs_tenant_enqueued_total{tenant="other"} 1"#);
    let text = scrape_until(server, r#"jobs_depth{tenant="other",status="queued"} 1"#);
    for sample in [
        format!("jobs_created_total{{{group}}} 4"),
        format!("jobs_completed_total{{{group}}} 1"),
        format!("jobs_failed_total{{{group}}} 1"),
        format!(r#"jobs_failures_total{{{group},reason="failed"}} 1"#),
        format!(r#"jobs_failures_by_code_total{{{group},error_code="BOOM"}} 1"#),
        format!("jobs_cancelled_total{{{group}}} 1"),
        format!("jobs_cancellations_total{{{group}}} 1"),
        format!("jobs_queued{{{group}}} 1"),
        format!("jobs_backlog{{{group}}} 1"),
        format!("jobs_processing{{{group}}} 0"),
        format!("jobs_queue_latency_seconds_count{{{group}}} 2"),
        format!("jobs_duration_seconds_count{{{group}}} 2"),
        r#"job_start_total{job_type="steps"} 2"#.to_owned(),
        r#"job_attempt_start_total{job_type="steps"} 2"#.to_owned(),
        r#"job_alert_total{job_type="steps"} 0"#.to_owned(),
        r#"job_failure_total{job_type="steps",error_class="validation_error"} 1"#.to_owned(),
        r#"job_canceled_total{job_type="steps"} 1"#.to_owned(),
        r#"job_stage_time_seconds_count{job_type="steps",stage="read \"it\""} 1"#.to_owned(),
        r#"job_duration_seconds_count{job_type="steps",outcome="completed"} 1"#.to_owned(),
        r#"jobs_depth{tenant="acme",status="cancelled"} 1"#.to_owned(),
        "leasehold_claimed_jobs_total 2".to_owned(),
        "leasehold_database_reachable 1".to_owned(),
        "leasehold_events_missed_total 0".to_owned(),
    ] {
        assert!(text.lines().any(|line| line == sample), "no “{sample}” in:\n{text}");
    }
    assert!(text.contains(
        r#"leasehold_http_requests_total{method="POST",route="/api/v1/worker/jobs/claim",status="200"}"#
    ));
    promtool(&["check", "metrics"], &text);
}

fn a_tenants_key_sees_its_tenant_and_nothing_else(house: House) {
    let remote = Remote::new(house);
    remote.enqueue("acme", json!({}));
    remote.enqueue("other", json!({}));
    scrape_until(&remote.server, r#"jobs_tenant_enqueued_total{tenant="other"} 1"#);
    scrape_until(&remote.server, r#"jobs_depth{tenant="other",status="queued"} 1"#);
    for scope in ["read", "admin"] {
        let key = new_key(&remote.house, "acme", scope);
        let text = scrape(&remote.server, &[("authorization", &format!("Bearer {key}"))]);
        assert!(text.contains(r#"jobs_depth{tenant="acme",status="queued"} 1"#), "{text}");
        assert!(
            text.contains(r#"jobs_created_total{domain="media",queue="default",job_type="steps"} 1"#),
            "{text}"
        );
        assert!(
            !text.contains("other") && !text.contains("leasehold_") && !text.contains("jobs_workers"),
            "{text}"
        );
        promtool(&["check", "metrics"], &text);
    }
    let worker = remote.server.get("/metrics", &[("x-api-key", &remote.key)]);
    assert_eq!((worker.status, worker.body.contains("FORBIDDEN")), (403, true));
    let added = remote.house.json(&["key", "add", "--installation", "--name", "all", "--scope", "read"], "");
    let text = scrape(&remote.server, &[("x-api-key", added["key"].as_str().unwrap())]);
    assert!(text.contains(r#"tenant="other""#) && text.contains("leasehold_build_info"), "{text}");
}

on_both_databases!(jobs_of_every_ending, a_tenants_key_sees_its_tenant_and_nothing_else);

#[test]
fn strangers_need_a_key() {
    let house = House::new();
    let server = house.serve(&[("JOBS_METRICS_ANONYMOUS", "nobody")]);
    let refused = server.get("/metrics", &[]);
    assert_eq!((refused.status, refused.body.contains("UNAUTHENTICATED")), (401, true));
    assert!(refused.header("www-authenticate").is_some());
    let open = house.serve(&[]);
    assert_eq!(open.get("/metrics", &[]).status, 200);
    for headers in [[("x-forwarded-for", "10.0.0.9")], [("authorization", "Bearer lh_no_thing")]] {
        assert_eq!(open.get("/metrics", &headers).status, 401, "{headers:?}");
    }
    assert_eq!(open.request_as("jobs.example.org", "GET", "/metrics", &[], "").status, 401);
    let off = house.serve(&[("JOBS_ENABLE_METRICS", "false")]);
    assert_eq!(off.get("/metrics", &[]).status, 404);
}

#[test]
fn openmetrics_carries_trace_ids() {
    let house = House::new();
    house.json(&["tenant", "add", "Acme"], "");
    let user = ["user", "add", "ann@example.org", "--role", "super_admin", "--password-stdin"];
    house.json(&user, PASSWORD);
    let server = house.serve(&[
        ("JOBS_METRICS_EXEMPLARS", "true"),
        ("JOBS_METRICS_EXEMPLAR_SAMPLING", "1"),
        ("JOBS_SLO_ENABLE", "true"),
        ("JOBS_DURATION_BUCKETS", "0.5,60"),
    ]);
    let cookie = server.sign_in("ann@example.org");
    let form = [("slug", "acme"), ("definition_key", "demo-flaky"), ("payload_json", r#"{"fail_first":0}"#)];
    server.post("/do/enqueue", &form, &[("cookie", &cookie)]);
    scrape_until(&server, r#"jobs_tenant_succeeded_total{tenant="acme"} 1"#);
    let accept = [("accept", "application/openmetrics-text;version=1.0.0")];
    let answer = server.get("/metrics", &accept);
    assert!(answer.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    let text = unchunked(&answer);
    assert!(text.contains("# {trace_id=\"") && text.ends_with("# EOF\n"), "{text}");
    assert!(
        text.contains("le=\"60\"") && !text.contains("jobs_duration_seconds_bucket{le=\"300\""),
        "{text}"
    );
}

#[test]
fn buckets_that_make_no_sense_stop_the_start() {
    let house = House::new();
    let mut serve = house.command(&["serve", "--addr", "127.0.0.1:0"]);
    let output = serve.env("JOBS_DURATION_BUCKETS", "5,1").output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("JOBS_DURATION_BUCKETS"), "{said}");
}

#[test]
fn the_alert_rules_and_the_scrape_configuration_are_sound() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let path = |name: &str| docs.join(name).display().to_string();
    promtool(&["check", "rules", &path("prometheus-alerts.yml")], "");
    promtool(&["check", "config", "--syntax-only", &path("prometheus.yml")], "");
    // Every metric a rule speaks of is one that exists.
    let (rules, names) = (
        std::fs::read_to_string(path("prometheus-alerts.yml")).unwrap(),
        std::fs::read_to_string(path("metrics.md")).unwrap(),
    );
    for word in rules.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        let ours = ["jobs_", "job_", "leasehold_"].iter().any(|start| word.starts_with(start));
        let family = word.trim_end_matches("_bucket");
        let label = ["job_type"].contains(&word);
        assert!(!ours || label || names.contains(&format!("`{family}`")), "{word} is no metric");
    }
}

const TENANTS: usize = 100;
const TYPES: usize = 20;

/// Fills a database as a hundred tenants with twenty kinds of jobs each would, without running any of them.
fn fill(house: &House) {
    let kinds = format!(
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < {TENANTS}),
              k(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM k WHERE n < {TYPES})"
    );
    house.sql(&format!(
        "{kinds} INSERT INTO tenants (id, slug, name, timezone, created_at, updated_at)
         SELECT printf('00000000-0000-7000-8000-%012d', n), 'tenant-' || n, 'Tenant ' || n, 'UTC',
                '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z' FROM t"
    ));
    house.sql(&format!(
        "{kinds} INSERT INTO job_counters (tenant_id, domain, queue, job_type, status, jobs)
         SELECT printf('00000000-0000-7000-8000-%012d', t.n), 'a-domain-of-some-length', 'default',
                'a-type-of-job-' || k.n, s.status, 7
         FROM t, k, (SELECT 'queued' AS status UNION SELECT 'processing' UNION SELECT 'completed'
                     UNION SELECT 'failed' UNION SELECT 'dead_letter') s"
    ));
}

/// What these jobs do, as events: created, started, retried, started, ended.
fn happen(house: &House, round: usize) {
    let kinds = format!(
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < {TENANTS}),
              k(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM k WHERE n < {TYPES})"
    );
    house.sql(&format!(
        "{kinds} INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt,
                                         progress, attrs, created_at)
         SELECT printf('00000000-0000-7000-8000-%012d', t.n), {round} * 100000 + t.n * 100 + k.n,
                'a-domain-of-some-length', 'default', 'a-type-of-job-' || k.n, e.kind, e.status, 1, 0, e.attrs, e.at
         FROM t, k, (
           SELECT 1 AS i, 'job.created' AS kind, 'queued' AS status, NULL AS attrs, '2026-01-01T00:00:00.000000Z' AS at
           UNION SELECT 2, 'job.started', 'processing', NULL, '2026-01-01T00:00:03.000000Z'
           UNION SELECT 3, 'job.retrying', 'queued',
             json_object('error_class', 'timeout', 'retry_at', '2026-01-01T00:01:00.000000Z'), '2026-01-01T00:00:09.000000Z'
           UNION SELECT 4, 'job.started', 'processing', NULL, '2026-01-01T00:01:00.000000Z'
           UNION SELECT 5, 'job.failed', 'failed',
             json_object('error_class', 'timeout', 'error_code', 'code-' || {round}), '2026-01-01T00:02:00.000000Z') e
         ORDER BY t.n, k.n, e.i"
    ));
}

#[test]
fn a_hundred_tenants_with_twenty_kinds_of_jobs_fit_into_a_megabyte() {
    let house = House::new();
    house.json(&["migrate"], "");
    fill(&house);
    let server = house.serve(&[]);
    let (largest, scrapes) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| (1..=2).for_each(|round| happen(&house, round)));
        let (mut largest, mut scrapes) = (0, 0);
        while !writer.is_finished() {
            largest = scrape(&server, &[]).len().max(largest);
            scrapes += 1;
        }
        (largest, scrapes)
    });
    assert!(largest > 0 && scrapes > 0);
    let group = r#"domain="a-domain-of-some-length",queue="default",job_type="a-type-of-job-20""#;
    let text = scrape_until(&server, &format!("jobs_failed_total{{{group}}} {}", 2 * TENANTS));
    for sample in [
        format!("jobs_queued{{{group}}} {}", 7 * TENANTS),
        format!("jobs_created_total{{{group}}} {}", 2 * TENANTS),
        format!("jobs_retries_total{{{group}}} {}", 2 * TENANTS),
        format!("jobs_duration_seconds_sum{{{group}}} {}", 60 * 2 * TENANTS),
        format!("jobs_retry_after_seconds_sum{{{group}}} {}", 51 * 2 * TENANTS),
        r#"jobs_depth{tenant="tenant-100",status="queued"} 140"#.to_owned(),
        r#"jobs_tenant_failed_total{tenant="tenant-100"} 40"#.to_owned(),
        "leasehold_events_missed_total 0".to_owned(),
    ] {
        assert!(text.lines().any(|line| line == sample), "no “{sample}” in:\n{}", &text[..20_000]);
    }
    assert!(text.len() < 1024 * 1024, "{} bytes", text.len());
    promtool(&["check", "metrics"], &text);
    println!("{} bytes, {} lines", text.len(), text.lines().count());
}

#[test]
fn groups_disappear_with_their_jobs() {
    let house = House::new();
    house.json(&["migrate"], "");
    fill(&house);
    let server = house.serve(&[]);
    let sample = r#"jobs_depth{tenant="tenant-7",status="queued"} 140"#;
    scrape_until(&server, sample);
    house.sql("UPDATE job_counters SET jobs = 0 WHERE job_type = 'a-type-of-job-3'");
    house.sql("DELETE FROM tenants WHERE slug = 'tenant-7'");
    let began = Instant::now();
    loop {
        let text = scrape(&server, &[]);
        let still_there = text.contains("\"a-type-of-job-3\"") || text.contains("\"tenant-7\"");
        if !still_there {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "still there");
        std::thread::sleep(Duration::from_millis(100));
    }
}
