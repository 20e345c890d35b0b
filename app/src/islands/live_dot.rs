//! The light that says whether the page is live. Without script it is not there: the page is then as of now.

use super::live::{Connection, connection};
use leptos::prelude::*;

#[island]
pub fn LiveDot() -> impl IntoView {
    let state = connection();
    let (for_class, for_text) = (state.clone(), state);
    let class = move || match for_class.get() {
        Connection::Off => "live live-off",
        Connection::Live => "live live-on",
        Connection::Reconnecting => "live live-wait",
        Connection::StaleSince(_) => "live live-stale",
    };
    view! {
        <span class=class role="status">
            {move || match for_text.get() {
                Connection::Off => String::new(),
                Connection::Live => "Live".to_owned(),
                Connection::Reconnecting => "Reconnecting…".to_owned(),
                Connection::StaleSince(at) => format!("Stale since {}", super::clock::here_at(at)),
            }}
        </span>
    }
}
