//! Work units and providers: their words, and what pages show of them.

use crate::{
    Timestamp,
    state::{UnknownWord, words},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, str::FromStr};
use uuid::Uuid;

words! {
    /// What a provider does, and what a unit asks for.
    UnitKind {
        Llm = "llm",
        Ocr = "ocr",
    }
}

words! {
    /// Where a work unit stands.
    UnitState {
        /// Waits for a provider, or for its next try.
        Queued = "queued",
        /// A call is under way, or about to begin.
        Running = "running",
        Succeeded = "succeeded",
        Failed = "failed",
        /// Its job ended before it was needed.
        Dropped = "dropped",
    }
}

impl UnitState {
    pub const fn label(self) -> &'static str {
        match self {
            Self::Queued => "Queued",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Dropped => "Dropped",
        }
    }
}

/// One call on behalf of a job, as its page lists it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct UnitRow {
    pub id: Uuid,
    pub seq: i64,
    /// What it is for, in its job's own words: "Page 3, reading".
    pub name: String,
    pub kind: UnitKind,
    /// Who runs or ran it; before that, whom it asks for. None = anybody of its kind.
    pub provider: Option<String>,
    /// That provider is local and deterministic.
    pub is_local: bool,
    pub state: UnitState,
    pub attempts: i32,
    /// A retry waits until then.
    pub available_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub error_code: Option<String>,
    pub error_message: Option<String>,
}

/// The units of one job: how many in each state, and the first of them.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct UnitsView {
    /// Only states that occur, in the order of a unit's life.
    pub counts: Vec<(UnitState, i64)>,
    pub rows: Vec<UnitRow>,
}

impl UnitsView {
    pub fn total(&self) -> i64 {
        self.counts.iter().map(|(_, units)| units).sum()
    }

    pub fn count(&self, state: UnitState) -> i64 {
        self.counts.iter().find(|(known, _)| *known == state).map_or(0, |(_, units)| *units)
    }
}

/// A provider as the dashboard lists it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ProviderView {
    pub name: String,
    pub kind: UnitKind,
    /// Runs on the worker's own machine and always answers the same: for trying out, not for real text.
    pub is_local: bool,
    pub requests_per_second: f64,
    pub max_concurrency: i32,
    pub max_retries: i32,
    pub retry_delay_seconds: f64,
    pub is_active: bool,
    /// Calls under way, over all processes.
    pub running: i64,
    pub last_used_at: Option<Timestamp>,
}
