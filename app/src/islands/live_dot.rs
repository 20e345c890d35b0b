//! The light that says whether the page is live. Without script it is not there: the page is then as of now.

use super::live::{Connection, connection};
use crate::components::time::At;
use leptos::prelude::*;

#[island]
pub fn LiveDot() -> impl IntoView {
    view! { <LiveLight /> }
}

/// For islands that hold their own heading.
#[component]
pub fn LiveLight() -> impl IntoView {
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
                Connection::Off => ().into_any(),
                Connection::Live => "Live".into_any(),
                Connection::Reconnecting => "Reconnecting…".into_any(),
                Connection::StaleSince(at) => view! { "Stale since " <At at /> }.into_any(),
            }}
        </span>
    }
}
