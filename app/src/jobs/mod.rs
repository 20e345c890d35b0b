//! Jobs on the dashboard: reading them, acting on them, and telling their story.

pub mod reads;
pub mod timeline;

#[cfg(feature = "ssr")]
pub mod actions;
#[cfg(feature = "ssr")]
pub mod query;
#[cfg(feature = "ssr")]
pub mod schema;
