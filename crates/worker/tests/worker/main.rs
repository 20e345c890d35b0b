//! A real pool on a real SQLite store, running real programs.

mod composite;
mod house;
mod providers;
mod running;
mod stopping;
