//! One job: heading, progress, attempts with their logs, timeline, details.

mod actions;
mod attempts;
mod facts;
mod files;
mod units;
mod waiting;

use crate::{
    components::{
        badge::{Badge, Tone},
        json::JsonTree,
        progress::{Bar, StageBar},
    },
    islands::live_dot::LiveDot,
};
use actions::Actions;
pub use actions::OpenForm;
use attempts::Attempts;
use facts::{Details, Timeline, Trail};
use files::Files;
use leasehold_types::{
    ErrorClass, JobStatus,
    unit::UnitsView,
    view::{Diagnosis, JobDetail, LinkedAttachment},
};
use leptos::prelude::*;
use units::Units;
use waiting::Waiting;

#[component]
pub fn JobParts(
    slug: String,
    detail: JobDetail,
    /// Why it is not running, while it waits.
    diagnosis: Option<Diagnosis>,
    /// What it left behind.
    files: Vec<LinkedAttachment>,
    /// The calls it makes, when it is made of calls.
    units: UnitsView,
    may_operate: bool,
    /// A form that came back with a problem, or that a link asked to open.
    form: OpenForm,
) -> impl IntoView {
    let stages = detail.stages.clone();
    let payload = detail.payload.clone();
    let attempts = detail.attempts.clone();
    let now = detail.now;
    let job = RwSignal::new(detail);
    let result = Memo::new(move |_| job.with(|j| j.result.clone()));
    view! {
        <Heading slug=slug.clone() job />
        <Actions slug=slug.clone() job may_operate form />
        <ProgressCard job stages diagnosis />
        <div class="columns">
            <div class="column">
                <Files files now />
                <Units units />
                <Attempts job attempts />
                {move || result.get().map(|value| json_card("Result", value))}
                {json_card("Payload", payload)}
            </div>
            <div class="column">
                <Timeline job />
                <Details slug job />
                <Trail job />
            </div>
        </div>
    }
}

#[component]
fn Heading(slug: String, job: RwSignal<JobDetail>) -> impl IntoView {
    let (number, kind) = job.with_untracked(|j| (j.row.number, j.row.job_type.clone()));
    let badge = Memo::new(move |_| {
        job.with(|j| {
            let tone = Tone::of(&j.row, j.now);
            let of = format!("{} · attempt {} of {}", tone.label(), j.row.attempt_count, j.row.max_attempts);
            (tone, if tone == Tone::Running { of } else { tone.label().to_owned() })
        })
    });
    view! {
        <div class="page-head job-head">
            <p class="crumb">
                <a href=format!("/t/{slug}/jobs")>"Jobs"</a>
                <span aria-hidden="true">" /"</span>
            </p>
            <h1>
                <span class="job-number">"#" {number}</span>
                " "
                {kind}
            </h1>
            <span class="job-state" data-testid="state">
                {move || {
                    let (tone, label) = badge.get();
                    view! { <Badge tone label /> }
                }}
            </span>
            <LiveDot />
        </div>
    }
}

#[component]
fn ProgressCard(
    job: RwSignal<JobDetail>,
    stages: Vec<leasehold_types::Stage>,
    diagnosis: Option<Diagnosis>,
) -> impl IntoView {
    let bar = Memo::new(move |_| job.with(|j| Bar::of(&j.row, Tone::of(&j.row, j.now))));
    let headline = move || {
        bar.with(|b| match (&b.stage, b.tone) {
            (_, Tone::Completed) => "Completed".to_owned(),
            (Some(stage), _) => stage.clone(),
            (None, Tone::Running) => "Starting".to_owned(),
            (None, tone) => tone.label().to_owned(),
        })
    };
    view! {
        <section class="card progress-card" aria-label="Progress">
            <div class="progress-line">
                <strong class="progress-stage">{headline}</strong>
                <span class="muted progress-message">{move || bar.with(|b| b.message.clone())}</span>
                <strong class="figure progress-figure">{move || bar.with(|b| b.percent)} "%"</strong>
            </div>
            <StageBar bar stages />
            <Waiting job diagnosis />
            <Failure job />
        </section>
    }
}

#[component]
fn Failure(job: RwSignal<JobDetail>) -> impl IntoView {
    let error = Memo::new(move |_| {
        job.with(|j| {
            let ended_badly = !matches!(j.row.status, JobStatus::Completed | JobStatus::Processing);
            let class = j.error_class.as_deref().and_then(|class| class.parse::<ErrorClass>().ok());
            let alert = class.is_some_and(ErrorClass::raises_alert);
            ended_badly.then(|| (j.row.error_code.clone(), j.error_message.clone(), alert))
        })
    });
    move || {
        let (code, message, alert) = error.get()?;
        let text = message.or_else(|| code.clone())?;
        let alert = alert.then(|| {
            view! {
                <p class="notice notice-warn" data-testid="alert">
                    "An alert was raised: this failure is a bug in the job’s own code (internal_bug)."
                </p>
            }
        });
        Some(view! {
            <p class="error-line">
                {code.map(|code| view! { <code>{code}</code> " " })} {text}
            </p>
            {alert}
        })
    }
}

fn json_card(title: &'static str, value: serde_json::Value) -> impl IntoView {
    view! {
        <section class="card">
            <h2>{title}</h2>
            <JsonTree value />
        </section>
    }
}
