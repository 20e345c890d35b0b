//! Moments. The server writes UTC; the clock island turns what is on the page into the viewer's zone and keeps
//! relative times ticking (see `islands::clock`), so that no text here needs a signal of its own.

use super::format;
use leasehold_types::Timestamp;
use leptos::prelude::*;

/// The whole moment, with its zone: the tenant's own, where the page is a tenant's, and UTC.
fn whole(at: Timestamp) -> String {
    let utc = format::utc(at);
    #[cfg(feature = "ssr")]
    if let Some(local) = crate::ssr::on_the_tenants_clock(at) {
        return format!("{local} ({utc})");
    }
    utc
}

/// `3 min ago`, the full moment on hover.
#[component]
pub fn Ago(at: Timestamp, now: Timestamp) -> impl IntoView {
    view! {
        <time datetime=format::iso(at) title=whole(at) data-tick="ago">
            {format::relative(at, now)}
        </time>
    }
}

/// `10:31:04`
#[component]
pub fn At(at: Timestamp) -> impl IntoView {
    view! {
        <time datetime=format::iso(at) title=whole(at) data-tick="clock">
            {format::wall_clock(at, 0)}
        </time>
    }
}

/// `10:31:04.118`
#[component]
pub fn AtMillis(at: Timestamp) -> impl IntoView {
    view! {
        <time datetime=format::iso(at) data-tick="millis">
            {format::wall_clock_millis(at, 0)}
        </time>
    }
}

/// How long something has been going on: `6.2 s` and counting.
#[component]
pub fn Since(from: Timestamp, now: Timestamp) -> impl IntoView {
    view! {
        <time datetime=format::iso(from) data-tick="since">
            {format::duration(now.seconds_since(from))}
        </time>
    }
}
