//! Line icons on a 24 × 24 grid, drawn for Leasehold. Always beside a word, so hidden from screen readers.

use leptos::prelude::*;

pub const OVERVIEW: &str = "M4 4h7v9H4ZM13 4h7v5h-7ZM13 12h7v8h-7ZM4 16h7v4H4Z";
pub const JOBS: &str = "M4 6h.01M4 12h.01M4 18h.01M8.5 6H20M8.5 12H20M8.5 18H20";
pub const PLUS: &str = "M12 5v14M5 12h14";
pub const CHEVRON: &str = "m7 10 5 5 5-5";
pub const WORKERS: &str = "M4 4h16v6.5H4ZM4 13.5h16V20H4ZM8 7.2h.01M8 16.8h.01M12 7.2h4.5M12 16.8h4.5";
pub const TENANTS: &str =
    "M4 21V5l8-2v18M12 9l8 2v10M2.5 21h19M8 8v.01M8 12v.01M8 16v.01M16 14v.01M16 17.5v.01";
pub const PEOPLE: &str = "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM4.5 20c.8-3.6 3.8-5.5 7.5-5.5s6.7 1.9 7.5 5.5";
pub const SETTINGS: &str = "M4 7h9M17 7h3M15 5v4M4 17h3M11 17h9M9 15v4M4 12h16";
pub const SUN: &str = "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4";
pub const MOON: &str = "M20 14.2A8.2 8.2 0 1 1 9.8 4a6.6 6.6 0 0 0 10.2 10.2Z";
pub const SCREEN: &str = "M3.5 4.5h17v11.5h-17ZM9 20h6M12 16v4";
pub const SEARCH: &str = "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14ZM16 16l4.5 4.5";
pub const MENU: &str = "M4 7h16M4 12h16M4 17h16";
pub const SIGN_OUT: &str = "M10 4H5v16h5M14.5 8l4 4-4 4M18 12H9.5";
pub const ARROW_RIGHT: &str = "M5 12h14M13 6l6 6-6 6";
pub const ALERT: &str = "M12 4 2.8 19.5h18.4ZM12 10v4.5M12 17v.01";
pub const INFO: &str = "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM12 11v5M12 8v.01";
pub const INBOX: &str = "M3.5 13 6.5 5h11l3 8v6h-17ZM3.5 13H8l1.5 2.5h5L16 13h4.5";
pub const FILTER: &str = "M4 5h16l-6.2 7.2V19l-3.6-2v-4.8Z";
pub const LINK: &str = "M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7l-1.6 1.6M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7l1.6-1.6";

pub const QUEUED: &str = "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17ZM8.2 12h.01M12 12h.01M15.8 12h.01";
pub const CLOCK: &str = "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17ZM12 7.5V12l3 2";
pub const RUNNING: &str = "M12 3.5a8.5 8.5 0 1 0 8.5 8.5";
pub const DONE: &str = "m5 12.5 4.8 4.8L19.5 7";
pub const RETRY: &str = "M19.5 12a7.5 7.5 0 1 1-2.3-5.4L20 9M20 4v5h-5";
pub const CROSS: &str = "M6.5 6.5l11 11M17.5 6.5l-11 11";
pub const DEAD: &str = "M4 5h16v4H4ZM5.5 9v10.5h13V9M9.8 12.2l4.4 4.4M14.2 12.2l-4.4 4.4";
pub const SHIELD: &str = "M12 3 5 5.8V11c0 4.6 2.9 8 7 10 4.1-2 7-5.4 7-10V5.8ZM12 8.5v4M12 15.6v.01";
pub const BAN: &str = "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17ZM6 6l12 12";

#[component]
pub fn Icon(
    /// One of the paths above.
    d: &'static str,
) -> impl IntoView {
    view! {
        <svg class="icon" width="16" height="16" viewBox="0 0 24 24" aria-hidden="true">
            <path d=d></path>
        </svg>
    }
}

/// The mark: a job on its lease.
#[component]
pub fn Brand() -> impl IntoView {
    view! {
        <span class="brand">
            <svg class="brand-mark" width="22" height="22" viewBox="0 0 24 24" aria-hidden="true">
                <rect class="brand-frame" x="3" y="4" width="18" height="16" rx="4.5"></rect>
                <path class="brand-line" d="M7.5 10h9M7.5 14.5h5"></path>
            </svg>
            "Leasehold"
        </span>
    }
}
