//! The rows of providers, as people set them up. What a call takes of them is in [`super::units`].

use super::tx::Statements;
use crate::{store::StoreResult, units::ProviderSpec};
use async_trait::async_trait;
use leasehold_types::unit::ProviderView;

#[async_trait]
pub trait ProviderRows: Statements {
    /// Inserts, or takes over the settings; whether it is switched on, and its rate limit's state, stay as they are.
    async fn put_provider(&mut self, spec: &ProviderSpec) -> Result<(), Self::Error>;
    /// False when there is none.
    async fn set_provider_active(&mut self, name: &str, active: bool) -> Result<bool, Self::Error>;
}

#[async_trait]
pub trait ProviderQueries: Send + Sync {
    /// By name.
    async fn providers(&self) -> StoreResult<Vec<ProviderView>>;
}
