//! The right-hand column: the timeline, the details, and who did what.

use crate::{
    components::{
        format,
        time::{Ago, At, Since},
    },
    jobs::{
        bounds, budget,
        timeline::{Step, steps},
    },
};
use leasehold_queue::history;
use leasehold_types::{
    Timestamp,
    id::short_worker,
    view::{JobDetail, JobLink, TrailEntry},
};
use leptos::prelude::*;

#[component]
pub fn Timeline(job: RwSignal<JobDetail>) -> impl IntoView {
    let story = Memo::new(move |_| job.with(|j| (steps(j, j.now), j.now)));
    view! {
        <section class="card">
            <h2>"Timeline"</h2>
            <ol class="timeline">
                {move || {
                    let (steps, now) = story.get();
                    let (start, left_out, end) = bounds::steps(steps);
                    let gap = (left_out > 0).then(|| view! { <li class="step step-gap">{left_out} " more steps"</li> });
                    view! {
                        {start.into_iter().map(|step| told(step, now)).collect_view()}
                        {gap}
                        {end.into_iter().map(|step| told(step, now)).collect_view()}
                    }
                }}
            </ol>
        </section>
    }
}

fn told(step: Step, now: Timestamp) -> impl IntoView {
    let Step { tone, title, from, until, spent, note, open } = step;
    let moment = from.map(|at| view! { <At at /> });
    let took = match (from, until, open) {
        (Some(from), Some(until), _) => Some(format::duration(until.seconds_since(from)).into_any()),
        (Some(from), None, true) => Some(view! { <Since from now /> }.into_any()),
        _ => None,
    };
    view! {
        <li class=format!("step tone-{}", tone.class())>
            <span class="step-title">{title}</span>
            <span class="step-facts">
                {moment} {took.map(|took| view! { " · " {spent} {took} })} {note.map(|note| view! { " · " {note} })}
            </span>
        </li>
    }
}

#[component]
pub fn Details(slug: String, job: RwSignal<JobDetail>) -> impl IntoView {
    let lease = Memo::new(move |_| job.with(|j| (j.leased_until, j.now)));
    let worker = Memo::new(move |_| job.with(|j| j.row.last_run.as_ref().map(|run| run.worker_id.clone())));
    let tries = Memo::new(move |_| {
        job.with(|j| budget::attempts(&j.row, history::parked(j).iter().any(|stay| stay.requeued.is_some())))
    });
    let ran = Memo::new(move |_| {
        job.with(|j| (!j.attempts.is_empty() && j.row.worker_id.is_none()).then(|| history::seconds_run(j)))
    });
    let family = Memo::new(move |_| job.with(|j| (j.parent.clone(), j.children.clone())));
    let still = job.with_untracked(standing_facts);
    view! {
        <section class="card">
            <h2>"Details"</h2>
            <dl class="facts">
                {still
                    .into_iter()
                    .map(|(name, value, code)| fact(name, if code { view! { <code>{value}</code> }.into_any() } else { value.into_any() }))
                    .collect_view()}
                {fact("Attempts", (move || tries.get()).into_any())}
                {move || ran.get().map(|seconds| fact("Ran for", format::duration(seconds).into_any()))}
                {move || worker.get().map(|id| fact("Worker", view! { <code>{short_worker(&id).to_owned()}</code> }.into_any()))}
                {move || {
                    let (until, now) = lease.get();
                    until.map(|at| fact("Lease ends", view! { <Ago at now /> }.into_any()))
                }}
                {move || {
                    let (parent, children) = family.get();
                    let slug = slug.clone();
                    view! {
                        {parent.map(|p| fact("Retry of", job_link(&slug, &p).into_any()))}
                        {(!children.is_empty())
                            .then(|| {
                                let links = children.iter().map(|c| job_link(&slug, c)).collect_view();
                                fact("Retried as", links.into_any())
                            })}
                    }
                }}
            </dl>
        </section>
    }
}

/// What does not change while the job lives: name, value, whether it is code.
fn standing_facts(job: &JobDetail) -> Vec<(&'static str, String, bool)> {
    let row = &job.row;
    let mut facts = vec![
        ("Type", format!("{} / {}", row.domain, row.job_type), true),
        ("Queue", format!("{} · priority {}", row.queue, row.priority), false),
        (
            "Source",
            job.source_ref.as_ref().map_or(row.source.to_string(), |r| format!("{} {r}", row.source)),
            false,
        ),
        ("Requested by", job.requested_by.clone(), false),
        ("Queued", format::utc(row.created_at), false),
    ];
    let keys = [
        ("Correlation", &job.correlation_id),
        ("Dedupe key", &job.dedupe_key),
        ("Concurrency key", &job.concurrency_key),
        ("Request", &job.request_id),
    ];
    facts.extend(keys.into_iter().filter_map(|(name, value)| Some((name, value.clone()?, true))));
    facts.push(("Trace", job.trace_id.clone(), true));
    facts.push(("Id", row.id.to_string(), true));
    facts
}

fn fact(name: &'static str, value: AnyView) -> impl IntoView {
    view! {
        <div class="fact">
            <dt>{name}</dt>
            <dd>{value}</dd>
        </div>
    }
}

fn job_link(slug: &str, link: &JobLink) -> impl IntoView + use<> {
    view! {
        <a href=format!("/t/{slug}/jobs/{}", link.number)>"#" {link.number}</a>
        " "
        <span class="muted">{link.status.label().to_lowercase()}</span>
        " "
    }
}

#[component]
pub fn Trail(job: RwSignal<JobDetail>) -> impl IntoView {
    let trail = Memo::new(move |_| job.with(|j| (j.trail.clone(), j.now)));
    view! {
        <section class="card">
            <h2>"Activity"</h2>
            {move || {
                let (entries, now) = trail.get();
                if entries.is_empty() {
                    view! { <p class="muted">"Nobody has changed this job."</p> }.into_any()
                } else {
                    let items = entries.into_iter().map(|entry| deed(entry, now)).collect_view();
                    view! { <ul class="trail">{items}</ul> }.into_any()
                }
            }}
        </section>
    }
}

fn deed_in_words(action: &str) -> String {
    match action {
        "job.create" => "queued this job".into(),
        "job.cancel" => "cancelled it".into(),
        "job.attach" => "attached a file".into(),
        "job.requeue" => "requeued it".into(),
        "job.reschedule" => "rescheduled it".into(),
        other => other.replace(['_', '.'], " "),
    }
}

fn deed(entry: TrailEntry, now: Timestamp) -> impl IntoView {
    view! {
        <li>
            <span class="trail-deed">
                <strong>{entry.actor}</strong>
                " "
                {deed_in_words(&entry.action)}
            </span>
            <span class="muted">
                <Ago at=entry.at now />
            </span>
            {entry.reason.map(|reason| view! { <q class="trail-reason">{reason}</q> })}
        </li>
    }
}
