//! What moves. Pages are rendered by the server alone; the islands keep them true in the browser.

pub mod clock;
pub mod live;
pub mod live_dot;
#[cfg(feature = "hydrate")]
mod manners;
#[cfg(feature = "hydrate")]
mod morph;
pub mod refresh;
pub mod theme;
