//! The gate every claim of a process passes. A process that ends shuts it first, for good.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Copies share one gate; a default one is open and its own.
#[derive(Clone, Debug, Default)]
pub struct ClaimGate(Arc<AtomicBool>);

impl ClaimGate {
    pub fn shut(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub fn is_shut(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

impl PartialEq for ClaimGate {
    fn eq(&self, other: &Self) -> bool {
        self.is_shut() == other.is_shut()
    }
}
