//! The `EventSource` behind [`super`], its reconnects and its rests.

use super::{Connection, Heard};
use crate::islands::{clock, refresh::Ping};
use leptos::{leptos_dom::helpers::TimeoutHandle, prelude::*};
use std::{cell::RefCell, rc::Rc, time::Duration};
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{Event, EventSource, MessageEvent, VisibilityState};

/// After this long without a connection, what is on the page counts as stale.
const STALE_AFTER: Duration = Duration::from_secs(10);
const FIRST_RETRY: u64 = 1_000;
const LONGEST_RETRY: u64 = 30_000;

type Listener = Rc<dyn Fn(&Heard)>;

thread_local! {
    static HUB: RefCell<Option<Hub>> = const { RefCell::new(None) };
    static CONNECTION: ArcRwSignal<Connection> = ArcRwSignal::new(Connection::Off);
}

struct Hub {
    slug: String,
    /// None: from now on.
    after: Option<i64>,
    listeners: Vec<Listener>,
    source: Option<EventSource>,
    retry_in: u64,
    /// Events were missed; the listeners hear of it as soon as the new connection stands.
    missed: bool,
    stale: Option<TimeoutHandle>,
}

pub fn connection() -> ArcRwSignal<Connection> {
    CONNECTION.with(Clone::clone)
}

pub fn listen(slug: &str, cursor: i64, on: impl Fn(&Heard) + 'static) {
    let listener: Listener = Rc::new(on);
    let first = HUB.with_borrow_mut(|hub| {
        let first = hub.is_none();
        let hub = hub.get_or_insert_with(|| Hub {
            slug: slug.to_owned(),
            after: Some(cursor),
            listeners: Vec::new(),
            source: None,
            retry_in: FIRST_RETRY,
            missed: false,
            stale: None,
        });
        hub.listeners.push(listener);
        first
    });
    if first {
        rest_while_hidden();
        connect();
    }
}

fn with_hub<T>(f: impl FnOnce(&mut Hub) -> T) -> Option<T> {
    HUB.with_borrow_mut(|hub| hub.as_mut().map(f))
}

fn is_hidden() -> bool {
    document().visibility_state() == VisibilityState::Hidden
}

fn connect() {
    if is_hidden() {
        return;
    }
    let Some(url) = with_hub(|hub| {
        hub.close();
        hub.after.map_or_else(
            || format!("/t/{}/live", hub.slug),
            |after| format!("/t/{}/live?after={after}", hub.slug),
        )
    }) else {
        return;
    };
    let Ok(source) = EventSource::new(&url) else { return reconnect_later() };
    on(&source, "hello", |_| greeted());
    on(&source, "message", |event| received(&event));
    on(&source, "resync", |_| start_over());
    on(&source, "error", |_| failed());
    with_hub(|hub| hub.source = Some(source));
}

/// The page lives as long as its connection, so its handlers are never given back.
fn on(source: &EventSource, name: &str, handler: impl Fn(Event) + 'static) {
    let handler = Closure::<dyn Fn(Event)>::new(handler).into_js_value();
    // Adding a listener to a source that was just made cannot fail.
    let _ = source.add_event_listener_with_callback(name, handler.unchecked_ref());
}

fn greeted() {
    let missed = with_hub(|hub| {
        hub.retry_in = FIRST_RETRY;
        if let Some(timer) = hub.stale.take() {
            timer.clear();
        }
        std::mem::take(&mut hub.missed)
    });
    connection().set(Connection::Live);
    if missed == Some(true) {
        tell(&Heard::Resync);
    }
}

fn received(event: &Event) {
    let Some(text) = event.dyn_ref::<MessageEvent>().and_then(|m| m.data().as_string()) else { return };
    match serde_json::from_str::<Ping>(&text) {
        Ok(event) => {
            with_hub(|hub| hub.after = hub.after.max(Some(event.id)));
            tell(&Heard::Event(event));
        }
        // A newer server may say things this page does not know; reading the view again is always right.
        Err(_) => tell(&Heard::Resync),
    }
}

/// Connect from now on, then read the views: the other way round would leave a gap in between.
fn start_over() {
    with_hub(|hub| {
        hub.close();
        hub.after = None;
        hub.missed = true;
    });
    connect();
}

fn failed() {
    connection().update(|state| {
        if matches!(state, Connection::Live | Connection::Off) {
            *state = Connection::Reconnecting;
        }
    });
    let closed = with_hub(|hub| {
        if hub.stale.is_none() {
            hub.stale = set_timeout_with_handle(turn_stale, STALE_AFTER).ok();
        }
        hub.source.as_ref().is_none_or(|s| s.ready_state() == EventSource::CLOSED)
    });
    // While it is "connecting" the browser tries again by itself, with the last event's id.
    if closed == Some(true) {
        // The server refused. If that is because the session has ended, reading the page leads to the sign-in page.
        tell(&Heard::Resync);
        reconnect_later();
    }
}

fn turn_stale() {
    let since = clock::now().minus(STALE_AFTER);
    connection().update(|state| {
        if *state == Connection::Reconnecting {
            *state = Connection::StaleSince(since);
        }
    });
}

fn reconnect_later() {
    let wait = with_hub(|hub| {
        let wait = hub.retry_in;
        hub.retry_in = (wait * 2).min(LONGEST_RETRY);
        wait
    });
    // Spread out, so that a restarted server is not met by every page at once.
    let wait = wait.unwrap_or(FIRST_RETRY) as f64 * (0.5 + js_sys::Math::random());
    set_timeout(connect_unless_open, Duration::from_millis(wait as u64));
}

fn connect_unless_open() {
    let open = with_hub(|hub| hub.source.as_ref().is_some_and(|s| s.ready_state() != EventSource::CLOSED));
    if open != Some(true) {
        connect();
    }
}

fn rest_while_hidden() {
    let handler = Closure::<dyn Fn()>::new(|| {
        if is_hidden() {
            with_hub(Hub::close);
        } else {
            connect_unless_open();
        }
    });
    let handler = handler.into_js_value();
    let _ = document().add_event_listener_with_callback("visibilitychange", handler.unchecked_ref());
}

/// The hub is not borrowed meanwhile: a listener may come back to it.
fn tell(heard: &Heard) {
    let listeners = with_hub(|hub| hub.listeners.clone()).unwrap_or_default();
    for listener in listeners {
        listener(heard);
    }
}

impl Hub {
    fn close(&mut self) {
        if let Some(source) = self.source.take() {
            source.close();
        }
    }
}
