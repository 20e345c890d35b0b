//! A state as an icon, a word and a colour; never by colour alone.

use super::icon::{self, Icon};
use leasehold_types::{AttemptOutcome, JobStatus, Timestamp, UnitState, view::JobRow};
use leptos::prelude::*;

/// What a state looks like; finer than [`JobStatus`], because people want to tell a retry from a first wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tone {
    Queued,
    Scheduled,
    Retrying,
    Running,
    Cancelling,
    Completed,
    Failed,
    DeadLetter,
    Quarantined,
    Cancelled,
    Warning,
}

impl Tone {
    pub fn of(row: &JobRow, now: Timestamp) -> Self {
        let waits = row.available_at.is_some_and(|at| at > now);
        Self::of_job(row.status, row.attempts_used > 0, waits, row.cancel_requested_at.is_some())
    }

    /// By what is known of a job: whether it was tried before, waits for a time, was asked to stop.
    pub const fn of_job(status: JobStatus, tried: bool, waits: bool, asked_to_stop: bool) -> Self {
        match status {
            JobStatus::Queued if tried => Self::Retrying,
            JobStatus::Queued if waits => Self::Scheduled,
            JobStatus::Processing if asked_to_stop => Self::Cancelling,
            status => Self::of_status(status),
        }
    }

    pub const fn of_status(status: JobStatus) -> Self {
        match status {
            JobStatus::Queued => Self::Queued,
            JobStatus::Processing => Self::Running,
            JobStatus::Completed => Self::Completed,
            JobStatus::Failed => Self::Failed,
            JobStatus::Cancelled => Self::Cancelled,
            JobStatus::DeadLetter => Self::DeadLetter,
            JobStatus::Quarantined => Self::Quarantined,
        }
    }

    pub const fn of_outcome(outcome: AttemptOutcome) -> Self {
        match outcome {
            AttemptOutcome::Running => Self::Running,
            AttemptOutcome::Succeeded => Self::Completed,
            AttemptOutcome::Failed | AttemptOutcome::Timeout => Self::Failed,
            AttemptOutcome::Cancelled => Self::Cancelled,
            AttemptOutcome::Lost => Self::Retrying,
            AttemptOutcome::Released => Self::Queued,
        }
    }

    pub const fn of_unit(state: UnitState) -> Self {
        match state {
            UnitState::Queued => Self::Queued,
            UnitState::Running => Self::Running,
            UnitState::Succeeded => Self::Completed,
            UnitState::Failed => Self::Failed,
            UnitState::Dropped => Self::Cancelled,
        }
    }

    pub const fn label(self) -> &'static str {
        match self {
            Self::Queued => "Queued",
            Self::Scheduled => "Scheduled",
            Self::Retrying => "Retrying",
            Self::Running => "Running",
            Self::Cancelling => "Cancelling",
            Self::Completed => "Completed",
            Self::Failed => "Failed",
            Self::DeadLetter => "Dead letter",
            Self::Quarantined => "Quarantined",
            Self::Cancelled => "Cancelled",
            Self::Warning => "Warning",
        }
    }

    /// The suffix of its CSS classes.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Scheduled => "scheduled",
            Self::Retrying | Self::Cancelling | Self::Warning => "retrying",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::DeadLetter => "dead",
            Self::Quarantined => "quarantined",
            Self::Cancelled => "cancelled",
        }
    }

    const fn icon(self) -> &'static str {
        match self {
            Self::Queued => icon::QUEUED,
            Self::Scheduled => icon::CLOCK,
            Self::Retrying => icon::RETRY,
            Self::Running => icon::RUNNING,
            Self::Completed => icon::DONE,
            Self::Failed => icon::CROSS,
            Self::DeadLetter => icon::DEAD,
            Self::Quarantined => icon::SHIELD,
            Self::Cancelled | Self::Cancelling => icon::BAN,
            Self::Warning => icon::ALERT,
        }
    }
}

#[component]
pub fn Badge(
    tone: Tone,
    /// Instead of the tone's own word.
    #[prop(optional, into)]
    label: Option<String>,
) -> impl IntoView {
    let word = label.unwrap_or_else(|| tone.label().to_owned());
    view! {
        <span class=format!("badge tone-{}", tone.class())>
            <Icon d=tone.icon() />
            {word}
        </span>
    }
}
