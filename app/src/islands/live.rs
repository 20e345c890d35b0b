//! The page's one live connection, shared by its islands.
//!
//! Invariant: listeners hear every event of the tenant in order, or [`Heard::Resync`] when they must read their
//! view again. The connection rests while the tab is hidden and catches up from its cursor when shown.

use super::refresh::Ping;
use leasehold_types::Timestamp;
#[cfg(not(feature = "hydrate"))]
use leptos::prelude::ArcRwSignal;

#[derive(Clone, PartialEq, Debug)]
pub enum Heard {
    Event(Ping),
    /// Events were missed: read the view again.
    Resync,
}

/// What the live light shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Connection {
    /// No script yet, or nothing live on this page.
    #[default]
    Off,
    Live,
    Reconnecting,
    StaleSince(Timestamp),
}

/// Listens to the tenant's events after `cursor`; on the server nothing happens.
#[cfg(not(feature = "hydrate"))]
pub fn listen(_slug: &str, _cursor: i64, _on: impl Fn(&Heard) + 'static) {}

#[cfg(not(feature = "hydrate"))]
pub fn connection() -> ArcRwSignal<Connection> {
    ArcRwSignal::new(Connection::Off)
}

#[cfg(feature = "hydrate")]
pub use browser::{connection, listen};

#[cfg(feature = "hydrate")]
mod browser;

/// Asks for something again, soon and never twice at once: events that come close together are one request,
/// events during a request are one more after it.
#[cfg(feature = "hydrate")]
pub mod again {
    use leptos::{prelude::*, task::spawn_local};
    use std::{cell::Cell, rc::Rc, time::Duration};

    const SOON: Duration = Duration::from_millis(150);

    #[derive(Clone, Copy, PartialEq)]
    enum State {
        Idle,
        Planned,
        Asking { once_more: bool },
    }

    #[derive(Clone)]
    pub struct Again {
        state: Rc<Cell<State>>,
        ask: Rc<dyn Fn() -> std::pin::Pin<Box<dyn Future<Output = ()>>>>,
        pause: Duration,
    }

    impl Again {
        /// `pause` is the least time between two requests, for views that are dear to read.
        pub fn new<F: Future<Output = ()> + 'static>(pause: Duration, ask: impl Fn() -> F + 'static) -> Self {
            let ask = Rc::new(move || Box::pin(ask()) as std::pin::Pin<Box<dyn Future<Output = ()>>>);
            Self { state: Rc::new(Cell::new(State::Idle)), ask, pause }
        }

        pub fn soon(&self) {
            match self.state.get() {
                State::Idle => self.plan(SOON),
                State::Asking { .. } => self.state.set(State::Asking { once_more: true }),
                State::Planned => {}
            }
        }

        fn plan(&self, wait: Duration) {
            self.state.set(State::Planned);
            let this = self.clone();
            set_timeout(move || this.ask_now(), wait);
        }

        fn ask_now(self) {
            self.state.set(State::Asking { once_more: false });
            spawn_local(async move {
                (self.ask)().await;
                let once_more = self.state.get() == State::Asking { once_more: true };
                self.state.set(State::Idle);
                if once_more {
                    self.plan(self.pause);
                }
            });
        }
    }
}
