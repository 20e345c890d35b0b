//! Workers: they claim jobs, run them and say how they ended.
//!
//! A [`Pool`] turns in a small circle: wait → claim up to the free slots → run each → finish in batches. Every
//! attempt is a short pipeline: resolve → prepare → run with timeout → judge → record. Panic, timeout, a lost lease
//! and a cancellation are ordinary outcomes of it.
//!
//! What a job *does* is behind [`executor::Executor`]. One runs commands of a [`commands::CommandBook`]: a program of
//! this machine, never a shell, watched by a [`guard`] so that nothing it started outlives its worker. The others are
//! handlers in Rust ([`builtin`]).
//!
//! Invariant: whatever a worker writes shows the lease it was given. Once the lease is lost the work is killed and
//! its result dropped; the store would refuse it anyway.

pub mod builtin;
pub mod command;
pub mod commands;
pub mod composite;
pub mod executor;
pub mod guard;
mod host;
pub mod pool;
pub mod providers;
mod watchdog;

pub use commands::{BookError, CommandBook};
pub use executor::{Ctx, Executor, Halt, Outcome, Registry};
pub use pool::{Pool, PoolConfig};
pub use providers::{ProviderBook, ProvidersError};
pub use watchdog::watchdog;
