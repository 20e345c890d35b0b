//! The jobs table. Roles are spelled out because narrow screens show its rows as cards, and a browser forgets
//! what a table row is once it is laid out as something else. Rows on screen change in place; new ones are announced, never pushed in above what is read.

mod changes;

use crate::components::{
    badge::{Badge, Tone},
    format,
    progress::MiniBar,
    time::{Ago, Since, current},
};
pub use changes::Screen;
use leasehold_types::{
    JobFilter, JobStatus, Timestamp,
    id::short_worker,
    view::{JobRow, JobsPage},
};
use leptos::prelude::*;

#[island]
pub fn JobsTable(
    slug: String,
    page: JobsPage,
    filter: JobFilter,
    /// The page's own query string, to read it again with.
    query: String,
    may_operate: bool,
    /// New jobs belong on this page.
    first_page: bool,
) -> impl IntoView {
    let cursor = page.cursor;
    let screen = RwSignal::new(Screen::new(page, filter, first_page));
    changes::follow(&slug, &query, cursor, screen);
    let numbers = Memo::new(move |_| screen.with(|s| s.rows.iter().map(|r| r.number).collect::<Vec<_>>()));
    let href = format!("/t/{slug}/jobs{query}");
    view! {
        <NewJobs screen href />
        <div class="table-frame">
            <table class="table jobs-table" role="table">
                <caption class="visually-hidden">"Jobs, newest first"</caption>
                <thead role="rowgroup">
                    <tr role="row">
                        <th role="columnheader" scope="col">"Job"</th>
                        <th role="columnheader" scope="col">"Type"</th>
                        <th role="columnheader" scope="col">"Status"</th>
                        <th role="columnheader" scope="col" class="wide number-cell">"Attempts"</th>
                        <th role="columnheader" scope="col">"Queued"</th>
                        <th role="columnheader" scope="col" class="wide">"Started"</th>
                        <th role="columnheader" scope="col" class="middling">"Duration"</th>
                        <th role="columnheader" scope="col" class="wide">"Worker"</th>
                        <th role="columnheader" scope="col" class="middling">
                            <span class="visually-hidden">"Action"</span>
                        </th>
                    </tr>
                </thead>
                <tbody role="rowgroup">
                    <For
                        each=move || numbers.get()
                        key=|number| *number
                        children=move |number| view! { <Row screen number slug=slug.clone() may_operate /> }
                    />
                </tbody>
            </table>
        </div>
    }
}

#[component]
fn NewJobs(screen: RwSignal<Screen>, href: String) -> impl IntoView {
    let fresh = Memo::new(move |_| screen.with(|s| s.fresh.len()));
    view! {
        <div class="new-jobs" role="status">
            {move || {
                let href = href.clone();
                (fresh.get() > 0)
                    .then(|| {
                        view! {
                            <a class="button button-small" href=href>
                                {format::plural(fresh.get() as i64, "new job", "new jobs")}
                            </a>
                        }
                    })
            }}
        </div>
    }
}

#[component]
fn Row(screen: RwSignal<Screen>, number: i64, slug: String, may_operate: bool) -> impl IntoView {
    let row = Memo::new(move |_| {
        screen.with(|s| s.rows.iter().find(|r| r.number == number).map(|r| (r.clone(), s.now)))
    });
    let kind = row.with_untracked(|r| r.as_ref().map(|(r, _)| r.job_type.clone()).unwrap_or_default());
    let queue = row.with_untracked(|r| r.as_ref().map(|(r, _)| r.queue.clone()).unwrap_or_default());
    let href = format!("/t/{slug}/jobs/{number}");
    let cell = move |show: fn(&JobRow, Timestamp) -> AnyView| move || row.get().map(|(r, now)| show(&r, now));
    view! {
        <tr role="row">
            <th role="rowheader" scope="row" class="job-cell">
                <a href=href.clone()>"#" {number}</a>
            </th>
            <td role="cell" class="type-cell">
                <a href=href.clone()>{kind}</a>
                <span class="muted queue-name">{queue}</span>
            </td>
            <td role="cell" class="state-cell">{cell(status)}</td>
            <td role="cell" class="wide number-cell">{cell(attempts)}</td>
            <td role="cell" class="muted queued-cell">{cell(queued)}</td>
            <td role="cell" class="muted wide">{cell(started)}</td>
            <td role="cell" class="middling number-cell">{cell(duration)}</td>
            <td role="cell" class="muted wide">{cell(worker)}</td>
            <td role="cell" class="middling action-cell">
                {move || may_operate.then(|| row.get().map(|(r, _)| action(&slug, &r)))}
            </td>
        </tr>
    }
}

fn status(row: &JobRow, now: Timestamp) -> AnyView {
    let tone = Tone::of(row, current(now));
    let label = format!("Progress of job {}", row.number);
    let bar = (row.status == JobStatus::Processing).then(|| view! { <MiniBar percent=row.progress label /> });
    let stage = row.stage.clone().filter(|_| row.status == JobStatus::Processing);
    let error = row.error_code.clone().filter(|_| row.status != JobStatus::Completed && bar.is_none());
    view! {
        <span class="status-cell">
            <Badge tone />
            {bar}
            <span class="muted status-note">{stage.or(error)}</span>
        </span>
    }
    .into_any()
}

fn attempts(row: &JobRow, _: Timestamp) -> AnyView {
    format!("{}/{}", row.attempt_count, row.max_attempts).into_any()
}

fn queued(row: &JobRow, now: Timestamp) -> AnyView {
    view! { <Ago at=row.created_at now /> }.into_any()
}

fn started(row: &JobRow, now: Timestamp) -> AnyView {
    row.started_at.map_or_else(|| "—".into_any(), |at| view! { <Ago at now /> }.into_any())
}

/// Of the running attempt, or from first start to end.
fn duration(row: &JobRow, now: Timestamp) -> AnyView {
    match (row.status, row.acquired_at, row.started_at, row.completed_at) {
        (JobStatus::Processing, Some(from), ..) => view! { <Since from now /> }.into_any(),
        (_, _, Some(from), Some(until)) => format::duration(until.seconds_since(from)).into_any(),
        _ => "—".into_any(),
    }
}

fn worker(row: &JobRow, _: Timestamp) -> AnyView {
    row.worker_id.as_deref().map_or_else(|| "—".to_owned(), |id| short_worker(id).to_owned()).into_any()
}

fn action(slug: &str, row: &JobRow) -> AnyView {
    let number = row.number;
    if row.status.is_terminal() {
        return view! {
            <form method="post" action="/do/retry">
                <input type="hidden" name="slug" value=slug.to_owned() />
                <input type="hidden" name="number" value=number />
                <button class="button button-small" type="submit" aria-label=format!("Retry job {number}")>
                    "Retry"
                </button>
            </form>
        }
        .into_any();
    }
    let form = if row.status == JobStatus::Quarantined { "requeue" } else { "cancel" };
    let word = if form == "cancel" { "Cancel" } else { "Requeue" };
    view! {
        <a class="button button-small" href=format!("/t/{slug}/jobs/{number}?do={form}") aria-label=format!("{word} job {number}")>
            {word}
        </a>
    }
    .into_any()
}
