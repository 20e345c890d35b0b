//! The settings an installation keeps for itself.

use super::tx::Statements;
use crate::store::StoreResult;
use async_trait::async_trait;
use leasehold_types::Timestamp;

/// A setting of this installation, with its expiry.
pub type Setting = (String, Option<Timestamp>);

#[async_trait]
pub trait SettingRows: Statements {
    /// Removes it; none when there is none.
    async fn take_setting(&mut self, key: &str) -> Result<Option<Setting>, Self::Error>;
}

/// What is one statement and decides nothing.
#[async_trait]
pub trait SettingQueries: Send + Sync {
    async fn put_setting(&self, key: &str, value: &str, expires_at: Option<Timestamp>) -> StoreResult<()>;
    /// The setting of this key; the value becomes it, for ever, when there is none yet. All callers get the same.
    async fn ensure_setting(&self, key: &str, value: &str) -> StoreResult<String>;
    /// Expired settings are returned as well: the caller may want to say "expired".
    async fn setting(&self, key: &str) -> StoreResult<Option<Setting>>;
}
