//! Triggers, their firings, and the application events that came in.

use super::tx::Statements;
use crate::{
    scope::Scope,
    store::StoreResult,
    triggers::{DueTrigger, Firing, NewAppEvent, NewTrigger, Received, TriggerEdit},
};
use async_trait::async_trait;
use leasehold_types::{FiringView, TenantId, Timestamp, Trigger, TriggerId, TriggerRule, UserId};
use serde_json::{Value, json};

/// A rule as its columns.
#[derive(Clone, PartialEq, Debug)]
pub struct RuleColumns {
    pub event_name: Option<String>,
    pub event_filter: Value,
    pub cron_expr: Option<String>,
    pub timezone: Option<String>,
    pub catch_up: &'static str,
}

impl From<&TriggerRule> for RuleColumns {
    fn from(rule: &TriggerRule) -> Self {
        match rule.clone() {
            TriggerRule::Event { event_name, filter } => Self {
                event_name: Some(event_name),
                event_filter: filter,
                cron_expr: None,
                timezone: None,
                catch_up: "once",
            },
            TriggerRule::Schedule { cron_expr, timezone, catch_up } => Self {
                event_name: None,
                event_filter: json!({}),
                cron_expr: Some(cron_expr),
                timezone: Some(timezone),
                catch_up: catch_up.as_str(),
            },
        }
    }
}

#[async_trait]
pub trait TriggerRows: Statements {
    async fn insert_trigger(
        &mut self,
        id: TriggerId,
        new: &NewTrigger,
        by: Option<UserId>,
    ) -> Result<(), Self::Error>;
    /// False when its revision is another, or there is none in the edit's tenant.
    async fn update_trigger(&mut self, id: TriggerId, edit: &TriggerEdit) -> Result<bool, Self::Error>;
    /// Whose it was; only of this tenant, if one is given.
    async fn delete_trigger(
        &mut self,
        id: TriggerId,
        tenant: Option<TenantId>,
    ) -> Result<Option<TenantId>, Self::Error>;
    async fn trigger(&mut self, scope: &Scope, id: TriggerId) -> Result<Option<Trigger>, Self::Error>;
}

#[async_trait]
pub trait Triggers: Send + Sync + 'static {
    async fn trigger(&self, scope: &Scope, id: TriggerId) -> StoreResult<Option<Trigger>>;
    /// Oldest first, after this one.
    async fn triggers(
        &self,
        scope: &Scope,
        after: Option<TriggerId>,
        limit: u32,
    ) -> StoreResult<Vec<Trigger>>;
    /// The triggers of a tenant that wait for this event, switched off or not, oldest first.
    async fn triggers_on(&self, tenant: TenantId, event_name: &str) -> StoreResult<Vec<Trigger>>;
    /// Newest first, of a trigger the scope reaches, also of a deleted one.
    async fn firings(&self, scope: &Scope, id: TriggerId, limit: u32) -> StoreResult<Vec<FiringView>>;

    /// Schedules whose time has come, longest due first, some thousand at most. When there is none, this is one
    /// look into an index.
    async fn due_triggers(&self) -> StoreResult<Vec<Trigger>>;
    /// Writes the firings with their jobs and moves the triggers on, in one transaction. Triggers that were changed,
    /// moved on by somebody else, or are being fired right now are left out, and so is a time that has fired before.
    async fn fire_due(&self, scope: &Scope, due: Vec<DueTrigger>) -> StoreResult<Vec<FiringView>>;
    /// Keeps the event, its firings and their jobs in one transaction. `seen` are the triggers (with their revisions)
    /// by which the firings were decided. The same `event_id` with another content is `IDEMPOTENCY_CONFLICT`.
    async fn receive_event(
        &self,
        scope: &Scope,
        event: NewAppEvent,
        seen: &[(TriggerId, i64)],
        firings: Vec<Firing>,
    ) -> StoreResult<Received>;
    /// What came of an event of this tenant that has come before.
    async fn received_event(
        &self,
        tenant: TenantId,
        event_id: &str,
        payload_hash: &str,
    ) -> StoreResult<Option<Received>>;
    /// A firing asked for by somebody. Audited.
    async fn run_trigger(&self, scope: &Scope, firing: Firing) -> StoreResult<FiringView>;
    /// Forgets firings and events from before this moment, a bounded number at a time; how many.
    async fn prune_firings(&self, before: Timestamp) -> StoreResult<u64>;
}
