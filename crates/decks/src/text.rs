//! Text as the writers need it: measured, wrapped, cleaned, and in an alphabet a font has.

pub mod clean;
pub mod link;
pub mod metrics;
mod widths;
pub mod winansi;
pub mod wrap;
