//! The crate from outside: what comes of Markdown, what is in the files, and what other programs make of them.

mod convert;
mod export;
mod programs;
mod properties;
mod support;
