//! Which waiting units begin, with whom, and when.
//!
//! Permit first, then token: a provider with all its calls under way is not asked for a token, so none is wasted. A
//! unit that asks for nobody in particular goes to the least loaded provider of its kind. A unit nobody here can
//! ever run is given back with the reason; it must not wait for ever.

use super::{ProviderSpec, Turn, UnitError, pace};
use leasehold_types::{ErrorClass, Timestamp, unit::UnitKind};
use std::{cmp::Ordering, time::Duration};

/// How long to wait for a permit: calls of other processes end unheard.
const ASK_FOR_PERMIT: Duration = Duration::from_millis(250);

/// A provider's row, locked, and how many units run there.
#[derive(Clone, PartialEq, Debug)]
pub struct ProviderState {
    pub spec: ProviderSpec,
    pub is_active: bool,
    pub running: i64,
    pub next_free_at: Option<Timestamp>,
    /// Whether it has been given a unit here: then its row is to be written.
    pub used: bool,
}

impl ProviderState {
    fn has_permit(&self) -> bool {
        self.running < i64::from(self.spec.max_concurrency)
    }

    fn load(&self) -> f64 {
        self.running as f64 / f64::from(self.spec.max_concurrency)
    }

    /// When the call begins that has the last token.
    pub fn last_start(&self) -> Option<Timestamp> {
        self.next_free_at.map(|next| next.minus(pace::spacing(self.spec.requests_per_second)))
    }

    /// Takes the next token, whenever that is.
    pub fn take_token(&mut self, now: Timestamp, lead: Duration) -> Timestamp {
        let start_at = pace::next_start(self.next_free_at, now, lead);
        self.next_free_at = Some(start_at.plus(pace::spacing(self.spec.requests_per_second)));
        self.used = true;
        start_at
    }
}

/// What a waiting unit asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wish {
    pub kind: UnitKind,
    /// Empty = anybody.
    pub provider: String,
}

/// The moment of a claim.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    pub now: Timestamp,
    pub lead: Duration,
    /// Whom the worker can call.
    pub callable: &'a [String],
}

#[derive(Clone, PartialEq, Debug)]
pub enum Given {
    Turn(Turn),
    /// Nobody can ever run it here.
    Refused(UnitError),
    /// Not now; it is worth asking again then.
    Wait(Timestamp),
}

/// Gives one unit its turn, if it can have one, and takes the permit and the token from its provider.
pub fn give(wish: &Wish, providers: &mut [ProviderState], moment: &Moment<'_>) -> Given {
    let fits = |p: &ProviderState| {
        p.spec.kind == wish.kind
            && (wish.provider.is_empty() || p.spec.name == wish.provider)
            && moment.callable.contains(&p.spec.name)
    };
    let mut able: Vec<&mut ProviderState> = providers.iter_mut().filter(|p| fits(p)).collect();
    if able.is_empty() {
        return Given::Refused(unknown(wish));
    }
    able.retain(|p| p.is_active);
    if able.is_empty() {
        return Given::Refused(switched_off(wish));
    }
    let start = |p: &ProviderState| pace::next_start(p.next_free_at, moment.now, moment.lead);
    let latest = moment.now.plus(moment.lead).plus(pace::HORIZON);
    let ask_again = |p: &ProviderState| match p.has_permit() {
        true => start(p).minus(moment.lead).minus(pace::HORIZON),
        false => moment.now.plus(ASK_FOR_PERMIT),
    };
    let soonest = able.iter().map(|p| ask_again(p)).min().unwrap_or(moment.now);
    let free = able.into_iter().filter(|p| p.has_permit() && start(p) <= latest);
    let least_loaded = free.min_by(|a, b| {
        let by_load = a.load().partial_cmp(&b.load()).unwrap_or(Ordering::Equal);
        by_load.then_with(|| start(a).cmp(&start(b))).then_with(|| a.spec.name.cmp(&b.spec.name))
    });
    let Some(provider) = least_loaded else { return Given::Wait(soonest) };
    provider.running += 1;
    let start_at = provider.take_token(moment.now, moment.lead);
    let ProviderSpec { name, max_retries, retry_delay, .. } = provider.spec.clone();
    Given::Turn(Turn { provider: name, start_at, max_retries, retry_delay })
}

fn unknown(wish: &Wish) -> UnitError {
    let message = match wish.provider.as_str() {
        "" => format!("This worker knows no provider of type {}.", wish.kind),
        name => format!("This worker knows no provider “{name}” of type {}.", wish.kind),
    };
    UnitError::permanent("unknown_provider", ErrorClass::DependencyUnavailable, message)
}

fn switched_off(wish: &Wish) -> UnitError {
    let message = match wish.provider.as_str() {
        "" => format!("Every provider of type {} is switched off.", wish.kind),
        name => format!("The provider “{name}” is switched off."),
    };
    UnitError::permanent("provider_inactive", ErrorClass::DependencyUnavailable, message)
}

#[cfg(test)]
#[path = "assign_tests.rs"]
mod tests;
