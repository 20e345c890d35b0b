//! Every statement is held to its plan: no page and no verb reads a whole table of jobs or of what belongs to them,
//! except for the few that are meant to.
//!
//! The checked statements are all known by their metadata (`.sqlx`); those that are put together from a filter are put
//! together here as the pages do it.

use crate::{
    Options, SqliteStore,
    browse::push_page,
    filter::{Order, Selection},
};
use leasehold_queue::Clock;
use leasehold_queue::prelude::*;
use leasehold_types::{
    JobFilter, JobStatus, TenantId,
    browse::{Browse, SortBy, SortOrder, Sorting},
};
use sqlx::{Connection, QueryBuilder, Row, SqliteConnection};
use std::path::Path;
use uuid::Uuid;

const LARGE: [&str; 6] = ["jobs", "job_events", "job_logs", "job_attempts", "audit_log", "job_attachments"];

/// Part of a statement, and why it may read a whole table.
const SWEEPS: [(&str, &str); 7] = [
    (
        "SELECT COALESCE(MAX(id) - MIN(id) + 1, 0)",
        "both ends of the outbox; SQLite calls a look at one end a scan",
    ),
    (
        "WITH oldest AS MATERIALIZED (SELECT id, created_at FROM job_events",
        "pruning reads the beginning, with a limit",
    ),
    ("UPDATE jobs SET lease_id = NULL", "the integrity sweep mends every row, on request"),
    ("COUNT(*) FILTER (WHERE status <> 'processing')", "the integrity sweep examines every row, on request"),
    ("SUM(actual)", "the recount counts every row, on request"),
    (
        "FROM jobs INDEXED BY jobs_lane WHERE status = 'queued' AND created_at <",
        "the TTL sweep walks what waits",
    ),
    (
        "FROM audit_log WHERE (?1 IS NULL OR tenant_id = ?1)",
        "the audit log is read from its newest row, a page at a time",
    ),
];

/// Running jobs are few, and this index has no others.
const FEW: &str = "USING INDEX jobs_processing";

async fn migrated() -> (SqliteConnection, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("plans.db").display());
    let store = SqliteStore::connect(&url, Clock::system(), Options::default()).await.unwrap();
    store.migrate().await.unwrap();
    (SqliteConnection::connect(&url).await.unwrap(), folder)
}

async fn plan(connection: &mut SqliteConnection, statement: &str) -> Vec<String> {
    let explained = sqlx::query(sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}")));
    let rows = explained.fetch_all(connection).await.unwrap_or_else(|error| panic!("{error}: {statement}"));
    rows.iter().map(|row| row.get::<String, _>("detail")).collect()
}

/// Steps that look at all rows of a large table, or at all rows a tenant has in it.
fn wide(plan: &[String], statement: &str) -> Vec<String> {
    let is_wide = |step: &&String| {
        let mut words = step.split(' ');
        let (verb, table) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let is_large = LARGE.contains(&table)
            || LARGE.iter().any(|large| {
                statement.contains(&format!("{large} {table} "))
                    || statement.contains(&format!("{large} AS {table} "))
            });
        let is_all = verb == "SCAN" && !step.contains(FEW);
        let is_a_tenants = verb == "SEARCH" && step.ends_with("(tenant_id=?)");
        is_large && (is_all || is_a_tenants)
    };
    plan.iter().filter(is_wide).cloned().collect()
}

fn one_line(statement: &str) -> String {
    statement.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn no_checked_statement_reads_a_whole_table() {
    let (mut connection, _folder) = migrated().await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".sqlx");
    let (mut statements, mut used) = (0, [false; SWEEPS.len()]);
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let checked: serde_json::Value = serde_json::from_str(&text).unwrap();
        let statement = one_line(checked["query"].as_str().unwrap());
        let found = wide(&plan(&mut connection, &statement).await, &statement);
        statements += 1;
        if found.is_empty() {
            continue;
        }
        match SWEEPS.iter().position(|(part, _)| statement.contains(part)) {
            Some(sweep) => used[sweep] = true,
            None => panic!("{found:?} in {statement}"),
        }
    }
    assert!(statements > 200, "{statements}");
    for (used, (part, _)) in used.into_iter().zip(SWEEPS) {
        assert!(used, "no statement needs this exception any more: {part}");
    }
}

#[tokio::test]
async fn no_list_reads_all_jobs_of_its_tenant() {
    let (mut connection, _folder) = migrated().await;
    let tenant = Some(TenantId(Uuid::nil()));
    let text = |text: &str| Some(text.to_owned());
    let filters = [
        JobFilter::default(),
        JobFilter { statuses: vec![JobStatus::Failed, JobStatus::DeadLetter], ..JobFilter::default() },
        JobFilter { domain: text("d"), queue: text("q"), job_type: text("t"), ..JobFilter::default() },
        JobFilter { q: text("words"), ..JobFilter::default() },
    ];
    for filter in &filters {
        let selection = Selection::new(tenant, filter).below(Some(9));
        let mut query = QueryBuilder::new("SELECT number, status FROM jobs WHERE number IN (");
        selection.push_numbers(&mut query, Order::NewestFirst, 50);
        query.push(") ORDER BY number DESC LIMIT 50");
        let statement = query.sql().as_str().to_owned();
        assert_eq!(
            wide(&plan(&mut connection, &statement).await, &statement),
            Vec::<String>::new(),
            "{statement}"
        );
        for by in [SortBy::CreatedAt, SortBy::Status] {
            let sorting = Sorting { by, order: SortOrder::Descending };
            let mut query = QueryBuilder::new("");
            push_page(&mut query, &Selection::new(tenant, filter), Browse { sorting, ..Browse::default() });
            let statement = query.sql().as_str().to_owned();
            assert_eq!(
                wide(&plan(&mut connection, &statement).await, &statement),
                Vec::<String>::new(),
                "{statement}"
            );
        }
    }
}

#[tokio::test]
async fn a_statement_without_an_index_is_noticed() {
    let (mut connection, _folder) = migrated().await;
    for statement in [
        "SELECT number FROM jobs WHERE (number = ?2 OR parent_job_id = ?1) AND tenant_id = ?3 ORDER BY number",
        "SELECT 1 FROM job_logs WHERE line = ?1",
        "SELECT a.attempt FROM job_attempts a WHERE a.worker_id = ?1",
    ] {
        assert!(!wide(&plan(&mut connection, statement).await, statement).is_empty(), "{statement}");
    }
}
