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
        icon::{self, Icon},
        json::JsonCard,
        progress::{Bar, StageBar},
    },
    islands::live_dot::LiveDot,
    jobs::{bounds, budget, ending},
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
    let here = format!("/t/{slug}/jobs/{}", job.with_untracked(|j| j.row.number));
    let (of_result, of_payload) = (format!("{here}/result.json"), format!("{here}/payload.json"));
    view! {
        <Heading slug=slug.clone() job />
        <Actions slug=slug.clone() job may_operate form />
        <ProgressCard job stages diagnosis may_operate />
        <div class="columns">
            <div class="column">
                <Files files now />
                <Units units />
                <Attempts job attempts here />
                {move || result.get().map(|value| view! { <JsonCard title="Result" value href=of_result.clone() /> })}
                <JsonCard title="Payload" value=payload href=of_payload />
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
            let of = format!("{} · {}", tone.label(), budget::running(&j.row));
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
    may_operate: bool,
) -> impl IntoView {
    let bar = Memo::new(move |_| job.with(|j| Bar::of(&j.row, Tone::of(&j.row, j.now))));
    let headline = move || {
        bar.with(|b| match (&b.stage, b.tone) {
            (_, Tone::Completed) => "Completed".to_owned(),
            (Some(stage), _) => stage.clone(),
            (None, Tone::Running) if b.percent == 0 => "Starting".to_owned(),
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
            <Silent job />
            <Ending job may_operate />
            <Failure job />
            <Alert job />
        </section>
    }
}

/// A running job whose worker is not heard of.
#[component]
fn Silent(job: RwSignal<JobDetail>) -> impl IntoView {
    let text = job.with_untracked(|j| j.silent.as_ref().map(|silent| silent.text.clone()));
    text.map(|text| {
        view! {
            <p class="hint-line hint-warn" data-testid="silent">
                <Icon d=icon::ALERT />
                <span>"Its worker may be gone. " {text}</span>
            </p>
        }
    })
}

/// Why it stopped and what helps, in words.
#[component]
fn Ending(job: RwSignal<JobDetail>, may_operate: bool) -> impl IntoView {
    let explanation = Memo::new(move |_| job.with(|j| ending::explain(j, may_operate)));
    move || {
        let ending::Explanation { happened, error_code, rest, remedy } = explanation.get()?;
        Some(view! {
            <div class="ending" data-testid="ending">
                <p>{happened} {error_code.map(|code| view! { <code>{code}</code> })} {rest}</p>
                <p class="muted">{remedy}</p>
            </div>
        })
    }
}

/// Failures of a class that raises an alert are not the user's to solve.
#[component]
fn Alert(job: RwSignal<JobDetail>) -> impl IntoView {
    let raised = job.with_untracked(|j| {
        let class = j.error_class.as_deref().and_then(|class| class.parse::<ErrorClass>().ok());
        let ended_well = matches!(j.row.status, JobStatus::Completed | JobStatus::Processing);
        !ended_well && class.is_some_and(ErrorClass::raises_alert)
    });
    raised.then(|| {
        view! {
            <p class="notice notice-warn" data-testid="alert">
                "An alert was raised: this failure is a bug in the job’s own code (internal_bug)."
            </p>
        }
    })
}

/// The error itself. What was cancelled has none, except when its time was up.
#[component]
fn Failure(job: RwSignal<JobDetail>) -> impl IntoView {
    let error = Memo::new(move |_| {
        job.with(|j| {
            let shown = match j.row.status {
                JobStatus::Completed | JobStatus::Processing => false,
                JobStatus::Cancelled => j.row.error_code.as_deref() == Some("ttl_expired"),
                _ => true,
            };
            shown.then(|| (j.row.error_code.clone(), j.error_message.clone()))
        })
    });
    move || {
        let (code, message) = error.get()?;
        let message = message.filter(|text| Some(text) != code.as_ref());
        // Ended jobs have the code in the explanation above; the whole message is with its attempt.
        let code = code.filter(|_| job.with(|j| j.row.status == JobStatus::Queued));
        let text = message.map(|text| bounds::first_words(&text).0);
        (code.is_some() || text.is_some()).then(|| {
            view! { <p class="error-line">{code.map(|code| view! { <code>{code}</code> " " })} {text}</p> }
        })
    }
}
