//! Jobs on the dashboard: showing them, acting on them, and telling their story.

pub mod actions;
pub mod detail;
pub mod query;
pub mod schema;
pub mod table;
pub mod timeline;
