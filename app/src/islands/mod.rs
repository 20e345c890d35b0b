//! What moves. Each island renders on the server like any component and comes alive in the browser.

pub mod clock;
pub mod job_live;
pub mod jobs_table;
pub mod live;
pub mod live_dot;
#[cfg(feature = "hydrate")]
mod manners;
pub mod overview_live;
pub mod theme;
