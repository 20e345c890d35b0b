//! The jobs table with its filters. All of them stand in the address.

use super::{
    overview::{new_job_link, no_jobs_yet},
    page, param, search,
};
use crate::{
    components::{
        format,
        icon::{self, Icon},
        layout::{Frame, Here, Layout, PageHead},
        notice::Empty,
    },
    islands::refresh::{News, Refresh},
    jobs::{query::JobsQuery, table::JobsTable},
    ssr,
};
use leasehold_queue::Scope;
use leasehold_types::{
    JobStatus,
    view::{CappedCount, Definition, JobsPage},
};
use leptos::prelude::*;
use std::collections::BTreeSet;

/// What there is to choose from.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Choices {
    domains: Vec<String>,
    types: Vec<String>,
    queues: Vec<String>,
}

impl Choices {
    fn of<'a>(definitions: impl Iterator<Item = &'a Definition> + Clone, scope: &Scope) -> Self {
        let definitions = definitions.filter(|d| scope.sees_domain(&d.domain));
        let queues = definitions.clone().map(|d| d.queue.clone());
        let standard = ["default", "high", "low"].map(str::to_owned);
        Self {
            domains: sorted(definitions.clone().map(|d| d.domain.clone())),
            types: sorted(definitions.clone().map(|d| d.job_type.clone())),
            queues: sorted(queues.chain(standard)),
        }
    }
}

fn sorted(values: impl Iterator<Item = String>) -> Vec<String> {
    values.collect::<BTreeSet<_>>().into_iter().collect()
}

#[component]
pub fn JobsListPage() -> impl IntoView {
    let slug = param("slug");
    let query = JobsQuery::parse(&search());
    let asked = query.clone();
    page(
        async move {
            let (visit, frame) = Frame::inside(&slug).await?;
            let engine = ssr::door().engine;
            let rows = engine.list(&visit.scope, &asked.filter, asked.page()).await?;
            let definitions = engine.definitions().await?;
            Ok((frame, rows, Choices::of(definitions.values(), &visit.scope)))
        },
        move |(frame, rows, choices)| {
            let slug = frame.slug();
            let new_job = frame.may_operate.then(|| new_job_link(&slug));
            let may_operate = frame.may_operate;
            view! {
                <Layout frame here=Here::Jobs title="Jobs">
                    <PageHead title="Jobs" live=true>
                        {new_job}
                    </PageHead>
                    {filters(&slug, &query, choices, rows.matching)}
                    {table(slug, &query, rows, may_operate)}
                </Layout>
            }
            .into_any()
        },
    )
}

fn filters(slug: &str, query: &JobsQuery, choices: Choices, matching: CappedCount) -> impl IntoView + use<> {
    let here = format!("/t/{slug}/jobs");
    let counted = format::plural(matching.count, "job", "jobs");
    let counted = if matching.capped { format!("{}+ jobs", format::count(matching.count)) } else { counted };
    let filter = query.filter.clone();
    let hidden =
        filter.statuses.iter().map(|s| view! { <input type="hidden" name="status" value=s.as_str() /> });
    let reset = (!filter.is_empty()).then(|| view! { <a class="button" href=here.clone()>"Reset"</a> });
    view! {
        <div class="filters">
            {chips(&here, query)}
            <form class="filter-form" method="get" action=here.clone() role="search" data-auto="">
                {hidden.collect_view()}
                <div class="search-field">
                    <Icon d=icon::SEARCH />
                    <label class="visually-hidden" for="q">"Search"</label>
                    <input class="input" id="q" name="q" type="search" placeholder="Number, type, error…" value=filter.q />
                </div>
                {choice("domain", "Domain", "All domains", choices.domains, filter.domain)}
                {choice("type", "Type", "All types", choices.types, filter.job_type)}
                {choice("queue", "Queue", "All queues", choices.queues, filter.queue)}
                <button class="button" type="submit">"Filter"</button>
                {reset}
                <span class="muted counted">{counted}</span>
            </form>
        </div>
    }
}

