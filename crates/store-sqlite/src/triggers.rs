//! Triggers, the events they hear, and their firings.

mod edit;
mod events;
mod fire;
mod read;
mod rows;

use crate::SqliteStore;
use async_trait::async_trait;
use leasehold_queue::{
    Scope, StoreResult, Triggers,
    triggers::{DueTrigger, Firing, NewAppEvent, Received},
};
use leasehold_types::{FiringView, TenantId, Timestamp, Trigger, TriggerId};

#[async_trait]
impl Triggers for SqliteStore {
    async fn trigger(&self, scope: &Scope, id: TriggerId) -> StoreResult<Option<Trigger>> {
        Ok(read::one(&self.read, scope, id).await?)
    }
    async fn triggers(
        &self,
        scope: &Scope,
        after: Option<TriggerId>,
        limit: u32,
    ) -> StoreResult<Vec<Trigger>> {
        Ok(read::list(self, scope, after, limit).await?)
    }
    async fn triggers_on(&self, tenant: TenantId, event_name: &str) -> StoreResult<Vec<Trigger>> {
        Ok(read::listening(self, tenant, event_name).await?)
    }
    async fn firings(&self, scope: &Scope, id: TriggerId, limit: u32) -> StoreResult<Vec<FiringView>> {
        Ok(read::firings(self, scope, id, limit).await?)
    }
    async fn due_triggers(&self) -> StoreResult<Vec<Trigger>> {
        Ok(read::due(self).await?)
    }
    async fn fire_due(&self, scope: &Scope, due: Vec<DueTrigger>) -> StoreResult<Vec<FiringView>> {
        Ok(fire::due(self, scope, due).await?)
    }
    async fn receive_event(
        &self,
        scope: &Scope,
        event: NewAppEvent,
        seen: &[(TriggerId, i64)],
        firings: Vec<Firing>,
    ) -> StoreResult<Received> {
        Ok(events::receive(self, scope, event, seen, firings).await?)
    }
    async fn received_event(
        &self,
        tenant: TenantId,
        event_id: &str,
        payload_hash: &str,
    ) -> StoreResult<Option<Received>> {
        let mut connection = self.read.acquire().await.map_err(crate::error::Error::from)?;
        Ok(events::before(&mut connection, tenant, event_id, payload_hash).await?)
    }
    async fn run_trigger(&self, scope: &Scope, firing: Firing) -> StoreResult<FiringView> {
        Ok(fire::by_hand(self, scope, firing).await?)
    }
    async fn prune_firings(&self, before: Timestamp) -> StoreResult<u64> {
        Ok(fire::forget(self, before).await?)
    }
}
