//! One block per attempt, newest first: how it went, where, and what it printed.

use crate::{
    components::{
        badge::{Badge, Tone},
        format,
        log::LogBox,
        time::Since,
    },
    jobs::bounds::{self, Shown},
};
use leasehold_queue::history;
use leasehold_types::{
    AttemptOutcome, Timestamp,
    id::short_worker,
    view::{AttemptView, JobDetail},
};
use leptos::prelude::*;

#[component]
pub fn Attempts(
    job: RwSignal<JobDetail>,
    attempts: Vec<AttemptView>,
    /// The job's own address.
    here: String,
) -> impl IntoView {
    let now = job.with_untracked(|j| j.now);
    let newest = attempts.last().map(|a| a.attempt);
    let none = attempts.is_empty().then(|| {
        view! {
            <section class="card card-quiet" data-key="no-attempt">
                <h2>"Attempts"</h2>
                <p class="muted">"No attempts yet."</p>
            </section>
        }
    });
    let (attempts, left_out) = bounds::attempts(attempts);
    let error_is_cut = attempts.iter().any(|shown| shown.error_is_cut);
    let more = (left_out > 0 || error_is_cut).then(|| more(left_out, format!("{here}/attempts.json")));
    let blocks = attempts.into_iter().map(|shown| {
        let is_newest = newest == Some(shown.attempt.attempt);
        let log = format!("{here}/log-{}.txt", shown.attempt.attempt);
        view! { <Attempt job shown now is_newest log /> }
    });
    view! {
        {blocks.collect_view()}
        {more}
        {none}
    }
}

fn more(left_out: usize, href: String) -> impl IntoView {
    let text = match left_out {
        0 => "Long error messages are cut here. ".to_owned(),
        1 => "The first attempt is not shown here. ".to_owned(),
        n => format!("The first {n} attempts are not shown here. "),
    };
    view! {
        <p class="muted cut-note" data-key="more-attempts">
            {text} <a href=href download="">"Download all attempts (JSON)"</a>
        </p>
    }
}

#[component]
fn Attempt(
    job: RwSignal<JobDetail>,
    shown: Shown,
    now: Timestamp,
    is_newest: bool,
    log: String,
) -> impl IntoView {
    let Shown { attempt, log_is_cut, .. } = shown;
    let number = attempt.attempt;
    let running = attempt.outcome == AttemptOutcome::Running;
    view! {
        <section class="card attempt" aria-label=format!("Attempt {number}") data-key=format!("attempt-{number}")>
            <div class="attempt-head">
                <h2>"Attempt " {number}</h2>
                {outcome(&attempt, now)}
            </div>
            {stages(&attempt, now)}
            {error(&attempt)}
            {stack(&attempt)}
            {released(&attempt)}
            <Backoff job number />
            <details class="attempt-log" open=is_newest>
                <summary>"Log"</summary>
                <LogBox
                    lines=attempt.logs
                    label=format!("Log of attempt {number}")
                    open_ended=running
                    is_cut=log_is_cut
                    href=log
                />
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

/// A long one is folded.
fn error(attempt: &AttemptView) -> Option<impl IntoView + use<>> {
    let text = attempt.error_text.clone().or_else(|| attempt.error_code.clone())?;
    let code = attempt.error_code.clone().filter(|code| *code != text);
    let code = code.map(|code| view! { <code>{code}</code> " " });
    let (start, is_long) = bounds::first_words(&text);
    Some(if is_long {
        view! {
            <details class="error-more">
                <summary class="error-line">{code} {start}</summary>
                <p class="error-line">{text}</p>
            </details>
        }
        .into_any()
    } else {
        view! { <p class="error-line">{code} {text}</p> }.into_any()
    })
}

/// The stages it went through, and how long each took.
fn stages(attempt: &AttemptView, now: Timestamp) -> Option<impl IntoView + use<>> {
    let text = stages_text(attempt, now)?;
    Some(view! { <p class="muted" data-testid="stages">{text}</p> })
}

fn stages_text(attempt: &AttemptView, now: Timestamp) -> Option<String> {
    let ends = attempt.stages.iter().skip(1).map(|next| next.at);
    let ends = ends.chain([attempt.finished_at.unwrap_or(now)]);
    let each: Vec<_> = attempt
        .stages
        .iter()
        .zip(ends)
        .map(|(mark, end)| {
            format!("{} {}", mark.stage, format::duration(end.seconds_since(mark.at).max(0.0)))
        })
        .collect();
    (!each.is_empty()).then(|| format!("Stages: {}", each.join(" → ")))
}

/// Where it failed, for who wants to know.
fn stack(attempt: &AttemptView) -> Option<impl IntoView + use<>> {
    let text = attempt.error_stack.clone().filter(|text| !text.trim().is_empty())?;
    Some(view! {
        <details class="attempt-log" data-testid="stack">
            <summary>"Stack"</summary>
            <pre class="log" tabindex="0" aria-label=format!("Stack of attempt {}", attempt.attempt)>
                {text}
            </pre>
        </details>
    })
}

fn released(attempt: &AttemptView) -> Option<impl IntoView + use<>> {
    (attempt.outcome == AttemptOutcome::Released)
        .then(|| view! { <p class="muted">"Its worker gave the job back. This attempt does not count."</p> })
}

/// How long the next attempt had to wait after this one; not when a person had to come in between.
#[component]
fn Backoff(job: RwSignal<JobDetail>, number: i32) -> impl IntoView {
    let wait = Memo::new(move |_| {
        job.with(|j| {
            if history::parked(j).iter().any(|stay| stay.after_attempt == number) {
                return None;
            }
            let ended = j.attempts.iter().find(|a| a.attempt == number)?.finished_at?;
            let next = j.attempts.iter().find(|a| a.attempt == number + 1)?;
            Some(next.started_at.seconds_since(ended)).filter(|seconds| *seconds >= 1.0)
        })
    });
    move || {
        wait.get().map(|seconds| {
            view! { <p class="muted">"The next attempt began " {format::duration(seconds)} " later."</p> }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::timeline::tests::{at, attempt};
    use leasehold_types::view::StageMark;

    #[test]
    fn every_stage_is_shown_with_its_own_time() {
        let mut attempt = attempt(1, AttemptOutcome::Succeeded, 0, Some(70));
        assert_eq!(stages_text(&attempt, at(100)), None);
        let mark = |stage: &str, secs| StageMark { attempt: 1, stage: stage.into(), at: at(secs) };
        attempt.stages = vec![mark("load", 0), mark("check", 5), mark("work", 5)];
        let (none, load, work) = (format::duration(0.0), format::duration(5.0), format::duration(65.0));
        let expected = format!("Stages: load {load} → check {none} → work {work}");
        assert_eq!(stages_text(&attempt, at(100)), Some(expected));
    }
}
