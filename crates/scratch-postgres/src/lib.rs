//! A throw-away Postgres.
