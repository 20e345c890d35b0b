//! Jobs for programs: any order, paged by where the last page ended.
//!
//! As in the jobs table an answer is the merge of what each tenant and state gives in order. Sorted by number or by
//! state, every range is read from the index behind its own bound; sorted by priority, a range is read whole.

use crate::{
    PostgresStore,
    convert::{COLUMNS, JobRecord, LAST_ATTEMPT},
    error::database,
    filter::Selection,
};
use leasehold_queue::{Scope, StoreResult};
use leasehold_types::{
    JobFilter, JobStatus, TenantId,
    browse::{Browse, BrowsedJob, BrowsedJobs, SortBy},
};
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

#[derive(sqlx::FromRow)]
struct Record {
    #[sqlx(flatten)]
    row: JobRecord,
    tenant_id: Uuid,
    definition_key: Option<String>,
    owner_user_id: Option<String>,
    correlation_id: Option<String>,
}

impl PostgresStore {
    pub(crate) async fn browsed(
        &self,
        scope: &Scope,
        filter: &JobFilter,
        page: Browse,
    ) -> StoreResult<BrowsedJobs> {
        let search = self.search_of(scope, filter).await?;
        let selection = Selection::new(scope.tenant(), filter, &search);
        let matching = self.matching(scope, filter, &selection).await?;
        let mut query = QueryBuilder::new("");
        push_page(&mut query, &selection, page);
        let records: Vec<Record> = query.build_query_as().fetch_all(&self.work).await.map_err(database)?;
        let more = records.len() > page.limit as usize;
        let kept = records.into_iter().take(page.limit as usize);
        let jobs = kept.map(browsed).collect::<StoreResult<_>>()?;
        Ok(BrowsedJobs { jobs, more, matching })
    }
}

fn browsed(record: Record) -> StoreResult<BrowsedJob> {
    Ok(BrowsedJob {
        row: record.row.try_into()?,
        tenant_id: TenantId(record.tenant_id),
        definition_key: record.definition_key,
        owner_user_id: record.owner_user_id,
        correlation_id: record.correlation_id,
    })
}

pub(crate) fn push_page(query: &mut QueryBuilder<Postgres>, selection: &Selection<'_>, page: Browse) {
    let descending = page.sorting.is_descending();
    let way = if descending { " DESC" } else { "" };
    let (states, bounds): (Vec<_>, Vec<_>) = ranges(selection.statuses(), page).into_iter().unzip();
    let most = i64::from(page.limit) + 1;
    query.push(format_args!(
        "SELECT {COLUMNS}, j.tenant_id, d.key AS definition_key, j.owner_user_id, j.correlation_id FROM "
    ));
    selection.push_tenants(query);
    query.push(" CROSS JOIN UNNEST(").push_bind(states).push("::text[], ").push_bind(bounds);
    query.push(
        "::bigint[]) WITH ORDINALITY s(status, bound, place) CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE ",
    );
    selection.push_range_condition(query);
    query.push(if descending { " AND -j.number > s.bound" } else { " AND -j.number < s.bound" });
    if page.sorting.by == SortBy::Priority {
        if let Some(mark) = page.after {
            query.push(if descending {
                " AND (j.priority, j.number) < ("
            } else {
                " AND (j.priority, j.number) > ("
            });
            query.push_bind(mark.priority).push(", ").push_bind(mark.number).push(")");
        }
        query.push(" ORDER BY j.priority").push(way).push(", j.number").push(way);
    } else {
        query.push(if descending { " ORDER BY -j.number" } else { " ORDER BY -j.number DESC" });
    }
    query.push(" LIMIT ").push_bind(i64::from(page.skip) + most);
    query.push(format_args!(
        ") j LEFT JOIN job_definitions d ON d.id = j.definition_id {LAST_ATTEMPT} ORDER BY "
    ));
    query.push(match page.sorting.by {
        SortBy::CreatedAt => "",
        SortBy::Priority if descending => "j.priority DESC, ",
        SortBy::Priority => "j.priority, ",
        SortBy::Status => "s.place, ",
    });
    query.push("j.number").push(way);
    query.push(" LIMIT ").push_bind(most).push(" OFFSET ").push_bind(i64::from(page.skip));
}

/// The states still to come, in order, and behind which (negated) number each is read on.
fn ranges(statuses: &[JobStatus], page: Browse) -> Vec<(String, i64)> {
    let descending = page.sorting.is_descending();
    let everything = if descending { i64::MIN } else { i64::MAX };
    let bound = |status: JobStatus| match (page.after, page.sorting.by) {
        (Some(mark), SortBy::CreatedAt) => -mark.number,
        (Some(mark), SortBy::Status) if mark.status == status => -mark.number,
        _ => everything,
    };
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
    states.into_iter().map(|status| (status.as_str().to_owned(), bound(status))).collect()
}
