//! Every statement is held to its plan: no page and no verb reads a whole table of jobs or of what belongs to them,
//! except for the few that are meant to.
//!
//! The checked statements are all known by their metadata (`.sqlx`); those that are put together from a filter are put
//! together here as the pages do it. A plan is asked for with sequential scans made dear, over some thousand rows:
//! where one is left, no index can help.

use crate::{
    Options, PostgresStore,
    browse::push_page,
    filter::{Search, Selection},
    list::push_rows,
};
use leasehold_conformance::{Bench, NOW};
use leasehold_queue::prelude::*;
use leasehold_queue::{Clock, transition::Ending};
use leasehold_types::{
    JobFilter, JobStatus, TenantId,
    browse::{Browse, SortBy, SortOrder, Sorting},
};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, QueryBuilder};
use std::path::Path;
use uuid::Uuid;

const LARGE: [&str; 6] = ["jobs", "job_events", "job_logs", "job_attempts", "audit_log", "job_attachments"];

/// Part of a statement, and why it may read a whole table.
const SWEEPS: [(&str, &str); 7] = [
    (
        "lead(id) OVER (ORDER BY id)",
        "where the outbox begins to have gaps, at the start of a process and only then",
    ),
    ("FULL JOIN", "the recount counts every row, on request"),
    ("0 AS counted FROM jobs", "the examination counts every row, on request"),
    ("FROM jobs WHERE status = 'queued' AND created_at <", "the TTL sweep walks what waits"),
    ("UPDATE jobs SET lease_id = NULL", "the integrity sweep mends every row, on request"),
    ("count(*) FILTER (WHERE status <> 'processing')", "the integrity sweep examines every row, on request"),
    (
        "FROM audit_log WHERE ($1::uuid IS NULL OR tenant_id",
        "the audit log is read from its newest row, a page at a time",
    ),
];

/// What these have are few: running jobs, and rows of the audit log that came a moment ago.
const FEW: [&str; 2] = ["jobs_processing", "audit_log_unchained"];

/// A database with some thousand jobs of two tenants, some of them ended.
async fn filled() -> PgConnection {
    let url = scratch_postgres::fresh_database();
    let options = Options { max_connections: 4, lease_connections: 2, ..Options::default() };
    let clock = Clock::frozen(NOW);
    let store = PostgresStore::connect(&url, clock.clone(), options).await.unwrap();
    store.migrate().await.unwrap();
    let bench = Bench::new(store, clock).await;
    for tenant in [bench.a, bench.b] {
        bench.create_many(tenant, 2_000).await;
    }
    for job in bench.claim(300).await {
        bench.finish(&job.lease, Ending::Completed).await;
    }
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let audited = "INSERT INTO audit_log (actor, action, object_type, object_id, created_at) \
                   SELECT 'ann', 'job.cancel', 'job', n::text, now() FROM generate_series(1, 3000) n";
    connection.execute(audited).await.unwrap();
    connection
        .execute("ANALYZE; SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan")
        .await
        .unwrap();
    connection
}

/// The plan for whatever values may come.
async fn plan(connection: &mut PgConnection, statement: &str, parameters: &[String]) -> Value {
    let types = if parameters.is_empty() { String::new() } else { format!("({})", parameters.join(", ")) };
    connection
        .execute(AssertSqlSafe(format!("PREPARE held{types} AS {statement}")))
        .await
        .unwrap_or_else(|error| panic!("{error}: {statement}"));
    let values = vec!["NULL"; count_of(statement)].join(", ");
    let values = if values.is_empty() { values } else { format!("({values})") };
    let explain = AssertSqlSafe(format!("EXPLAIN (FORMAT JSON, COSTS OFF) EXECUTE held{values}"));
    let plan = sqlx::query_scalar(explain).persistent(false).fetch_one(&mut *connection).await;
    connection.execute("DEALLOCATE held").await.unwrap();
    plan.unwrap_or_else(|error| panic!("{error}: {statement}"))
}

fn count_of(statement: &str) -> usize {
    let numbers = statement.split('$').skip(1).filter_map(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<usize>().ok()
    });
    numbers.max().unwrap_or(0)
}

