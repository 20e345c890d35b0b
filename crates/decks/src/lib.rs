//! Decks: Markdown becomes slides, slides become a `.pptx` or a `.pdf`.
//!
//! The pure work behind the builtin deck handlers: no clock, no files, no network, no runtime. The same input always
//! gives the same bytes, so an attempt that repeats another after a crash stores the same artifact. Work is offered in
//! steps that match the stages of the jobs; the long ones take a [`watch::Watch`], which hears how far they are and may
//! stop them. [`convert`] and [`export`] list the steps.

pub mod convert;
pub mod error;
pub mod export;
pub mod layout;
pub mod model;
pub mod text;
pub mod theme;
pub mod watch;

pub use error::{DeckError, ErrorClass};
