//! How much a tenant, or one kind of job, may have waiting and running. Nothing said = no limit.

use crate::Problem;
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

impl TenantLimits {
    /// Every number that is given must be at least 1.
    pub fn check(&self) -> Result<(), Problem> {
        check(&[
            ("max_queued", self.max_queued),
            ("submits_per_minute", self.submits_per_minute),
            ("max_in_flight", self.max_in_flight),
        ])
    }
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

impl DefinitionLimits {
    /// Every number that is given must be at least 1.
    pub fn check(&self) -> Result<(), Problem> {
        check(&[
            ("max_in_flight", self.max_in_flight),
            ("max_in_flight_per_tenant", self.max_in_flight_per_tenant),
            ("max_active_per_key", self.max_active_per_key),
        ])
    }
}

/// A limit of nothing would look like a switch; there is one (an inactive definition, a paused queue).
fn check(numbers: &[(&str, Option<i64>)]) -> Result<(), Problem> {
    match numbers.iter().find(|(_, number)| number.is_some_and(|n| n < 1)) {
        None => Ok(()),
        Some((field, number)) => {
            let message = format!(
                "It must be at least 1, not {}; leave it out for no limit. Nothing was changed.",
                number.unwrap_or_default()
            );
            Err(Problem::invalid(*field, message))
        }
    }
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
