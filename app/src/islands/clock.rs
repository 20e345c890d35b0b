//! One clock per page. It keeps every `<time data-tick>` on the page right, inside islands and outside, by
//! writing into the text node that is there: views stay the owners of their nodes.

use leasehold_types::Timestamp;
use leptos::prelude::*;

/// `now` is the server's moment of rendering.
#[island]
pub fn Clock(
    /// In microseconds.
    now: i64,
) -> impl IntoView {
    #[cfg(feature = "hydrate")]
    {
        browser::start(Timestamp::from_micros(now));
        super::manners::teach();
    }
    #[cfg(not(feature = "hydrate"))]
    let _ = now;
}

#[cfg(feature = "hydrate")]
pub use browser::{now, show_all};

/// The time of day, in the viewer's zone where that is known.
pub fn here_at(at: Timestamp) -> String {
    #[cfg(feature = "hydrate")]
    let zone = browser::minutes_east(at);
    #[cfg(not(feature = "hydrate"))]
    let zone = 0;
    crate::components::format::wall_clock(at, zone)
}

#[cfg(feature = "hydrate")]
mod browser {
    use crate::components::format;
    use leasehold_types::Timestamp;
    use leptos::prelude::*;
    use std::{cell::Cell, time::Duration};
    use wasm_bindgen::JsCast;
    use web_sys::Element;

    /// A difference below this is the time the page took to come here, not a wrong clock.
    const TRUSTED_SECONDS: f64 = 5.0;

    thread_local! {
        static SERVER_AHEAD: Cell<i64> = const { Cell::new(0) };
    }

    fn here() -> Timestamp {
        Timestamp::from_micros((js_sys::Date::now() * 1_000.0) as i64)
    }

    /// The server's time as far as this browser can tell.
    pub fn now() -> Timestamp {
        Timestamp::from_micros(here().micros() + SERVER_AHEAD.get())
    }

    /// The viewer's zone at that moment.
    pub fn minutes_east(at: Timestamp) -> i64 {
        let date = js_sys::Date::new(&(at.millis() as f64).into());
        -date.get_timezone_offset() as i64
    }

    pub fn start(rendered_at: Timestamp) {
        if here().seconds_since(rendered_at).abs() > TRUSTED_SECONDS {
            SERVER_AHEAD.set(rendered_at.micros() - here().micros());
        }
        show_all();
        set_interval(tick, Duration::from_secs(1));
    }

    /// What the server wrote in UTC and as of its rendering, in the viewer's zone and as of now.
    pub fn show_all() {
        each("time[data-tick]", |element, at| {
            let zone = minutes_east(at);
            match element.get_attribute("data-tick").as_deref() {
                Some("clock") => write(element, &format::wall_clock(at, zone)),
                Some("millis") => write(element, &format::wall_clock_millis(at, zone)),
                _ => {}
            }
        });
        tick();
    }

    fn tick() {
        if document().hidden() {
            return;
        }
        let now = now();
        each("time[data-tick=ago]", |element, at| write(element, &format::relative(at, now)));
        each("time[data-tick=since]", |element, at| write(element, &format::duration(now.seconds_since(at))));
    }

    fn each(selector: &str, change: impl Fn(&Element, Timestamp)) {
        let Ok(found) = document().query_selector_all(selector) else { return };
        for i in 0..found.length() {
            let Some(element) = found.item(i).and_then(|n| n.dyn_into::<Element>().ok()) else { continue };
            let at = element.get_attribute("datetime").map_or(f64::NAN, |text| js_sys::Date::parse(&text));
            if at.is_finite() {
                change(&element, Timestamp::from_micros((at * 1_000.0) as i64));
            }
        }
    }

    fn write(element: &Element, text: &str) {
        if let Some(node) = element.first_child()
            && node.node_value().as_deref() != Some(text)
        {
            node.set_node_value(Some(text));
        }
    }
}
