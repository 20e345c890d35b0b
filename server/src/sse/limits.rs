//! How many streams may be open: per process and per session.

use leasehold_types::{Problem, ProblemCode};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

const PER_PROCESS: usize = 2_000;
const PER_SESSION: usize = 20;

#[derive(Default)]
pub struct Limits {
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    all: usize,
    by_session: HashMap<String, usize>,
}

impl Limits {
    /// A place for one more stream, until it is dropped.
    pub fn enter(self: &Arc<Self>, session: &str) -> Result<Place, Problem> {
        let mut open = self.open();
        let own = open.by_session.get(session).copied().unwrap_or_default();
        if open.all >= PER_PROCESS || own >= PER_SESSION {
            let detail = "Too many live views are open. This one updates when you reload it.";
            return Err(Problem::new(ProblemCode::QuotaExceeded, detail).retry_after(30));
        }
        open.all += 1;
        open.by_session.insert(session.to_owned(), own + 1);
        Ok(Place { limits: self.clone(), session: session.to_owned() })
    }

    fn leave(&self, session: &str) {
        let mut open = self.open();
        open.all = open.all.saturating_sub(1);
        if let Some(own) = open.by_session.get_mut(session) {
            *own -= 1;
            if *own == 0 {
                open.by_session.remove(session);
            }
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct Place {
    limits: Arc<Limits>,
    session: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.limits.leave(&self.session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_session_cannot_take_all_places_and_gives_them_back() {
        let limits = Arc::new(Limits::default());
        let places: Vec<_> = (0..PER_SESSION).map(|_| limits.enter("a").ok().unwrap()).collect();
        assert_eq!(limits.enter("a").err().unwrap().code, ProblemCode::QuotaExceeded);
        assert!(limits.enter("b").is_ok());
        drop(places);
        assert!(limits.enter("a").is_ok());
        assert!(limits.open().by_session.is_empty());
    }

    #[test]
    fn a_process_has_a_bounded_number_of_places() {
        let limits = Arc::new(Limits::default());
        let places: Vec<_> = (0..PER_PROCESS).map(|i| limits.enter(&i.to_string()).ok().unwrap()).collect();
        assert!(limits.enter("one more").is_err());
        assert_eq!(places.len(), PER_PROCESS);
    }
}
