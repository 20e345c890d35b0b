//! The rows of definitions: the policy of each kind of job.

use super::tx::Statements;
use crate::{administration::DefinitionChange, store::StoreResult};
use async_trait::async_trait;
use leasehold_types::{DefinitionId, view::Definition};

#[async_trait]
pub trait DefinitionRows: Statements {
    /// False when its key, or its domain and job type, are taken.
    async fn insert_definition(&mut self, definition: &Definition) -> Result<bool, Self::Error>;
    async fn has_definition(&mut self, id: DefinitionId) -> Result<bool, Self::Error>;
    async fn definition_by_key(&mut self, key: &str) -> Result<Option<Definition>, Self::Error>;
    /// As it is now; none when there is none.
    async fn update_definition(
        &mut self,
        id: DefinitionId,
        change: &DefinitionChange,
    ) -> Result<Option<Definition>, Self::Error>;
}

#[async_trait]
pub trait DefinitionQueries: Send + Sync {
    /// By key.
    async fn definitions(&self) -> StoreResult<Vec<Definition>>;
    async fn definition(&self, id: DefinitionId) -> StoreResult<Option<Definition>>;
}
