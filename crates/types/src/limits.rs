//! How much a tenant, or one kind of job, may have waiting and running. Nothing said = no limit.

use serde::{Deserialize, Serialize};

/// Kept on the tenant.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TenantLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_queued: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submits_per_minute: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<i64>,
}

/// Kept on the definition.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DefinitionLimits {
    /// Running at a time, over all tenants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<i64>,
    /// Running at a time in one tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_in_flight_per_tenant: Option<i64>,
    /// For jobs that name a concurrency key (a document, say): how many of one key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_active_per_key: Option<i64>,
    #[serde(skip_serializing_if = "KeyMode::is_default")]
    pub key_mode: KeyMode,
}

/// What happens when a concurrency key is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyMode {
    /// The job waits in the queue until one of its key has ended; only running jobs count.
    #[default]
    Wait,
    /// The enqueue is refused; waiting and running jobs count.
    Reject,
}

impl KeyMode {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
