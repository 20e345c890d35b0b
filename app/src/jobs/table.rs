//! The jobs table. Roles are spelled out because narrow screens show its rows as cards, and a browser forgets
//! what a table row is once it is laid out as something else. Rows on screen change in place; new ones are announced, never pushed in above what is read.

use crate::components::{
    badge::{Badge, Tone},
    format,
    progress::MiniBar,
    time::{Ago, Since},
};
use leasehold_types::{
    JobStatus, Timestamp,
    id::short_worker,
    view::{JobRow, JobsPage},
};
use leptos::prelude::*;

#[component]
pub fn JobsTable(
    slug: String,
    page: JobsPage,
    /// The page's own address, to load it again with.
    href: String,
    may_operate: bool,
) -> impl IntoView {
    let now = page.now;
    let rows = page.rows.into_iter().map(|row| job_row(row, now, &slug, may_operate)).collect_view();
    view! {
        <div class="new-jobs" role="status">
            <a class="button button-small" id="new-jobs" href=href hidden=true>"New jobs"</a>
        </div>
        <div class="table-frame">
            <table class="table jobs-table" role="table">
                <caption class="visually-hidden">"Jobs, newest first"</caption>
                <thead role="rowgroup">
                    <tr role="row">
                        <th role="columnheader" scope="col">"Job"</th>
                        <th role="columnheader" scope="col">"Type"</th>
                        <th role="columnheader" scope="col" class="wide">"Source"</th>
                        <th role="columnheader" scope="col">"Status"</th>
                        <th role="columnheader" scope="col" class="wide number-cell">"Attempts"</th>
                        <th role="columnheader" scope="col">"Queued"</th>
                        <th role="columnheader" scope="col" class="widest">"Started"</th>
                        <th role="columnheader" scope="col" class="wide">"Finished"</th>
                        <th role="columnheader" scope="col" class="middling">"Ran for"</th>
                        <th role="columnheader" scope="col" class="wide">"Worker"</th>
                        <th role="columnheader" scope="col" class="middling">
                            <span class="visually-hidden">"Action"</span>
                        </th>
                    </tr>
                </thead>
                <tbody role="rowgroup" id="jobs-rows" data-live="">
                    {rows}
                </tbody>
            </table>
        </div>
    }
}

fn job_row(row: JobRow, now: Timestamp, slug: &str, may_operate: bool) -> impl IntoView + use<> {
    let number = row.number;
    let href = format!("/t/{slug}/jobs/{number}");
    let action = may_operate.then(|| action(slug, &row));
    view! {
        <tr role="row" data-key=number>
            <th role="rowheader" scope="row" class="job-cell">
                <a href=href.clone()>"#" {number}</a>
            </th>
            <td role="cell" class="type-cell">
                <a href=href.clone()>{row.job_type.clone()}</a>
                <span class="muted queue-name">{row.queue.clone()}</span>
            </td>
            <td role="cell" class="muted wide">{row.source.to_string()}</td>
            <td role="cell" class="state-cell">{status(&row, now)}</td>
            <td role="cell" class="wide number-cell">{attempts(&row)}</td>
            <td role="cell" class="muted queued-cell">{queued(&row, now)}</td>
            <td role="cell" class="muted widest">{moment(row.started_at, now)}</td>
            <td role="cell" class="muted wide">{moment(row.completed_at, now)}</td>
            <td role="cell" class="middling number-cell">{duration(&row, now)}</td>
            <td role="cell" class="muted wide worker-cell">{worker(&row)}</td>
            <td role="cell" class="middling action-cell">{action}</td>
        </tr>
    }
}

fn status(row: &JobRow, now: Timestamp) -> AnyView {
    let tone = Tone::of(row, now);
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

/// How many are used; the attempt's number too, when it says something else.
fn attempts(row: &JobRow) -> AnyView {
    let number = (row.attempt_count != row.attempts_used)
        .then(|| view! { <span class="muted attempt-number">"attempt " {row.attempt_count}</span> });
    view! { {row.attempts_used} "/" {row.max_attempts} {number} }.into_any()
}

fn queued(row: &JobRow, now: Timestamp) -> AnyView {
    view! { <Ago at=row.created_at now /> }.into_any()
}

fn moment(at: Option<Timestamp>, now: Timestamp) -> AnyView {
    at.map_or_else(|| "—".into_any(), |at| view! { <Ago at now /> }.into_any())
}

/// Of the newest attempt: waits, and time in quarantine, are not running time.
fn duration(row: &JobRow, now: Timestamp) -> AnyView {
    let Some(run) = &row.last_run else { return "—".into_any() };
    match run.finished_at {
        None => view! { <Since from=run.started_at now /> }.into_any(),
        Some(until) => format::duration(until.seconds_since(run.started_at)).into_any(),
    }
}

fn worker(row: &JobRow) -> AnyView {
    let worker = row.last_run.as_ref().map(|run| short_worker(&run.worker_id).to_owned());
    worker.unwrap_or_else(|| "—".to_owned()).into_any()
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
