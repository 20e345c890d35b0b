//! Why a queued job does not run yet: every cause, the decisive one first.

use crate::{
    components::{
        format,
        icon::{self, Icon},
        time::Ago,
    },
    jobs::timeline::why_it_waits,
};
use leasehold_types::{
    JobStatus, Timestamp,
    view::{Diagnosis, JobDetail},
};
use leptos::prelude::*;

/// One reason, and the moment it ends by itself, if it does.
#[derive(Clone, PartialEq, Debug)]
struct Reason {
    text: String,
    until: Option<Timestamp>,
}

/// A wait for a moment names no distance: the page shows one that ticks.
fn reasons(job: &JobDetail, diagnosis: &Diagnosis) -> Vec<Reason> {
    if diagnosis.status != JobStatus::Queued {
        return Vec::new();
    }
    if diagnosis.causes.is_empty() {
        return vec![Reason { text: diagnosis.summary.clone(), until: None }];
    }
    let reason = |cause: &leasehold_types::view::Cause| {
        let until = job.row.available_at.filter(|at| *at > job.now);
        let of_time = matches!(cause.code.as_str(), "scheduled" | "retry_wait" | "snoozed");
        match why_it_waits(job, job.now).filter(|_| of_time && until.is_some()) {
            Some(text) => Reason { text, until },
            None => Reason { text: cause.text.clone(), until: None },
        }
    };
    diagnosis.causes.iter().map(reason).collect()
}

#[component]
pub fn Waiting(job: RwSignal<JobDetail>, diagnosis: Option<Diagnosis>) -> impl IntoView {
    let (reasons, now) = job.with_untracked(|job| {
        (diagnosis.map(|diagnosis| reasons(job, &diagnosis)).unwrap_or_default(), job.now)
    });
    let line = |(place, Reason { text, until }): (usize, Reason)| {
        let moment = until.map(|at| view! { ": " <Ago at now /> ", at " {format::utc(at)} "." });
        let beginning = if place == 0 { "Why it waits: " } else { "Also: " };
        view! {
            <p class="hint-line" data-testid="waits">
                <Icon d=icon::CLOCK />
                <span>{beginning} {text} {moment}</span>
            </p>
        }
    };
    reasons.into_iter().enumerate().map(line).collect_view()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::timeline::tests::{at, job};
    use leasehold_types::view::Cause;

    fn diagnosis(status: JobStatus, causes: &[(&str, &str)]) -> Diagnosis {
        let cause = |(code, text): &(&str, &str)| Cause { code: (*code).into(), text: (*text).into() };
        Diagnosis { status, summary: "It is next.".into(), causes: causes.iter().map(cause).collect() }
    }

    fn texts(job: &JobDetail, diagnosis: &Diagnosis) -> Vec<String> {
        reasons(job, diagnosis).into_iter().map(|reason| reason.text).collect()
    }

    #[test]
    fn every_cause_is_listed_and_a_moment_ticks() {
        let mut job = job(JobStatus::Queued);
        job.row.available_at = Some(at(90));
        let causes = [("scheduled", "In 30 s."), ("limit_reached", "This tenant runs 5 of 5.")];
        let found = reasons(&job, &diagnosis(JobStatus::Queued, &causes));
        assert_eq!(found[0], Reason { text: "Scheduled for later".into(), until: Some(at(90)) });
        assert_eq!(found[1], Reason { text: "This tenant runs 5 of 5.".into(), until: None });
    }

    #[test]
    fn a_job_with_nothing_in_its_way_says_so_and_others_say_nothing() {
        assert_eq!(texts(&job(JobStatus::Queued), &diagnosis(JobStatus::Queued, &[])), ["It is next."]);
        assert!(texts(&job(JobStatus::Completed), &diagnosis(JobStatus::Completed, &[])).is_empty());
    }
}
