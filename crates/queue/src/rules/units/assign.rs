//! Which waiting units begin, with whom, and when.
//!
//! Permit first, then token: a provider with all its calls under way is not asked for a token, so none is wasted. A
//! unit that asks for nobody in particular goes to the least loaded provider of its kind. A unit nobody can ever run is
//! given back with the reason; it must not wait for ever. One that only other workers can run says so: then its job goes
//! back to the queue, for one of them.
//!
//! Jobs take turns. Whoever has just finished a call asks again at once, and would always be first: so a job that
//! asked in vain is noted with the provider, and until it has had its chance to ask again the others stand back.

use super::{ProviderSpec, Turn, UnitError, pace};
use leasehold_types::{ErrorClass, Timestamp, unit::UnitKind};
use std::{cmp::Ordering, time::Duration};

/// How long to wait for a permit: calls of other processes end unheard.
const ASK_FOR_PERMIT: Duration = Duration::from_millis(250);
/// How much later than it said a job may ask again without losing its turn.
const LATE_BY: Duration = Duration::from_millis(150);
/// So many are noted; who comes after them is not forgotten, only not noted.
const MOST_WAITING: usize = 64;

/// The code of a refusal that another worker would not give.
pub const ELSEWHERE: &str = "provider_elsewhere";

/// A provider's row, locked, and how many units run there.
#[derive(Clone, PartialEq, Debug)]
pub struct ProviderState {
    pub spec: ProviderSpec,
    pub is_active: bool,
    pub running: i64,
    pub next_free_at: Option<Timestamp>,
    /// Jobs that asked in vain, first come first, and until when the others stand back for each.
    pub waiting: Vec<(i64, Timestamp)>,
    /// Whether its row is to be written.
    pub changed: bool,
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
        self.changed = true;
        start_at
    }

    /// Until when it is another job's turn; none when it is not.
    fn left_to_another(&self, moment: &Moment<'_>) -> Option<Timestamp> {
        let first = self.waiting.iter().find(|(_, until)| moment.now < *until);
        first.filter(|(job, _)| *job != moment.job).map(|(_, until)| *until)
    }

    /// Gives the job its place among those that wait, or leaves it the one it has.
    fn note_waiting(&mut self, moment: &Moment<'_>, asks_again_at: Timestamp) {
        let until = asks_again_at.plus(LATE_BY);
        self.waiting.retain(|(job, until)| *job == moment.job || moment.now < *until);
        let full = self.waiting.len() >= MOST_WAITING;
        match self.waiting.iter_mut().find(|(job, _)| *job == moment.job) {
            Some(place) => place.1 = until,
            None if full => return,
            None => self.waiting.push((moment.job, until)),
        }
        self.changed = true;
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
    /// The number of the job that asks.
    pub job: i64,
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
    let wanted = |p: &ProviderState| {
        p.spec.kind == wish.kind && (wish.provider.is_empty() || p.spec.name == wish.provider)
    };
    let known = providers.iter().any(|p| p.is_active && wanted(p));
    let fits = |p: &ProviderState| wanted(p) && moment.callable.contains(&p.spec.name);
    let mut able: Vec<&mut ProviderState> = providers.iter_mut().filter(|p| fits(p)).collect();
    if able.is_empty() {
        return Given::Refused(if known { elsewhere(wish) } else { unknown(wish) });
    }
    able.retain(|p| p.is_active);
    if able.is_empty() {
        return Given::Refused(switched_off(wish));
    }
    let start = |p: &ProviderState| pace::next_start(p.next_free_at, moment.now, moment.lead);
    let latest = moment.now.plus(moment.lead).plus(pace::HORIZON);
    let ask_again = |p: &ProviderState| match (p.left_to_another(moment), p.has_permit()) {
        (Some(until), _) => until,
        (None, true) => start(p).minus(moment.lead).minus(pace::HORIZON),
        (None, false) => moment.now.plus(ASK_FOR_PERMIT),
    };
    let is_free =
        |p: &ProviderState| p.has_permit() && start(p) <= latest && p.left_to_another(moment).is_none();
    let by_load = |a: &ProviderState, b: &ProviderState| {
        let by_load = a.load().partial_cmp(&b.load()).unwrap_or(Ordering::Equal);
        by_load.then_with(|| start(a).cmp(&start(b))).then_with(|| a.spec.name.cmp(&b.spec.name))
    };
    let least_loaded = able.iter_mut().filter(|p| is_free(p)).min_by(|a, b| by_load(a, b));
    let Some(provider) = least_loaded else {
        let Some(soonest) = able.into_iter().min_by_key(|p| ask_again(p)) else {
            return Given::Refused(unknown(wish));
        };
        let at = ask_again(soonest);
        soonest.note_waiting(moment, at);
        return Given::Wait(at);
    };
    provider.running += 1;
    provider.waiting.retain(|(job, _)| *job != moment.job);
    let start_at = provider.take_token(moment.now, moment.lead);
    let ProviderSpec { name, max_retries, retry_delay, .. } = provider.spec.clone();
    Given::Turn(Turn { provider: name, start_at, max_retries, retry_delay })
}

/// The unit itself is sound: its job belongs to a worker that knows the provider.
fn elsewhere(wish: &Wish) -> UnitError {
    let message = match wish.provider.as_str() {
        "" => format!("Providers of type {} are known to other workers, not to this one.", wish.kind),
        name => format!("The provider “{name}” is known to another worker, not to this one."),
    };
    UnitError::passing(ELSEWHERE, ErrorClass::DependencyUnavailable, message)
}

fn unknown(wish: &Wish) -> UnitError {
    let message = match wish.provider.as_str() {
        "" => format!("No worker knows a provider of type {}.", wish.kind),
        name => format!("No worker knows a provider “{name}” of type {}.", wish.kind),
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
