//! How a long step tells how far it is, and hears that it should stop.

use std::ops::ControlFlow;

use crate::error::DeckError;

/// `done` of `total`, in units of the step (bytes read, slides drawn, files packed).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub done: usize,
    pub total: usize,
}

/// Called at safe places of a step; `Break` ends it with [`DeckError::Cancelled`].
pub type Watch<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

pub(crate) fn tell(watch: Watch<'_>, done: usize, total: usize) -> Result<(), DeckError> {
    match watch(Progress { done, total }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(DeckError::Cancelled),
    }
}

/// A watcher for callers that neither count nor stop.
pub fn unwatched(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
