//! Triggers, the events they hear, and their firings.

mod edit;
mod events;
mod fire;
mod read;
mod rows;

use crate::PostgresStore;
use async_trait::async_trait;
use leasehold_queue::{
    Scope, StoreResult, Triggers,
    triggers::{DueTrigger, Firing, NewAppEvent, Received},
};
use leasehold_types::{FiringView, TenantId, Timestamp, Trigger, TriggerId};

#[async_trait]
impl Triggers for PostgresStore {
    async fn trigger(&self, scope: &Scope, id: TriggerId) -> StoreResult<Option<Trigger>> {
        self.find_trigger(scope, id).await
    }

    async fn triggers(
        &self,
        scope: &Scope,
        after: Option<TriggerId>,
        limit: u32,
    ) -> StoreResult<Vec<Trigger>> {
        self.reached_triggers(scope, after, limit).await
    }

    async fn triggers_on(&self, tenant: TenantId, event_name: &str) -> StoreResult<Vec<Trigger>> {
        self.listening_triggers(tenant, event_name).await
    }

    async fn firings(&self, scope: &Scope, id: TriggerId, limit: u32) -> StoreResult<Vec<FiringView>> {
        self.firings_of(scope, id, limit).await
    }

    async fn due_triggers(&self) -> StoreResult<Vec<Trigger>> {
        self.triggers_due().await
    }

    async fn fire_due(&self, scope: &Scope, due: Vec<DueTrigger>) -> StoreResult<Vec<FiringView>> {
        self.fire_schedules(scope, due).await
    }

    async fn receive_event(
        &self,
        scope: &Scope,
        event: NewAppEvent,
        seen: &[(TriggerId, i64)],
        firings: Vec<Firing>,
    ) -> StoreResult<Received> {
        self.take_event(scope, event, seen, firings).await
    }

    async fn received_event(
        &self,
        tenant: TenantId,
        event_id: &str,
        payload_hash: &str,
    ) -> StoreResult<Option<Received>> {
        self.event_before(tenant, event_id, payload_hash).await
    }

    async fn run_trigger(&self, scope: &Scope, firing: Firing) -> StoreResult<FiringView> {
        self.fire_by_hand(scope, firing).await
    }

    async fn prune_firings(&self, before: Timestamp) -> StoreResult<u64> {
        self.forget_firings(before).await
    }
}
