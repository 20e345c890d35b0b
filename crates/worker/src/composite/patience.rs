//! A database that is away for a moment must not cost a job its attempt: the lease says how long to wait, and whoever
//! loses it is stopped from outside.

use crate::executor::failure;
use leasehold_queue::{StoreError, StoreResult, transition::Failure};
use leasehold_types::ErrorClass;
use std::time::Duration;
use tokio::time::sleep;

const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Asks until the store answers. All verbs of units may be repeated.
pub async fn ask<T, F: Future<Output = StoreResult<T>>>(verb: impl Fn() -> F) -> Result<T, Failure> {
    let mut wait = Duration::from_millis(50);
    loop {
        match verb().await {
            Ok(answer) => return Ok(answer),
            Err(error @ StoreError::Database { transient: true, .. }) => {
                tracing::warn!(%error, "work units cannot be written yet");
            }
            Err(error) => {
                tracing::error!(%error, "work units were refused");
                let message = "Its work units could not be written. The worker's log has the details.";
                return Err(failure("units_refused", ErrorClass::InternalBug, message));
            }
        }
        sleep(wait).await;
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}
