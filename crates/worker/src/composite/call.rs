//! One call: wait for its moment, begin exactly then, hear the answer.

use super::patience;
use crate::providers::Provider;
use leasehold_queue::{
    Engine,
    params::Lease,
    units::{ClaimedUnit, Turn, UnitError, UnitOutcome, pace},
};
use leasehold_types::{ErrorClass, Timestamp};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{sync::mpsc, time::sleep};
use uuid::Uuid;

/// How long this process takes from the store's decision to the call, as experience says. Tokens are asked for that
/// far ahead; too little and they are missed, too much and nothing is lost but a moment.
pub struct Lead(AtomicU64);

const SHORTEST: u64 = 5_000;
const LONGEST: u64 = 400_000;

impl Default for Lead {
    fn default() -> Self {
        Self(AtomicU64::new(SHORTEST))
    }
}

impl Lead {
    pub fn get(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }

    fn was_enough(&self) {
        let now = self.0.load(Ordering::Relaxed);
        self.0.store((now - now / 16).max(SHORTEST), Ordering::Relaxed);
    }

    fn was_too_short(&self, by: Duration) {
        let now = self.0.load(Ordering::Relaxed);
        let late = u64::try_from(by.as_micros()).unwrap_or(LONGEST);
        self.0.store((now + late).min(LONGEST), Ordering::Relaxed);
    }
}

/// What a call tells while it is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sign {
    Begins,
    Hears(usize),
}

pub struct Call {
    pub engine: Arc<Engine>,
    pub lead: Arc<Lead>,
    /// Of the job.
    pub lease: Lease,
    pub provider: Option<Arc<dyn Provider>>,
    pub signs: mpsc::UnboundedSender<Sign>,
}

/// A call that has come to its end.
pub struct Ended {
    pub claimed: ClaimedUnit,
    pub outcome: UnitOutcome,
}

impl Call {
    pub async fn run(self, claimed: ClaimedUnit, turn: Turn) -> Ended {
        let outcome = match &self.provider {
            Some(provider) => self.ask(provider.as_ref(), &claimed, &turn).await,
            None => Err(vanished(&turn.provider)),
        };
        Ended { claimed, outcome }
    }

    async fn ask(&self, provider: &dyn Provider, claimed: &ClaimedUnit, turn: &Turn) -> UnitOutcome {
        self.wait_for_turn(claimed.unit.id, turn.start_at).await?;
        // Nobody listening is fine: the job has ended then.
        let _ = self.signs.send(Sign::Begins);
        let signs = self.signs.clone();
        let heard = move |characters| {
            let _ = signs.send(Sign::Hears(characters));
        };
        provider.call(&claimed.unit.request, &heard).await
    }

    /// A token that was missed is lost: to begin late would put two calls where one may be.
    async fn wait_for_turn(&self, unit: Uuid, mut start_at: Timestamp) -> Result<(), UnitError> {
        loop {
            sleep(until(start_at, self.engine.now())).await;
            let now = self.engine.now();
            if pace::in_time(start_at, now) {
                self.lead.was_enough();
                return Ok(());
            }
            self.lead.was_too_short(until(now, start_at));
            let lead = self.lead.get();
            let again = patience::ask(|| self.engine.delay_unit(&self.lease, unit, lead)).await;
            start_at = again.ok().flatten().ok_or_else(no_longer_ours)?;
        }
    }
}

/// From `from` until `to`; nothing when that has passed.
fn until(to: Timestamp, from: Timestamp) -> Duration {
    Duration::from_micros(u64::try_from(to.micros() - from.micros()).unwrap_or(0))
}

fn vanished(name: &str) -> UnitError {
    let message = format!("This worker knows no provider “{name}”.");
    UnitError::permanent("unknown_provider", ErrorClass::DependencyUnavailable, message)
}

fn no_longer_ours() -> UnitError {
    UnitError::passing("unit_lost", ErrorClass::WorkerLost, "The unit is no longer this worker's.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lead_grows_by_what_was_missing_and_shrinks_slowly() {
        let lead = Lead::default();
        lead.was_too_short(Duration::from_millis(80));
        assert_eq!(lead.get(), Duration::from_millis(85));
        lead.was_enough();
        assert!(lead.get() < Duration::from_millis(85) && lead.get() > Duration::from_millis(75));
        lead.was_too_short(Duration::from_secs(60));
        assert_eq!(lead.get(), Duration::from_micros(LONGEST));
        (0..1_000).for_each(|_| lead.was_enough());
        assert_eq!(lead.get(), Duration::from_micros(SHORTEST));
    }
}
