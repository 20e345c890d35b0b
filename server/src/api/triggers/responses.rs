//! What is told about triggers, their firings and events.

use crate::api::schemas::{Anything, CatchUpWord, FiringWord, Moment, TriggerWord};
use leasehold_queue::{engine::EventAnswer, triggers::schedule::Upcoming};
use leasehold_types::{
    CatchUp, FiringOutcome, FiringView, Timestamp, Trigger, TriggerId, TriggerKind, TriggerRule,
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

/// A rule that creates jobs, on events or on a schedule.
#[derive(Serialize, ToSchema)]
#[schema(as = Trigger)]
pub struct TriggerView {
    id: Uuid,
    tenant_id: Uuid,
    label: String,
    is_enabled: bool,
    #[schema(value_type = TriggerWord)]
    trigger_type: TriggerKind,
    event_name: Option<String>,
    #[schema(value_type = Option<Anything>)]
    filter: Option<Value>,
    cron_expr: Option<String>,
    timezone: Option<String>,
    #[schema(value_type = Option<CatchUpWord>)]
    catch_up: Option<CatchUp>,
    definition_key: String,
    /// Secrets are masked.
    #[schema(value_type = Anything)]
    payload_template: Value,
    dedupe_window_seconds: i32,
    #[schema(value_type = Option<Moment>)]
    next_due_at: Option<Timestamp>,
    /// The newest time due that made a job.
    #[schema(value_type = Option<Moment>)]
    last_fired_for: Option<Timestamp>,
    #[schema(value_type = Option<Moment>)]
    last_fired_at: Option<Timestamp>,
    /// Why the newest firing made no job; null once one did.
    last_error: Option<String>,
    #[schema(value_type = Moment)]
    created_at: Timestamp,
    #[schema(value_type = Moment)]
    updated_at: Timestamp,
}

impl From<Trigger> for TriggerView {
    fn from(trigger: Trigger) -> Self {
        let trigger_type = trigger.rule.kind();
        let (mut event_name, mut filter) = (None, None);
        let (mut cron_expr, mut timezone, mut catch_up) = (None, None, None);
        match trigger.rule {
            TriggerRule::Event { event_name: name, filter: conditions } => {
                (event_name, filter) = (Some(name), Some(conditions));
            }
            TriggerRule::Schedule { cron_expr: cron, timezone: zone, catch_up: policy } => {
                (cron_expr, timezone, catch_up) = (Some(cron), Some(zone), Some(policy));
            }
        }
        Self {
            id: trigger.id.0,
            tenant_id: trigger.tenant_id.0,
            label: trigger.label,
            is_enabled: trigger.is_enabled,
            trigger_type,
            event_name,
            filter,
            cron_expr,
            timezone,
            catch_up,
            definition_key: trigger.definition_key,
            payload_template: trigger.payload_template,
            dedupe_window_seconds: trigger.dedupe_window_seconds,
            next_due_at: trigger.next_due_at,
            last_fired_for: trigger.last_fired_for,
            last_fired_at: trigger.last_fired_at,
            last_error: trigger.last_error,
            created_at: trigger.created_at,
            updated_at: trigger.updated_at,
        }
    }
}

/// One page of triggers.
#[derive(Serialize, ToSchema)]
#[schema(as = Triggers)]
pub struct TriggerList {
    triggers: Vec<TriggerView>,
    /// There are more after this one.
    next_after: Option<Uuid>,
}

impl TriggerList {
    pub fn new(triggers: Vec<Trigger>, limit: u32) -> Self {
        let full = triggers.len() >= limit as usize;
        let last = triggers.last().map(|trigger| trigger.id);
        let next_after = last.filter(|_| full).map(|TriggerId(id)| id);
        Self { triggers: triggers.into_iter().map(Into::into).collect(), next_after }
    }
}

/// A trigger and its newest firings.
#[derive(Serialize, ToSchema)]
pub struct TriggerDetail {
    #[serde(flatten)]
    trigger: TriggerView,
    /// Newest first, fifty at most.
    firings: Vec<FiredView>,
}

impl TriggerDetail {
    pub fn new(trigger: Trigger, firings: Vec<FiringView>) -> Self {
        Self { trigger: trigger.into(), firings: firings.into_iter().map(Into::into).collect() }
    }
}

/// What came of one firing.
#[derive(Serialize, ToSchema)]
#[schema(as = Firing)]
pub struct FiredView {
    trigger_id: Uuid,
    label: String,
    #[schema(value_type = FiringWord)]
    outcome: FiringOutcome,
    /// The stable code of a refusal.
    code: Option<String>,
    /// Why no job was made.
    detail: Option<String>,
    /// The job that was made, or the one that made another unnecessary.
    job: Option<JobName>,
    /// Of a schedule.
    #[schema(value_type = Option<Moment>)]
    due_at: Option<Timestamp>,
    #[schema(value_type = Moment)]
    fired_at: Timestamp,
}

/// A job, by number and id.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = JobRef)]
pub struct JobName {
    number: i64,
    id: Uuid,
}

impl From<FiringView> for FiredView {
    fn from(firing: FiringView) -> Self {
        let job = firing.job_number.zip(firing.job_id).map(|(number, id)| JobName { number, id: id.0 });
        Self {
            trigger_id: firing.trigger_id.0,
            label: firing.label,
            outcome: firing.outcome,
            code: firing.code,
            detail: firing.detail,
            job,
            due_at: firing.due_at,
            fired_at: firing.fired_at,
        }
    }
}

/// What came of an event.
#[derive(Serialize, ToSchema)]
#[schema(as = ReceivedEvent)]
pub struct EventView {
    id: Uuid,
    event_id: String,
    name: String,
    #[schema(value_type = Moment)]
    received_at: Timestamp,
    /// It had come before; this is what came of it then.
    replayed: bool,
    /// The jobs it set off.
    jobs: Vec<JobName>,
    /// One for each trigger that waits for this event, with the reason when it made no job.
    triggers: Vec<FiredView>,
}

impl From<EventAnswer> for EventView {
    fn from(answer: EventAnswer) -> Self {
        let triggers: Vec<FiredView> = answer.firings.into_iter().map(Into::into).collect();
        let made = triggers.iter().filter(|fired| fired.outcome == FiringOutcome::Enqueued);
        Self {
            id: answer.event.id,
            event_id: answer.event.event_id,
            name: answer.event.name,
            received_at: answer.event.received_at,
            replayed: answer.replayed,
            jobs: made.filter_map(|fired| fired.job.clone()).collect(),
            triggers,
        }
    }
}

/// The next times a schedule is due.
#[derive(Serialize, ToSchema)]
#[schema(as = SchedulePreview)]
pub struct Preview {
    timezone: String,
    firings: Vec<PreviewLine>,
}

/// One time a schedule is due.
#[derive(Serialize, ToSchema)]
#[schema(as = ScheduleTime)]
struct PreviewLine {
    #[schema(value_type = Moment)]
    due_at: Timestamp,
    /// On the schedule's own clock.
    #[schema(example = "2026-03-08T03:00:00-04:00")]
    local: String,
    /// What a change of the clock does to it.
    note: Option<String>,
}

impl Preview {
    pub fn new(timezone: String, lines: Vec<Upcoming>) -> Self {
        let line = |line: Upcoming| PreviewLine { due_at: line.due_at, local: line.local, note: line.note };
        Self { timezone, firings: lines.into_iter().map(line).collect() }
    }
}
