//! Parts without knowledge of tenants or storage. Those the islands share compile for the browser too.

pub mod badge;
pub mod format;
pub mod icon;
pub mod json;
pub mod log;
pub mod progress;
pub mod spark;
pub mod time;

#[cfg(feature = "ssr")]
pub mod form;
#[cfg(feature = "ssr")]
pub mod layout;
#[cfg(feature = "ssr")]
pub mod mask;
#[cfg(feature = "ssr")]
pub mod notice;
