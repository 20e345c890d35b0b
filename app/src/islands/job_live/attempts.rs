//! One block per attempt, newest first: how it went, where, and what it printed.

use super::follow::Story;
use crate::components::{
    badge::{Badge, Tone},
    format,
    log::LogBox,
    time::Since,
};
use leasehold_types::{
    AttemptOutcome, Timestamp,
    id::short_worker,
    view::{AttemptView, JobDetail},
};
use leptos::prelude::*;

#[component]
pub fn Attempts(story: Story) -> impl IntoView {
    let job = story.job;
    let numbers =
        Memo::new(move |_| job.with(|j| j.attempts.iter().rev().map(|a| a.attempt).collect::<Vec<_>>()));
    view! {
        <For
            each=move || numbers.get()
            key=|number| *number
            children=move |number| view! { <Attempt story=story.clone() number newest=numbers /> }
        />
        {move || {
            numbers
                .with(Vec::is_empty)
                .then(|| {
                    view! {
                        <section class="card card-quiet">
                            <h2>"Attempts"</h2>
                            <p class="muted">"No worker has taken this job yet."</p>
                        </section>
                    }
                })
        }}
    }
}

#[component]
fn Attempt(story: Story, number: i32, newest: Memo<Vec<i32>>) -> impl IntoView {
    let job = story.job;
    let attempt = Memo::new(move |_| {
        job.with(|j| j.attempts.iter().find(|a| a.attempt == number).map(|a| (a.clone(), j.now)))
    });
    let running = Signal::derive(move || {
        attempt.with(|a| a.as_ref().is_some_and(|(a, _)| a.outcome == AttemptOutcome::Running))
    });
    let log = story.log(number);
    let is_newest = newest.with_untracked(|all| all.first() == Some(&number));
    view! {
        <section class="card attempt" aria-label=format!("Attempt {number}")>
            <div class="attempt-head">
                <h2>"Attempt " {number}</h2>
                {move || attempt.get().map(|(attempt, now)| outcome(&attempt, now))}
            </div>
            {move || attempt.get().and_then(|(attempt, _)| error(&attempt))}
            <Backoff job number />
            <details class="attempt-log" open=is_newest>
                <summary>"Log"</summary>
                <LogBox lines=log label=format!("Log of attempt {number}") open_ended=running />
            </details>
        </section>
    }
}

fn outcome(attempt: &AttemptView, now: Timestamp) -> impl IntoView + use<> {
    let (from, until) = (attempt.started_at, attempt.finished_at);
    let took = match until {
        Some(until) => format::duration(until.seconds_since(from)).into_any(),
        None => view! { <Since from now /> }.into_any(),
    };
    view! {
        <Badge tone=Tone::of_outcome(attempt.outcome) label=attempt.outcome.label() />
        <span class="muted attempt-facts">
            "on " {short_worker(&attempt.worker_id).to_owned()}
            {attempt.pid.map(|pid| format!(" · pid {pid}"))} " · " {took}
            {attempt.exit_code.map(|code| format!(" · exit {code}"))}
        </span>
    }
}

fn error(attempt: &AttemptView) -> Option<impl IntoView + use<>> {
    let text = attempt.error_text.clone().or_else(|| attempt.error_code.clone())?;
    let code = attempt.error_code.clone().filter(|code| *code != text);
    Some(view! {
        <p class="error-line">
            {code.map(|code| view! { <code>{code}</code> " " })} {text}
        </p>
    })
}

/// How long the next attempt had to wait after this one.
#[component]
fn Backoff(job: RwSignal<JobDetail>, number: i32) -> impl IntoView {
    let wait = Memo::new(move |_| {
        job.with(|j| {
            let ended = j.attempts.iter().find(|a| a.attempt == number)?.finished_at?;
            let next = j.attempts.iter().find(|a| a.attempt == number + 1)?;
            Some(next.started_at.seconds_since(ended))
        })
    });
    move || {
        wait.get().map(|seconds| {
            view! { <p class="muted">"The next attempt began " {format::duration(seconds)} " later."</p> }
        })
    }
}
