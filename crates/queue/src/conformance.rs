//! One suite, every store.
