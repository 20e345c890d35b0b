//! Jobs for programs: any order, paged by where the last page ended.
//!
//! As in the jobs table an answer is the merge of what each state gives in order. Sorted by number or by state, each
//! is read from the index behind its own bound; sorted by priority, all that match are looked at.

use crate::{
    SqliteStore,
    convert::{Table, limit},
    error::Outcome,
    filter::Selection,
    list::{self, JobRecord},
    read,
};
use leasehold_queue::Scope;
use leasehold_types::{
    JobFilter, JobStatus,
    browse::{Browse, BrowsedJob, BrowsedJobs, SortBy},
};
use sqlx::{QueryBuilder, Sqlite};

const JOBS: Table = Table("jobs");

#[derive(sqlx::FromRow)]
struct Record {
    #[sqlx(flatten)]
    row: JobRecord,
    tenant_id: String,
    definition_key: Option<String>,
    owner_user_id: Option<String>,
    correlation_id: Option<String>,
}

pub(crate) async fn browse(
    store: &SqliteStore,
    scope: &Scope,
    filter: &JobFilter,
    page: Browse,
) -> Outcome<BrowsedJobs> {
    let mut snapshot = store.read.begin().await?;
    let matching = list::matching(&mut snapshot, scope.tenant(), filter).await?;
    let mut query = QueryBuilder::new("");
    let named = read::named_by(&mut snapshot, scope.tenant(), filter).await?;
    push_page(&mut query, &Selection::new(scope.tenant(), filter).naming(named), page);
    let records: Vec<Record> = query.build_query_as().fetch_all(&mut *snapshot).await?;
    let more = records.len() > page.limit as usize;
    let kept = records.into_iter().take(page.limit as usize);
    let jobs = kept.map(browsed).collect::<Outcome<_>>()?;
    Ok(BrowsedJobs { jobs, more, matching })
}

fn browsed(record: Record) -> Outcome<BrowsedJob> {
    Ok(BrowsedJob {
        row: record.row.try_into()?,
        tenant_id: JOBS.parse("tenant_id", &record.tenant_id)?,
        definition_key: record.definition_key,
        owner_user_id: record.owner_user_id,
        correlation_id: record.correlation_id,
    })
}

pub(crate) fn push_page(query: &mut QueryBuilder<Sqlite>, selection: &Selection<'_>, page: Browse) {
    let way = if page.sorting.is_descending() { " DESC" } else { "" };
    let most = limit(page.limit) + 1;
    query.push(format_args!(
        "SELECT {}, j.tenant_id, j.owner_user_id, j.correlation_id, \
         (SELECT d.key FROM job_definitions d WHERE d.id = j.definition_id) AS definition_key \
         FROM {} WHERE j.number IN (",
        list::COLUMNS,
        list::TABLES
    ));
    let states = states_to_come(selection.statuses(), page);
    // Over all tenants there is no index by state: a rare one would be looked for in the whole table.
    let together = !selection.is_indexed() && page.sorting.by != SortBy::Status;
    for (place, group) in states.chunks(if together { states.len().max(1) } else { 1 }).enumerate() {
        query.push(if place > 0 { " UNION ALL " } else { "" });
        query.push("SELECT number FROM (SELECT number FROM jobs WHERE ");
        selection.push_condition_for(query, group);
        push_bound(query, group, page);
        query.push(" ORDER BY ");
        if page.sorting.by == SortBy::Priority {
            query.push("priority").push(way).push(", ");
        }
        query.push("number").push(way).push(" LIMIT ").push_bind(limit(page.skip) + most).push(")");
    }
    query.push(") ORDER BY ");
    match page.sorting.by {
        SortBy::CreatedAt => {}
        SortBy::Priority => {
            query.push("priority").push(way).push(", ");
        }
        SortBy::Status => {
            query.push("CASE status");
            for (place, status) in states.iter().enumerate() {
                query.push(format_args!(" WHEN '{status}' THEN {place}"));
            }
            query.push(" ELSE 99 END, ");
        }
    }
    query.push("number").push(way);
    query.push(" LIMIT ").push_bind(most).push(" OFFSET ").push_bind(limit(page.skip));
}

/// What of these states lies behind the last page.
fn push_bound(query: &mut QueryBuilder<Sqlite>, states: &[JobStatus], page: Browse) {
    let Some(mark) = page.after else { return };
    let beyond = if page.sorting.is_descending() { "<" } else { ">" };
    match page.sorting.by {
        SortBy::Status if !states.contains(&mark.status) => {}
        SortBy::CreatedAt | SortBy::Status => {
            query.push(format_args!(" AND number {beyond} ")).push_bind(mark.number);
        }
        SortBy::Priority => {
            query.push(format_args!(" AND (priority, number) {beyond} (")).push_bind(mark.priority);
            query.push(", ").push_bind(mark.number).push(")");
        }
    }
}

/// In the order asked for, without those whose turn is over.
fn states_to_come(statuses: &[JobStatus], page: Browse) -> Vec<JobStatus> {
    let descending = page.sorting.is_descending();
    let is_past = |status: JobStatus| match (page.after, page.sorting.by) {
        (Some(mark), SortBy::Status) if descending => status > mark.status,
        (Some(mark), SortBy::Status) => status < mark.status,
        _ => false,
    };
    let mut states: Vec<_> = statuses.iter().copied().filter(|status| !is_past(*status)).collect();
    states.sort();
    if descending {
        states.reverse();
    }
    states
}