fn chips(here: &str, query: &JobsQuery) -> impl IntoView + use<> {
    let chosen = &query.filter.statuses;
    let chip = |status: Option<JobStatus>, label: &'static str| {
        let current = match status {
            None => chosen.is_empty(),
            Some(status) => chosen.contains(&status),
        };
        view! {
            <li>
                <a
                    class="chip"
                    href=format!("{here}{}", query.with_status(status).to_search())
                    aria-current=current.then_some("true")
                >
                    {label}
                </a>
            </li>
        }
    };
    let all = chip(None, "All");
    let each = JobStatus::ALL.iter().map(|status| chip(Some(*status), status.label())).collect_view();
    view! {
        <nav aria-label="Status">
            <ul class="chips">{all} {each}</ul>
        </nav>
    }
}

fn choice(
    name: &'static str,
    label: &'static str,
    every: &'static str,
    choices: Vec<String>,
    chosen: Option<String>,
) -> impl IntoView {
    // A value from an old address stays visible even if it is no longer offered.
    let missing = chosen.clone().filter(|c| !choices.contains(c));
    let options = choices
        .into_iter()
        .chain(missing)
        .map(|value| {
            let selected = chosen.as_ref() == Some(&value);
            view! { <option value=value.clone() selected=selected>{value.clone()}</option> }
        })
        .collect_view();
    view! {
        <label class="visually-hidden" for=name>{label}</label>
        <select class="input select" id=name name=name>
            <option value="">{every}</option>
            {options}
        </select>
    }
}

fn table(slug: String, query: &JobsQuery, page: JobsPage, may_operate: bool) -> impl IntoView + use<> {
    let here = format!("/t/{slug}/jobs");
    let newest = query.before.map(|_| {
        let first = JobsQuery { before: None, ..query.clone() };
        view! { <a class="button" href=format!("{here}{}", first.to_search())>"← Newest"</a> }
    });
    let older = page.next.map(|next| {
        view! { <a class="button" href=format!("{here}{}", query.before(next).to_search()) rel="next">"Older →"</a> }
    });
    let empty = page.rows.is_empty().then(|| nothing(&slug, query, may_operate));
    let class = if page.rows.is_empty() { "jobs-list jobs-list-empty" } else { "jobs-list" };
    let (live, cursor, highest) = (slug.clone(), page.cursor, page.rows.first().map_or(0, |r| r.number));
    // The same rows again, also when newer ones have come: those are announced instead.
    let same_rows = format!("{here}{}", query.before(query.before.unwrap_or(highest + 1)).to_search());
    let own = format!("{here}{}", query.to_search());
    view! {
        <div class=class>
            <JobsTable slug page href=own may_operate />
        </div>
        <Refresh slug=live cursor job=None url=Some(same_rows) pause=500 news=news(query, highest) />
        {empty}
        <nav class="pager" aria-label="Pages">
            {newest}
            {older}
        </nav>
    }
}

/// New jobs belong on the first page; free text cannot be judged in the browser, so such a list announces none.
fn news(query: &JobsQuery, newest: i64) -> Option<News> {
    let filter = &query.filter;
    (query.before.is_none() && filter.q.is_none()).then(|| News {
        newest,
        statuses: filter.statuses.iter().map(ToString::to_string).collect(),
        job_type: filter.job_type.clone(),
        queue: filter.queue.clone(),
        domain: filter.domain.clone(),
    })
}

/// "Nothing here" and "the filters hide everything" are different.
fn nothing(slug: &str, query: &JobsQuery, may_operate: bool) -> AnyView {
    if query.filter.is_empty() && query.before.is_none() {
        return no_jobs_yet(slug, may_operate).into_any();
    }
    let every = format!("/t/{slug}/jobs");
    view! {
        <Empty icon=icon::FILTER title="No matching jobs">
            <p>"No jobs match these filters."</p>
            <a class="button" href=every>"Show all jobs"</a>
        </Empty>
    }
    .into_any()
}
