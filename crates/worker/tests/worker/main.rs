//! A real pool on a real SQLite store, running real programs.

mod house;
mod running;
mod stopping;
