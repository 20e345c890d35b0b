//! Whether a connection is still of use: somebody asks something on it, and reads what is answered.

use super::ConnectionLimits;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Fine,
    /// Nothing was asked for too long.
    Idle,
    /// What was answered is not read.
    Stalled,
}

pub struct Activity(Mutex<State>);

struct State {
    next: u64,
    /// Requests whose answer is not yet handed over completely; since when each waits for the client to read on.
    /// None: it waits for us.
    exchanges: HashMap<u64, Option<Instant>>,
    /// Since when there has been none.
    idle_since: Instant,
    /// Since when the socket has taken nothing.
    blocked_since: Option<Instant>,
    /// When it last began to take something again.
    unblocked: Instant,
}

impl Default for Activity {
    fn default() -> Self {
        let now = Instant::now();
        Self(Mutex::new(State {
            next: 0,
            exchanges: HashMap::new(),
            idle_since: now,
            blocked_since: None,
            unblocked: now,
        }))
    }
}

impl Activity {
    pub fn begin(self: &Arc<Self>) -> Exchange {
        let mut state = self.state();
        let id = state.next;
        state.next += 1;
        state.exchanges.insert(id, None);
        Exchange { id, activity: self.clone() }
    }

    pub fn blocked(&self, now: Instant) {
        self.state().blocked_since.get_or_insert(now);
    }

    pub fn wrote(&self, now: Instant) {
        let mut state = self.state();
        if state.blocked_since.take().is_some() {
            state.unblocked = now;
        }
    }

    /// A proxy that is trusted keeps one connection for many: what one of them does not read is the proxy's affair.
    pub fn verdict(&self, limits: &ConnectionLimits, trusted: bool, now: Instant) -> Verdict {
        let state = self.state();
        let over = |since: Instant, limit: Duration| now.saturating_duration_since(since) >= limit;
        if let Some(since) = state.blocked_since {
            return if over(since, limits.write_timeout) { Verdict::Stalled } else { Verdict::Fine };
        }
        if state.exchanges.is_empty() {
            let idle = over(state.idle_since.max(state.unblocked), limits.idle_timeout);
            return if idle { Verdict::Idle } else { Verdict::Fine };
        }
        let unread = |since: &Option<Instant>| {
            since.is_some_and(|since| over(since.max(state.unblocked), limits.write_timeout))
        };
        let stalled = !trusted && state.exchanges.values().any(unread);
        if stalled { Verdict::Stalled } else { Verdict::Fine }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request and its answer, until both are dealt with.
pub struct Exchange {
    id: u64,
    activity: Arc<Activity>,
}

impl Exchange {
    /// A piece was handed over, and the next waits for the client.
    pub fn waits_for_client(&self) {
        self.activity.state().exchanges.insert(self.id, Some(Instant::now()));
    }

    pub fn waits_for_us(&self) {
        self.activity.state().exchanges.insert(self.id, None);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let mut state = self.activity.state();
        state.exchanges.remove(&self.id);
        state.idle_since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ConnectionLimits = ConnectionLimits {
        per_address: 0,
        write_timeout: Duration::from_secs(30),
        idle_timeout: Duration::from_secs(20),
    };

    /// So many seconds from now.
    fn then(seconds: u64) -> Instant {
        Instant::now() + Duration::from_secs(seconds)
    }

    fn at(activity: &Activity, seconds: u64) -> Verdict {
        activity.verdict(&LIMITS, false, then(seconds))
    }

    #[test]
    fn a_connection_without_a_request_becomes_idle() {
        let activity = Arc::new(Activity::default());
        assert_eq!((at(&activity, 10), at(&activity, 21)), (Verdict::Fine, Verdict::Idle));
        let exchange = activity.begin();
        assert_eq!(at(&activity, 3_600), Verdict::Fine, "we are still at it");
        drop(exchange);
        assert_eq!((at(&activity, 10), at(&activity, 21)), (Verdict::Fine, Verdict::Idle));
    }

    #[test]
    fn an_answer_that_is_not_read_stalls_unless_a_proxy_has_it() {
        let activity = Arc::new(Activity::default());
        let exchange = activity.begin();
        exchange.waits_for_client();
        assert_eq!((at(&activity, 20), at(&activity, 31)), (Verdict::Fine, Verdict::Stalled));
        assert_eq!(activity.verdict(&LIMITS, true, then(31)), Verdict::Fine);
        exchange.waits_for_us();
        assert_eq!(at(&activity, 3_600), Verdict::Fine, "a live stream may be silent");
    }

    #[test]
    fn a_socket_that_takes_nothing_stalls_and_one_that_takes_a_little_does_not() {
        let activity = Arc::new(Activity::default());
        activity.blocked(then(0));
        activity.blocked(then(25));
        assert_eq!((at(&activity, 25), at(&activity, 31)), (Verdict::Fine, Verdict::Stalled));
        activity.wrote(then(25));
        activity.blocked(then(25));
        assert_eq!(at(&activity, 50), Verdict::Fine, "not idle either: there is something to be read");
        assert_eq!(at(&activity, 56), Verdict::Stalled);
        assert_eq!(activity.verdict(&LIMITS, true, then(56)), Verdict::Stalled);
        activity.wrote(then(56));
        assert_eq!((at(&activity, 70), at(&activity, 77)), (Verdict::Fine, Verdict::Idle));
    }
}
