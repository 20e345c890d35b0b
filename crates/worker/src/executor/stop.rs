//! How an attempt learns that it must end.

use tokio::sync::watch;

/// Why an attempt must end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    Cancelled,
    TimedOut,
    ShuttingDown,
    /// Someone else may hold the job by now: end at once, whatever it breaks.
    LeaseLost,
}

/// The first reason stands; only a lost lease overrules another.
#[derive(Clone, Debug)]
pub struct StopSignal {
    reason: watch::Sender<Option<Stop>>,
}

impl Default for StopSignal {
    fn default() -> Self {
        Self { reason: watch::channel(None).0 }
    }
}

impl StopSignal {
    pub fn raise(&self, stop: Stop) {
        self.reason.send_if_modified(|reason| {
            let overrules = reason.is_none() || (stop == Stop::LeaseLost && *reason != Some(stop));
            if overrules {
                *reason = Some(stop);
            }
            overrules
        });
    }

    pub fn reason(&self) -> Option<Stop> {
        *self.reason.borrow()
    }

    /// Waits until there is a reason that `wanted` accepts.
    pub async fn wait(&self, wanted: impl Fn(Stop) -> bool) -> Stop {
        let mut changes = self.reason.subscribe();
        let found =
            changes.wait_for(|reason| reason.is_some_and(&wanted)).await.ok().and_then(|reason| *reason);
        match found {
            Some(reason) => reason,
            // `self` holds the sender, so the channel cannot close while anyone waits.
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_to_stop_stands_unless_the_lease_is_lost() {
        let stop = StopSignal::default();
        stop.raise(Stop::Cancelled);
        stop.raise(Stop::TimedOut);
        assert_eq!(stop.reason(), Some(Stop::Cancelled));
        stop.raise(Stop::LeaseLost);
        stop.raise(Stop::ShuttingDown);
        assert_eq!(stop.reason(), Some(Stop::LeaseLost));
    }
}
