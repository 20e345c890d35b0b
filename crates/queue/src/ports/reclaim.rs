//! Jobs are taken back from workers that are lost.

use crate::{params::Reclaimed, scope::Scope, store::StoreResult, transition::Rules, upkeep::Place};
use async_trait::async_trait;

#[async_trait]
pub trait ReclaimLeases: Send + Sync + 'static {
    /// Takes back up to `limit` jobs of a place whose lease has run out (ending [`crate::transition::Ending::Lost`]), of
    /// the tenants the scope reaches.
    async fn reclaim_in(
        &self,
        scope: &Scope,
        place: &Place,
        rules: &Rules,
        limit: u32,
    ) -> StoreResult<Vec<Reclaimed>>;

    /// The same, wherever they are.
    async fn reclaim_expired(&self, rules: &Rules, limit: u32) -> StoreResult<Vec<Reclaimed>> {
        self.reclaim_in(&Scope::system("reclaim"), &Place::default(), rules, limit).await
    }
}