/// Steps that look at all rows of a large table, or at all rows a tenant has in it. The first few of an index, which
/// nothing else is asked of, are none.
fn wide(plan: &Value, limited: bool, found: &mut Vec<String>) {
    match plan {
        Value::Array(steps) => steps.iter().for_each(|step| wide(step, limited, found)),
        Value::Object(step) => {
            let text = |name: &str| step.get(name).and_then(Value::as_str).unwrap_or_default();
            let (kind, condition) = (text("Node Type"), text("Index Cond"));
            let table = text("Relation Name");
            // Of a bitmap the index is named below, without its table.
            let is_large = LARGE.contains(&table)
                || (kind == "Bitmap Index Scan" && LARGE.iter().any(|t| text("Index Name").starts_with(t)));
            let is_first = limited && text("Filter").is_empty();
            let is_index = kind.contains("Index") && !FEW.contains(&text("Index Name")) && !is_first;
            let only_tenant = condition.starts_with("(tenant_id = ") && !condition.contains(" AND ");
            if is_large && (kind == "Seq Scan" || (is_index && (condition.is_empty() || only_tenant))) {
                found.push(format!("{kind} {table} {} {condition}", text("Index Name")));
            }
            step.values().for_each(|inner| wide(inner, kind == "Limit", found));
        }
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_checked_statement_reads_a_whole_table() {
    let mut connection = filled().await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".sqlx");
    let (mut statements, mut used, mut wrong) = (0, [false; SWEEPS.len()], Vec::new());
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let checked: Value = serde_json::from_str(&text).unwrap();
        let query = checked["query"].as_str().unwrap();
        let statement = query.split_whitespace().collect::<Vec<_>>().join(" ");
        statements += 1;
        if !["SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "("]
            .iter()
            .any(|verb| statement.starts_with(verb))
        {
            continue;
        }
        let parameters = checked["describe"]["parameters"]["Left"].as_array().unwrap();
        let parameters: Vec<String> = parameters.iter().map(|name| type_of(name.as_str().unwrap())).collect();
        let mut found = Vec::new();
        wide(&plan(&mut connection, query, &parameters).await, false, &mut found);
        match SWEEPS.iter().position(|(part, _)| statement.contains(part)) {
            Some(sweep) if !found.is_empty() => used[sweep] = true,
            _ => wrong.extend(found.into_iter().map(|step| format!("{step} in {statement}"))),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(statements > 200, "{statements}");
    let unused: Vec<_> =
        used.iter().zip(SWEEPS).filter(|(used, _)| !**used).map(|(_, (part, _))| part).collect();
    assert!(unused.is_empty(), "no statement needs these exceptions any more: {unused:?}");
}

/// `TextArray` is `text[]`.
fn type_of(name: &str) -> String {
    match name.strip_suffix("Array") {
        Some(inner) => format!("{}[]", inner.to_lowercase()),
        None => name.to_lowercase(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_list_reads_all_jobs_of_its_tenant() {
    let mut connection = filled().await;
    let (tenant, search) = (Some(TenantId(Uuid::nil())), Search::text("words"));
    let text = |text: &str| Some(text.to_owned());
    let filters = [
        JobFilter::default(),
        JobFilter { statuses: vec![JobStatus::Failed, JobStatus::DeadLetter], ..JobFilter::default() },
        JobFilter { domain: text("d"), queue: text("q"), job_type: text("t"), ..JobFilter::default() },
    ];
    for filter in &filters {
        let selection = Selection::new(tenant, filter, &search).below(Some(9));
        let mut query = QueryBuilder::new("");
        push_rows(&mut query, &selection, 50);
        let mut statements = vec![query.sql().as_str().to_owned()];
        for by in [SortBy::CreatedAt, SortBy::Status] {
            let page = Browse { sorting: Sorting { by, order: SortOrder::Descending }, ..Browse::default() };
            let mut query = QueryBuilder::new("");
            push_page(&mut query, &selection, page);
            statements.push(query.sql().as_str().to_owned());
        }
        for statement in statements {
            let mut found = Vec::new();
            wide(&plan(&mut connection, &statement, &[]).await, false, &mut found);
            assert!(found.is_empty(), "{found:?} in {statement}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_without_an_index_is_noticed() {
    let mut connection = filled().await;
    for statement in [
        "SELECT number FROM jobs WHERE trace_id = $1",
        "SELECT 1 FROM job_logs WHERE line = $1",
        "SELECT a.attempt FROM job_attempts a WHERE a.worker_id = $1",
    ] {
        let mut found = Vec::new();
        wide(&plan(&mut connection, statement, &[]).await, false, &mut found);
        assert!(!found.is_empty(), "{statement}");
    }
}
