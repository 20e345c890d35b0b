//! The database itself.

use crate::{params::Wake, store::StoreResult};
use async_trait::async_trait;
use std::time::Duration;
use tokio::sync::broadcast;

#[async_trait]
pub trait Database: Send + Sync + 'static {
    /// Brings the schema up to date.
    async fn migrate(&self) -> StoreResult<()>;
    /// The schema is the one this binary was built for.
    async fn schema_is_current(&self) -> StoreResult<bool>;
    /// One cheap query; also measures how far the database's clock is ahead.
    async fn ping(&self) -> StoreResult<()>;
    /// Asked for every few seconds: a store that has little to do gives back what it needed under load.
    async fn trim_memory(&self) -> StoreResult<()>;
    /// `postgres` or `sqlite`.
    fn engine_name(&self) -> &'static str;
    /// Hears of changes, made by this process or (Postgres) by any other. May lag and may be spurious:
    /// receivers re-query, and poll as well.
    fn wakes(&self) -> broadcast::Receiver<Wake>;
    /// Takes or keeps the named leadership. Two leaders at once must be harmless all the same.
    async fn try_lead(&self, name: &str, holder: &str, for_how_long: Duration) -> StoreResult<bool>;
}
