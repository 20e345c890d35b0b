//! Workers and what they call.

pub mod providers;
