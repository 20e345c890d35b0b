//! The overview: what waits, what runs, what broke.

mod cards;

use crate::components::{
    badge::{Badge, Tone},
    format,
    icon::{self, Icon},
    progress::MiniBar,
    time::{Ago, Since},
};
use cards::{Cards, Throughput, Warnings};
use leasehold_types::{
    id::short_worker,
    view::{JobRow, Overview},
};
use leptos::prelude::*;

#[component]
pub fn OverviewParts(slug: String, overview: Overview) -> impl IntoView {
    let overview = RwSignal::new(overview);
    view! {
        <Warnings overview />
        <Cards slug=slug.clone() overview />
        <Throughput overview />
        <div class="columns columns-even">
            <Running slug=slug.clone() overview />
            <Failures slug overview />
        </div>
    }
}

#[component]
fn Running(slug: String, overview: RwSignal<Overview>) -> impl IntoView {
    let numbers =
        Memo::new(move |_| overview.with(|o| o.running.iter().map(|r| r.number).collect::<Vec<_>>()));
    let workers = Memo::new(move |_| overview.with(|o| o.workers_live));
    let more = format!("/t/{slug}/jobs?status=processing");
    view! {
        <section class="card">
            <div class="card-head">
                <h2>"Running now"</h2>
                <a class="quiet-link" href=more>
                    {move || format::plural(workers.get(), "worker", "workers")}
                    " · all running jobs →"
                </a>
            </div>
            <ul class="rows">
                <For
                    each=move || numbers.get()
                    key=|number| *number
                    children=move |number| {
                        let href = format!("/t/{slug}/jobs/{number}");
                        let row = Memo::new(move |_| {
                            overview.with(|o| o.running.iter().find(|r| r.number == number).map(|r| (r.clone(), o.now)))
                        });
                        view! {
                            <li class="row">
                                <a class="row-link" href=href>
                                    {move || row.get().map(|(row, now)| running_row(&row, now))}
                                </a>
                            </li>
                        }
                    }
                />
            </ul>
            {move || numbers.with(Vec::is_empty).then(|| quiet(icon::CLOCK, "Nothing is running."))}
        </section>
    }
}

fn running_row(row: &JobRow, now: leasehold_types::Timestamp) -> impl IntoView + use<> {
    let from = row.acquired_at.or(row.started_at).unwrap_or(row.created_at);
    let worker = row.worker_id.as_deref().map(|id| short_worker(id).to_owned());
    view! {
        <span class="row-main">
            <span class="row-title">
                <span class="job-number">"#" {row.number}</span>
                " "
                {row.job_type.clone()}
            </span>
            <span class="muted row-note">
                {row.stage.clone().unwrap_or_else(|| if row.progress > 0 { "running" } else { "starting" }.into())}
                {worker.map(|w| format!(" · {w}"))} " · " <Since from now />
            </span>
        </span>
        <MiniBar percent=row.progress label=format!("Progress of job {}", row.number) />
    }
}

#[component]
fn Failures(slug: String, overview: RwSignal<Overview>) -> impl IntoView {
    let rows = Memo::new(move |_| overview.with(|o| (o.recent_failures.clone(), o.now)));
    let more = format!("/t/{slug}/jobs?status=failed&status=dead_letter&status=quarantined");
    view! {
        <section class="card">
            <div class="card-head">
                <h2>"Recent failures"</h2>
                <a class="quiet-link" href=more>"All failures →"</a>
            </div>
            <ul class="rows">
                {move || {
                    let (rows, now) = rows.get();
                    rows.iter().map(|row| failure_row(&slug, row, now)).collect_view()
                }}
            </ul>
            {move || rows.with(|(rows, _)| rows.is_empty()).then(|| quiet(icon::DONE, "No failures."))}
        </section>
    }
}

fn failure_row(slug: &str, row: &JobRow, now: leasehold_types::Timestamp) -> impl IntoView + use<> {
    let at = row.completed_at.unwrap_or(row.created_at);
    view! {
        <li class="row">
            <a class="row-link" href=format!("/t/{slug}/jobs/{}", row.number)>
                <span class="row-main">
                    <span class="row-title">
                        <span class="job-number">"#" {row.number}</span>
                        " "
                        {row.job_type.clone()}
                    </span>
                    <span class="muted row-note">
                        {row.error_code.clone().map(|code| view! { <code>{code}</code> " · " })} <Ago at now />
                    </span>
                </span>
                <Badge tone=Tone::of(row, now) />
            </a>
        </li>
    }
}

fn quiet(icon: &'static str, text: &'static str) -> impl IntoView {
    view! {
        <p class="quiet">
            <Icon d=icon />
            {text}
        </p>
    }
}
