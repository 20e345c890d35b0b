//! Triggers, as people make, change and delete them.

use super::{Failed, audit};
use crate::{
    audit::NewAuditEntry,
    ports::{
        definitions::DefinitionRows,
        tenants::TenantRows,
        triggers::TriggerRows,
        tx::{Transactions, Tx},
    },
    rules::{definitions::no_such_definition, tenants::no_such_tenant},
    scope::{Actor, Scope},
    store::{StoreError, StoreResult},
    triggers::{NewTrigger, TriggerEdit, no_such_trigger},
};
use async_trait::async_trait;
use leasehold_types::{TenantId, Trigger, TriggerId};
use uuid::Uuid;

#[async_trait]
pub trait TriggerChanges: Send + Sync {
    /// `NOT_FOUND` for a tenant outside the scope and for an unknown definition. Audited.
    async fn create_trigger(&self, scope: &Scope, new: NewTrigger) -> StoreResult<Trigger>;
    /// None when it has changed since it was read. `NOT_FOUND`. Audited.
    async fn update_trigger(
        &self,
        scope: &Scope,
        id: TriggerId,
        edit: TriggerEdit,
    ) -> StoreResult<Option<Trigger>>;
    /// It fires no more and is listed no more; its firings stay. `NOT_FOUND`. Audited.
    async fn delete_trigger(&self, scope: &Scope, id: TriggerId) -> StoreResult<()>;
}

#[async_trait]
impl<S: Transactions> TriggerChanges for S
where
    StoreError: From<Failed<S>>,
{
    async fn create_trigger(&self, scope: &Scope, new: NewTrigger) -> StoreResult<Trigger> {
        let mut tx = self.transaction().await?;
        if !scope.reaches(new.tenant_id) || !tx.lock_tenant(new.tenant_id).await? {
            return Err(no_such_tenant().into());
        }
        if !tx.has_definition(new.definition_id).await? {
            return Err(no_such_definition().into());
        }
        let by = match &scope.actor {
            Actor::User { id, .. } => Some(*id),
            Actor::Key { .. } | Actor::Terminal(_) | Actor::System(_) => None,
        };
        let id = TriggerId(Uuid::now_v7());
        tx.insert_trigger(id, &new, by).await?;
        let made = tx.trigger(scope, id).await?.ok_or_else(no_such_trigger)?;
        audit(&mut tx, scope, &[entry(new.tenant_id, "trigger.create", id)]).await?;
        tx.commit().await?;
        Ok(made)
    }

    async fn update_trigger(
        &self,
        scope: &Scope,
        id: TriggerId,
        edit: TriggerEdit,
    ) -> StoreResult<Option<Trigger>> {
        let mut tx = self.transaction().await?;
        tx.trigger(scope, id).await?.ok_or_else(no_such_trigger)?;
        if !tx.has_definition(edit.new.definition_id).await? {
            return Err(no_such_definition().into());
        }
        if !tx.update_trigger(id, &edit).await? {
            return Ok(None);
        }
        let changed = tx.trigger(scope, id).await?;
        audit(&mut tx, scope, &[entry(edit.new.tenant_id, "trigger.update", id)]).await?;
        tx.commit().await?;
        Ok(changed)
    }

    async fn delete_trigger(&self, scope: &Scope, id: TriggerId) -> StoreResult<()> {
        let mut tx = self.transaction().await?;
        let tenant = tx.delete_trigger(id, scope.tenant()).await?.ok_or_else(no_such_trigger)?;
        audit(&mut tx, scope, &[entry(tenant, "trigger.delete", id)]).await?;
        tx.commit().await
    }
}

fn entry(tenant: TenantId, action: &'static str, id: TriggerId) -> NewAuditEntry {
    NewAuditEntry::new(Some(tenant), action, "trigger", id)
}
