//! The part of the storage seam that watches over rights already in use: an open stream outlives the request that was
//! let in. Asked for all streams of a process at once, so that a thousand of them cost two queries.

use crate::store::StoreResult;
use async_trait::async_trait;
use leasehold_types::{KeyId, Role, TenantId, UserId};

/// Who a session belongs to, and what they are in one tenant, as it is now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionRight {
    pub user_id: UserId,
    pub super_admin: bool,
    pub role: Option<Role>,
}

#[async_trait]
pub trait Rights: Send + Sync + 'static {
    /// One answer per session (by the hash of its id) and tenant; none when the session has ended.
    async fn session_rights(&self, asked: &[(String, TenantId)]) -> StoreResult<Vec<Option<SessionRight>>>;
    /// Those of the keys that still open the door: neither revoked nor expired.
    async fn live_keys(&self, keys: &[KeyId]) -> StoreResult<Vec<KeyId>>;
}
