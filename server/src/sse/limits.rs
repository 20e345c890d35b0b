//! How many streams may be open: per process, per tenant, and per session or key.

use leasehold_types::{Problem, ProblemCode, TenantId};
use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

const PER_PROCESS: usize = 2_000;
const PER_TENANT: usize = 1_000;
const PER_HOLDER: usize = 20;

#[derive(Default)]
pub struct Limits {
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    all: usize,
    by_tenant: HashMap<TenantId, usize>,
    by_holder: HashMap<String, usize>,
}

impl Limits {
    /// A place for one more stream, until it is dropped. A holder is a session or a key; one that reaches every
    /// tenant counts for none.
    pub fn enter(self: &Arc<Self>, holder: &str, tenant: Option<TenantId>) -> Result<Place, Problem> {
        let mut open = self.open();
        let own = open.by_holder.get(holder).copied().unwrap_or_default();
        let theirs = tenant.and_then(|id| open.by_tenant.get(&id).copied()).unwrap_or_default();
        if open.all >= PER_PROCESS || theirs >= PER_TENANT || own >= PER_HOLDER {
            let detail = "Too many live streams are open. Close one, or read again later.";
            return Err(Problem::new(ProblemCode::QuotaExceeded, detail).retry_after(30));
        }
        open.all += 1;
        open.by_holder.insert(holder.to_owned(), own + 1);
        if let Some(id) = tenant {
            open.by_tenant.insert(id, theirs + 1);
        }
        Ok(Place { limits: self.clone(), holder: holder.to_owned(), tenant })
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
    holder: String,
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

    #[test]
    fn one_session_cannot_take_all_places_and_gives_them_back() {
        let limits = Arc::new(Limits::default());
        let places: Vec<_> = (0..PER_HOLDER).map(|_| limits.enter("a", None).ok().unwrap()).collect();
        assert_eq!(limits.enter("a", None).err().unwrap().code, ProblemCode::QuotaExceeded);
        assert!(limits.enter("b", None).is_ok());
        drop(places);
        assert!(limits.enter("a", None).is_ok());
        assert!(limits.open().by_holder.is_empty());
    }

    #[test]
    fn one_tenant_cannot_take_all_places_and_gives_them_back() {
        let limits = Arc::new(Limits::default());
        let (a, b) = (Some(TenantId(Uuid::from_u128(1))), Some(TenantId(Uuid::from_u128(2))));
        let places: Vec<_> = (0..PER_TENANT).map(|i| limits.enter(&i.to_string(), a).ok().unwrap()).collect();
        assert_eq!(limits.enter("more", a).err().unwrap().code, ProblemCode::QuotaExceeded);
        assert!(limits.enter("more", b).is_ok());
        drop(places);
        assert!(limits.enter("more", a).is_ok());
        assert!(limits.open().by_tenant.is_empty());
    }

    #[test]
    fn a_process_has_a_bounded_number_of_places() {
        let limits = Arc::new(Limits::default());
        let places: Vec<_> =
            (0..PER_PROCESS).map(|i| limits.enter(&i.to_string(), None).ok().unwrap()).collect();
        assert!(limits.enter("one more", None).is_err());
        assert_eq!(places.len(), PER_PROCESS);
    }
}
