//! How many streams may be open: per process, per tenant, and per session or key.

use leasehold_types::{Problem, ProblemCode, TenantId};
use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The most streams that may be open.
#[derive(Clone, Copy, Debug)]
pub struct StreamLimits {
    pub per_process: usize,
    pub per_tenant: usize,
    pub per_session: usize,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self { per_process: 2_000, per_tenant: 1_000, per_session: 20 }
    }
}

#[derive(Default)]
pub struct Limits {
    most: StreamLimits,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    all: usize,
    by_tenant: HashMap<TenantId, usize>,
    by_holder: HashMap<Holder, usize>,
}

/// Whose places are counted together.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Holder {
    Session(String),
    Key(String),
}

impl Limits {
    pub fn new(most: StreamLimits) -> Self {
        Self { most, open: Mutex::default() }
    }

    /// A place for one more stream, until it is dropped. A session is one person's; a key may be a whole fleet's and
    /// has as many places as a tenant. Who reaches every tenant counts for none.
    pub fn enter(self: &Arc<Self>, holder: &Holder, tenant: Option<TenantId>) -> Result<Place, Problem> {
        let mut open = self.open();
        let own = open.by_holder.get(holder).copied().unwrap_or_default();
        let theirs = tenant.and_then(|id| open.by_tenant.get(&id).copied()).unwrap_or_default();
        let StreamLimits { per_process, per_tenant, per_session } = self.most;
        let most_own = match holder {
            Holder::Session(_) => per_session,
            Holder::Key(_) => per_tenant,
        };
        if open.all >= per_process || theirs >= per_tenant || own >= most_own {
            let detail = "Too many live streams are open. Close one, or read again later.";
            return Err(Problem::new(ProblemCode::QuotaExceeded, detail).retry_after(30));
        }
        open.all += 1;
        open.by_holder.insert(holder.clone(), own + 1);
        if let Some(id) = tenant {
            open.by_tenant.insert(id, theirs + 1);
        }
        Ok(Place { limits: self.clone(), holder: holder.clone(), tenant })
    }

    fn leave(&self, place: &Place) {
        let mut open = self.open();
        open.all = open.all.saturating_sub(1);
        one_less(&mut open.by_holder, &place.holder);
        if let Some(tenant) = &place.tenant {
            one_less(&mut open.by_tenant, tenant);
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn one_less<K: Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

pub struct Place {
    limits: Arc<Limits>,
    holder: Holder,
    tenant: Option<TenantId>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.limits.leave(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    const MOST: StreamLimits = StreamLimits { per_process: 30, per_tenant: 10, per_session: 3 };

    fn session(name: impl ToString) -> Holder {
        Holder::Session(name.to_string())
    }

    fn refused(limits: &Arc<Limits>, holder: &Holder, tenant: Option<TenantId>) -> bool {
        limits.enter(holder, tenant).is_err_and(|problem| problem.code == ProblemCode::QuotaExceeded)
    }

    #[test]
    fn one_session_cannot_take_all_places_and_gives_them_back() {
        let limits = Arc::new(Limits::new(MOST));
        let places: Vec<_> = (0..3).map(|_| limits.enter(&session("a"), None).ok().unwrap()).collect();
        assert!(refused(&limits, &session("a"), None));
        assert!(limits.enter(&session("b"), None).is_ok());
        drop(places);
        assert!(limits.enter(&session("a"), None).is_ok());
        assert!(limits.open().by_holder.is_empty());
    }

    #[test]
    fn one_tenant_cannot_take_all_places_and_gives_them_back() {
        let limits = Arc::new(Limits::new(MOST));
        let (a, b) = (Some(TenantId(Uuid::from_u128(1))), Some(TenantId(Uuid::from_u128(2))));
        let fleet = Holder::Key("fleet".into());
        let places: Vec<_> = (0..10).map(|_| limits.enter(&fleet, a).ok().unwrap()).collect();
        assert!(refused(&limits, &session("more"), a));
        assert!(limits.enter(&session("more"), b).is_ok());
        drop(places);
        assert!(limits.enter(&session("more"), a).is_ok());
        assert!(limits.open().by_tenant.is_empty());
    }

    #[test]
    fn a_process_has_a_bounded_number_of_places() {
        let limits = Arc::new(Limits::new(MOST));
        let places: Vec<_> = (0..30).map(|i| limits.enter(&session(i), None).ok().unwrap()).collect();
        assert!(refused(&limits, &session("one more"), None));
        assert_eq!(places.len(), 30);
    }
}
