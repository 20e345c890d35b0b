//! A real pool on a real SQLite store, running real programs.

mod builtin;
mod decks;
mod house;
mod running;
mod stopping;
