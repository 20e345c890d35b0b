//! The rows of the secrets with which links are signed.

use super::tx::Statements;
use crate::{signing::SigningKey, store::StoreResult};
use async_trait::async_trait;

#[async_trait]
pub trait SigningKeyRows: Statements {
    /// The newest first. Nobody else adds one until the transaction ends.
    async fn lock_signing_keys(&mut self) -> Result<Vec<SigningKey>, Self::Error>;
    /// It becomes the newest.
    async fn insert_signing_key(&mut self, key: &SigningKey) -> Result<(), Self::Error>;
    /// Deletes all but so many of the newest.
    async fn keep_signing_keys(&mut self, newest: u32) -> Result<(), Self::Error>;
}

#[async_trait]
pub trait SigningKeyQueries: Send + Sync {
    /// At most two, the newest first.
    async fn signing_keys(&self) -> StoreResult<Vec<SigningKey>>;
}
