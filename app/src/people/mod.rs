//! Signing in, signing out, and the first-run setup.

pub mod server_fns;
