//! The dashboard. Pages are rendered on the server and work without script; only what moves is an island.
//!
//! The browser's wasm contains the islands and nothing else: it reads the page again when something moved and
//! changes what is on screen into it. Pages, router and everything that knows jobs exist only with `ssr`.

// Views are deeply nested types.
#![recursion_limit = "256"]

pub mod components;
pub mod islands;
#[cfg(feature = "ssr")]
pub mod jobs;
#[cfg(feature = "ssr")]
pub mod overview;
#[cfg(feature = "ssr")]
pub mod pages;
#[cfg(feature = "ssr")]
pub mod people;
#[cfg(feature = "ssr")]
pub mod shell;
#[cfg(feature = "ssr")]
pub mod ssr;
#[cfg(feature = "ssr")]
pub mod workers;

#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_islands();
}
