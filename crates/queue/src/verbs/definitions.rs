//! Definitions, as the configuration brings them and as people change them.

use super::{Failed, audit};
use crate::{
    administration::DefinitionChange,
    audit::NewAuditEntry,
    params::{NewDefinition, Wake},
    ports::{
        definitions::DefinitionRows,
        tx::{Transactions, Tx},
    },
    rules::definitions::{key_taken, kind_taken, no_such_definition},
    scope::Scope,
    store::{StoreError, StoreResult},
};
use async_trait::async_trait;
use leasehold_types::{DefinitionId, DefinitionLimits, view::Definition};
use uuid::Uuid;

#[async_trait]
pub trait Definitions: Send + Sync {
    /// Creates the definition, or returns the one that already has this key, unchanged: a person may have edited it.
    /// `ALREADY_EXISTS` when another one has its domain and job type.
    async fn ensure_definition(&self, definition: NewDefinition) -> StoreResult<Definition>;
    /// `ALREADY_EXISTS` when the key, or the domain and job type, are taken. Audited.
    async fn create_definition(
        &self,
        scope: &Scope,
        definition: NewDefinition,
        active: bool,
    ) -> StoreResult<Definition>;
    /// `NOT_FOUND`. Audited. Jobs that exist already keep the attempts they were given.
    async fn update_definition(
        &self,
        scope: &Scope,
        id: DefinitionId,
        change: DefinitionChange,
    ) -> StoreResult<Definition>;
    /// Replaces all limits of a kind of job. `NOT_FOUND`. Audited.
    async fn set_definition_limits(
        &self,
        scope: &Scope,
        id: DefinitionId,
        limits: DefinitionLimits,
    ) -> StoreResult<()>;
}

#[async_trait]
impl<S: Transactions> Definitions for S
where
    StoreError: From<Failed<S>>,
{
    async fn ensure_definition(&self, new: NewDefinition) -> StoreResult<Definition> {
        let mut tx = self.transaction().await?;
        let wanted = definition(new, true);
        let kept = match tx.definition_by_key(&wanted.key).await? {
            Some(known) => known,
            None if tx.insert_definition(&wanted).await? => wanted,
            // Somebody else may have made it meanwhile.
            None => tx.definition_by_key(&wanted.key).await?.ok_or_else(kind_taken)?,
        };
        tx.commit().await?;
        Ok(kept)
    }

    async fn create_definition(
        &self,
        scope: &Scope,
        new: NewDefinition,
        active: bool,
    ) -> StoreResult<Definition> {
        let mut tx = self.transaction().await?;
        let made = definition(new, active);
        if !tx.insert_definition(&made).await? {
            let same_key = tx.definition_by_key(&made.key).await?.is_some();
            return Err(if same_key { key_taken() } else { kind_taken() }.into());
        }
        audit(&mut tx, scope, &[entry(scope, "definition.create", &made)]).await?;
        tx.commit().await?;
        Ok(made)
    }

    async fn update_definition(
        &self,
        scope: &Scope,
        id: DefinitionId,
        change: DefinitionChange,
    ) -> StoreResult<Definition> {
        let mut tx = self.transaction().await?;
        let changed = update(&mut tx, id, &change).await?;
        let entry = entry(scope, "definition.update", &changed).because(change.names());
        audit(&mut tx, scope, &[entry]).await?;
        tx.commit().await?;
        Ok(changed)
    }

    async fn set_definition_limits(
        &self,
        scope: &Scope,
        id: DefinitionId,
        limits: DefinitionLimits,
    ) -> StoreResult<()> {
        let mut tx = self.transaction().await?;
        let change = DefinitionChange { limits: Some(limits), ..DefinitionChange::default() };
        let changed = update(&mut tx, id, &change).await?;
        audit(&mut tx, scope, &[entry(scope, "definition.limit", &changed)]).await?;
        tx.commit().await
    }
}

fn definition(new: NewDefinition, is_active: bool) -> Definition {
    Definition {
        id: DefinitionId(Uuid::now_v7()),
        key: new.key,
        description: new.description,
        domain: new.domain,
        job_type: new.job_type,
        queue: new.queue,
        executor: new.executor,
        arg_schema: new.arg_schema,
        timeout_seconds: new.timeout_seconds,
        max_attempts: new.max_attempts,
        retry: new.retry,
        stages: new.stages,
        limits: new.limits,
        is_active,
    }
}

async fn update<T: Tx>(tx: &mut T, id: DefinitionId, change: &DefinitionChange) -> StoreResult<Definition>
where
    StoreError: From<T::Error>,
{
    let changed = tx.update_definition(id, change).await?.ok_or_else(no_such_definition)?;
    // Jobs that waited for it, or for room, may be ready.
    tx.wake(Wake::Jobs);
    Ok(changed)
}

fn entry(scope: &Scope, action: &'static str, definition: &Definition) -> NewAuditEntry {
    NewAuditEntry::new(scope.tenant(), action, "definition", &definition.key)
}
