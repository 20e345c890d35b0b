//! Parts without knowledge of tenants or storage. Only what islands need compiles for the browser.

pub mod format;
pub mod icon;

#[cfg(feature = "ssr")]
pub mod badge;
#[cfg(feature = "ssr")]
pub mod form;
#[cfg(feature = "ssr")]
pub mod json;
#[cfg(feature = "ssr")]
pub mod layout;
#[cfg(feature = "ssr")]
pub mod log;
#[cfg(feature = "ssr")]
pub mod notice;
#[cfg(feature = "ssr")]
pub mod progress;
#[cfg(feature = "ssr")]
pub mod spark;
#[cfg(feature = "ssr")]
pub mod time;
#[cfg(feature = "ssr")]
pub mod title;
