//! A real pool on a real SQLite store, running real programs.

mod braking;
mod builtin;
mod composite;
mod decks;
mod hostile;
mod house;
mod limits;
mod log_fields;
mod providers;
mod running;
mod stopping;
