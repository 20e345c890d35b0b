//! From SQLite's few types to ours, and back. Reading may fail: then the error names table and column.

use crate::error::Outcome;
use leasehold_queue::StoreError;
use leasehold_types::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use std::{fmt::Display, str::FromStr};

/// A table, so that each column read from it can be named when it is unreadable.
#[derive(Clone, Copy)]
pub(crate) struct Table(pub &'static str);

impl Table {
    /// An id, a word of a closed vocabulary, a moment.
    pub fn parse<T>(self, column: &'static str, text: &str) -> Outcome<T>
    where
        T: FromStr,
        T::Err: Display,
    {
        text.parse().map_err(|error: T::Err| StoreError::corrupt(self.0, column, error).into())
    }

    pub fn parse_opt<T>(self, column: &'static str, text: Option<&str>) -> Outcome<Option<T>>
    where
        T: FromStr,
        T::Err: Display,
    {
        text.map(|text| self.parse(column, text)).transpose()
    }

    pub fn time(self, column: &'static str, text: &str) -> Outcome<Timestamp> {
        self.parse(column, text)
    }

    pub fn time_opt(self, column: &'static str, text: Option<&str>) -> Outcome<Option<Timestamp>> {
        self.parse_opt(column, text)
    }

    pub fn json<T: DeserializeOwned>(self, column: &'static str, text: &str) -> Outcome<T> {
        serde_json::from_str(text).map_err(|error| StoreError::corrupt(self.0, column, error).into())
    }

    pub fn json_opt<T: DeserializeOwned>(
        self,
        column: &'static str,
        text: Option<&str>,
    ) -> Outcome<Option<T>> {
        text.map(|text| self.json(column, text)).transpose()
    }

    /// SQLite's integers have 64 bits, most of ours fewer.
    pub fn int<T>(self, column: &'static str, value: i64) -> Outcome<T>
    where
        T: TryFrom<i64>,
        T::Error: Display,
    {
        T::try_from(value).map_err(|error| StoreError::corrupt(self.0, column, error).into())
    }

    pub fn int_opt<T>(self, column: &'static str, value: Option<i64>) -> Outcome<Option<T>>
    where
        T: TryFrom<i64>,
        T::Error: Display,
    {
        value.map(|value| self.int(column, value)).transpose()
    }
}

/// JSON text; also how many rows travel in one bind, to be unfolded by `json_each`.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> Outcome<String> {
    Ok(serde_json::to_string(value)?)
}

/// Limits and counts as SQLite takes them.
pub(crate) fn limit(rows: u32) -> i64 {
    i64::from(rows)
}

/// What a worker sends as plain text, without NUL: SQLite's own text functions end at one.
pub(crate) fn text(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
