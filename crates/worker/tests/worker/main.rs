//! A real pool on a real SQLite store, running real programs.

mod braking;
mod builtin;
mod decks;
mod hostile;
mod house;
mod running;
mod stopping;
