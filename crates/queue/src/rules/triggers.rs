//! Triggers: a tenant's rules that create jobs, on an event of its application or on a schedule.
//!
//! What fires, when, and with which payload is decided by pure functions ([`schedule`], [`catch_up`], [`filter`],
//! [`template`]). The store keeps the rules and the firings: a firing, its job and the trigger's next time due are
//! one transaction, and no trigger fires twice for the same time or the same event.

pub mod catch_up;
pub mod cron;
pub mod filter;
pub mod schedule;
pub mod settle;
pub mod template;

use crate::{params::NewJob, reports, secrets::Redactor};
use leasehold_types::{
    AppEvent, DefinitionId, FiringOutcome, FiringView, Problem, ProblemCode, TenantId, Timestamp, TriggerId,
    TriggerRule,
};
use serde_json::Value;
use uuid::Uuid;

/// Firings and events are kept for so many days; a dedupe window is shorter.
pub const DAYS_KEPT: i64 = 30;
/// Characters of a refusal that are kept.
const LONGEST_DETAIL: usize = 1_000;

/// What a person decides about a trigger.
#[derive(Clone, PartialEq, Debug)]
pub struct NewTrigger {
    pub tenant_id: TenantId,
    pub label: String,
    pub is_enabled: bool,
    pub rule: TriggerRule,
    pub definition_id: DefinitionId,
    pub payload_template: Value,
    pub dedupe_window_seconds: i32,
    /// None for what is not due by itself.
    pub next_due_at: Option<Timestamp>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct TriggerEdit {
    /// What the editor saw: a trigger that has changed since is left alone.
    pub revision: i64,
    pub new: NewTrigger,
    /// The next time due is replaced; else it stays, whatever has fired meanwhile.
    pub reschedule: bool,
}

pub fn no_such_trigger() -> Problem {
    Problem::not_found("This trigger")
}

/// A firing that is ready to be written.
#[derive(Clone, PartialEq, Debug)]
pub struct Firing {
    pub trigger_id: TriggerId,
    pub tenant_id: TenantId,
    pub label: String,
    pub due_at: Option<Timestamp>,
    pub verdict: Verdict,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    Enqueue { job: Box<NewJob>, window: Option<Window> },
    Not { outcome: FiringOutcome, code: Option<String>, detail: Option<String> },
}

/// The same payload by the same trigger within this many seconds makes no second job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Window {
    pub payload_hash: String,
    pub seconds: i32,
}

impl Verdict {
    pub fn not(outcome: FiringOutcome, detail: impl Into<String>) -> Self {
        Self::Not { outcome, code: None, detail: Some(detail.into()) }
    }

    /// The redactor knows the secrets of what the payload was made from.
    pub fn refused(problem: &Problem, redactor: &Redactor) -> Self {
        let code = Some(problem.code.as_str().to_owned());
        Self::Not { outcome: FiringOutcome::Refused, code, detail: Some(in_words(problem, redactor)) }
    }
}

/// A problem as one text, with what it says about fields, and without the secrets of what it is about: a schema's
/// complaints quote what they are about.
pub fn in_words(problem: &Problem, redactor: &Redactor) -> String {
    let mut text = problem.detail.clone();
    for error in problem.errors.iter().filter(|error| !problem.detail.contains(&error.message)) {
        text.push_str(&format!(" {}: {}", error.field, error.message));
    }
    reports::said(redactor, &text, LONGEST_DETAIL)
}

/// The same id with another content.
pub fn event_id_used() -> Problem {
    let detail = "This event_id was used before for another event. Nothing was changed; use a new one.";
    Problem::new(ProblemCode::IdempotencyConflict, detail)
}

/// A schedule that is due, and what is to become of it.
#[derive(Clone, PartialEq, Debug)]
pub struct DueTrigger {
    pub id: TriggerId,
    /// What this was decided by: a trigger that has changed or moved on since is left alone.
    pub revision: i64,
    pub was_due_at: Timestamp,
    pub next_due_at: Option<Timestamp>,
    pub firings: Vec<Firing>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct NewAppEvent {
    pub id: Uuid,
    pub tenant_id: TenantId,
    pub event_id: String,
    pub name: String,
    pub payload: Value,
    pub payload_hash: String,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Received {
    /// The event and its firings are kept now.
    Kept(AppEvent, Vec<FiringView>),
    /// It had come before; this is what came of it then.
    Replayed(AppEvent, Vec<FiringView>),
    /// A trigger was changed meanwhile: nothing was written, decide again.
    Overtaken,
}
