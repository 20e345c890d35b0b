//! Triggers: a tenant's rules that create jobs, and what became of each firing.

use crate::{
    DefinitionId, JobId, TenantId, Timestamp, TriggerId, UserId,
    state::{UnknownWord, words},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use std::{fmt, str::FromStr};
use uuid::Uuid;

words! {
    /// What a trigger waits for.
    TriggerKind { Event = "event", Schedule = "schedule" }
}

words! {
    /// What is done about firings that were due while nobody looked.
    CatchUp {
        /// None of them.
        Skip = "skip",
        /// The newest stands for all.
        Once = "once",
        /// Each of them, the newest hundred at most.
        All = "all",
    }
}

words! {
    /// What came of a firing.
    FiringOutcome {
        Enqueued = "enqueued",
        /// The same payload was enqueued by this trigger a moment ago.
        Deduplicated = "deduplicated",
        Disabled = "disabled",
        /// The event does not pass the trigger's filter.
        Filtered = "filtered",
        /// The payload could not be made, or the job was not let in.
        Refused = "refused",
        /// Due while nobody looked, and dropped by the catch-up policy.
        Missed = "missed",
    }
}

/// What a trigger waits for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "trigger_type", rename_all = "snake_case")]
pub enum TriggerRule {
    Event {
        event_name: String,
        /// Conditions on the event's payload, by path; all must hold.
        filter: Value,
    },
    Schedule {
        cron_expr: String,
        timezone: String,
        catch_up: CatchUp,
    },
}

impl TriggerRule {
    pub const fn kind(&self) -> TriggerKind {
        match self {
            Self::Event { .. } => TriggerKind::Event,
            Self::Schedule { .. } => TriggerKind::Schedule,
        }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Trigger {
    pub id: TriggerId,
    pub tenant_id: TenantId,
    pub label: String,
    pub is_enabled: bool,
    pub rule: TriggerRule,
    pub definition_id: DefinitionId,
    pub definition_key: String,
    pub payload_template: Value,
    pub dedupe_window_seconds: i32,
    /// Grows with every change a person makes.
    pub revision: i64,
    /// None when it is no schedule, switched off, or will never be due again.
    pub next_due_at: Option<Timestamp>,
    /// The newest due time that made a job.
    pub last_fired_for: Option<Timestamp>,
    pub last_fired_at: Option<Timestamp>,
    /// Why the newest firing made no job; none once one did.
    pub last_error: Option<String>,
    pub created_by: Option<UserId>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// One firing of a trigger, whatever came of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FiringView {
    pub trigger_id: TriggerId,
    pub label: String,
    pub due_at: Option<Timestamp>,
    pub outcome: FiringOutcome,
    /// The stable code of a refusal.
    pub code: Option<String>,
    pub detail: Option<String>,
    /// The job that was made, or the one that made another unnecessary.
    pub job_number: Option<i64>,
    pub job_id: Option<JobId>,
    pub fired_at: Timestamp,
}

/// Something that happened in a tenant's application, as it was kept.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AppEvent {
    pub id: Uuid,
    pub tenant_id: TenantId,
    /// The sender's own name for it: the same again is the same event.
    pub event_id: String,
    pub name: String,
    pub received_at: Timestamp,
}
