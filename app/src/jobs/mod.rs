//! Jobs on the dashboard: showing them, acting on them, and telling their story.

pub mod actions;
mod bounds;
mod budget;
pub mod detail;
mod ending;
pub mod query;
pub mod schema;
pub mod table;
pub mod timeline;
