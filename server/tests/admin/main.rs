//! The API for those who run things, on both databases: what it does, whom it refuses, and the requests its
//! documentation prints.

#[path = "../common/mod.rs"]
mod common;
mod definitions;
mod domains;
mod office;
mod operations;
mod queues;
mod refusals;
mod sweeps;
