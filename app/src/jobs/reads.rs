//! What islands read again when something moved. GET only: nothing here changes anything.

use leasehold_types::view::{JobDetail, JobsPage, LogLine, Overview};
use leptos::{prelude::*, server_fn::codec::GetUrl};

/// A job's page, secrets masked.
#[server(name = ReadJobDetail, prefix = "/do", endpoint = "job_detail", input = GetUrl)]
pub async fn job_detail(slug: String, number: i64) -> Result<JobDetail, ServerFnError> {
    use crate::ssr;
    let visit = ssr::enter(&slug).await.map_err(ssr::refuse)?;
    ssr::read_job(&visit, number).await.map_err(ssr::refuse)
}

/// A page of the table; `query` is the page's own query string.
#[server(name = ReadJobsPage, prefix = "/do", endpoint = "jobs_page", input = GetUrl)]
pub async fn jobs_page(slug: String, #[server(default)] query: String) -> Result<JobsPage, ServerFnError> {
    use crate::{jobs::query::JobsQuery, ssr};
    let visit = ssr::enter(&slug).await.map_err(ssr::refuse)?;
    let query = JobsQuery::parse(&query);
    ssr::door().engine.list(&visit.scope, &query.filter, query.page()).await.map_err(ssr::refuse)
}

#[server(name = ReadOverview, prefix = "/do", endpoint = "overview", input = GetUrl)]
pub async fn overview(slug: String) -> Result<Overview, ServerFnError> {
    use crate::ssr;
    let visit = ssr::enter(&slug).await.map_err(ssr::refuse)?;
    ssr::door().engine.overview(&visit.scope, visit.tenant.id).await.map_err(ssr::refuse)
}

/// The lines of one attempt after a sequence number.
#[server(name = ReadLogLines, prefix = "/do", endpoint = "log_lines", input = GetUrl)]
pub async fn log_lines(
    slug: String,
    number: i64,
    attempt: i32,
    after: i64,
) -> Result<Vec<LogLine>, ServerFnError> {
    use crate::ssr;
    use leasehold_types::JobRef;
    let visit = ssr::enter(&slug).await.map_err(ssr::refuse)?;
    let engine = ssr::door().engine;
    engine.logs(&visit.scope, JobRef::Number(number), attempt, after).await.map_err(ssr::refuse)
}
