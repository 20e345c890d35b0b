//! What a plan must remember beside its filter, as it stands in its row.

use super::operation::TABLE;
use crate::filter::{Search, words_of};
use leasehold_queue::{StoreError, StoreResult, upkeep::BulkAction};
use leasehold_types::{JobFilter, Timestamp};
use serde::{Deserialize, Serialize};

/// What only some actions need, and the job that the filter's text named.
#[derive(Serialize, Deserialize, Default)]
pub(super) struct Parameters {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    #[serde(default)]
    archive: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    job: Option<i64>,
}

impl Parameters {
    pub fn of(action: &BulkAction, search: &Search) -> Self {
        let job = match search {
            Search::Job(number) => Some(*number),
            Search::Nothing | Search::Text(_) => None,
        };
        match action {
            BulkAction::Reschedule { at } => Self { at: *at, job, ..Self::default() },
            BulkAction::Prune { archive } => Self { archive: *archive, job, ..Self::default() },
            _ => Self { job, ..Self::default() },
        }
    }

    pub fn action(&self, name: &str) -> StoreResult<BulkAction> {
        let known = [
            BulkAction::Cancel,
            BulkAction::Reschedule { at: self.at },
            BulkAction::Retry,
            BulkAction::RequeueQuarantined,
            BulkAction::Prune { archive: self.archive },
        ];
        let found = known.into_iter().find(|action| action.name() == name);
        found.ok_or_else(|| StoreError::corrupt(TABLE, "action", name))
    }

    pub fn search(&self, filter: &JobFilter) -> Search {
        match (self.job, words_of(filter)) {
            (Some(number), _) => Search::Job(number),
            (None, Some(words)) => Search::text(words),
            (None, None) => Search::Nothing,
        }
    }
}
