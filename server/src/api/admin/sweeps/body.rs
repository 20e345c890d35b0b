//! What sweeps are asked, and what they answer.

use crate::api::{
    admin::{
        REASON,
        bulk::{self, Asked, Group},
        place,
    },
    schemas::JobState,
};
use leasehold_queue::{
    bulk::BulkAction,
    engine::Swept,
    upkeep::{IntegrityCount, TtlAction, TtlRule},
};
use leasehold_types::{JobFilter, JobStatus, Problem, Timestamp, view::BulkOperation};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::ToSchema;
use uuid::Uuid;

const DAY: u64 = 86_400;
const MOST_DAYS: u64 = 36_500;
const MOST_GROUPS: u32 = 100;
const LONGEST_AGE: u64 = MOST_DAYS * DAY;

/// Which jobs to remove.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PruneRequest)]
pub struct Prune {
    /// Ended ones, and quarantined.
    #[schema(value_type = Vec<JobState>, min_items = 1)]
    statuses: Vec<JobStatus>,
    /// Since they ended.
    #[schema(minimum = 1, maximum = 36_500)]
    older_than_days: u64,
    domain: Option<String>,
    queue: Option<String>,
    job_type: Option<String>,
    /// Only count.
    #[serde(default)]
    dry_run: bool,
    /// For a dry run: name the so many largest groups.
    #[schema(maximum = 100)]
    detail_top_k: Option<u32>,
}

impl Prune {
    pub fn wants_groups(&self) -> bool {
        self.dry_run && self.detail_top_k.is_some_and(|k| k > 0)
    }

    pub fn asked(self, now: Timestamp, archive: bool) -> Result<Asked, Problem> {
        let wrong = |field: &str, message: &str| {
            Err(Problem::invalid(field, format!("{message} Nothing was changed.")))
        };
        if self.statuses.is_empty() || self.statuses.iter().any(|status| !status.is_finished()) {
            return wrong("statuses", "Name states in which jobs have ended, or quarantined.");
        }
        if !(1..=MOST_DAYS).contains(&self.older_than_days) {
            return wrong("older_than_days", "It must be from 1 to 36500.");
        }
        if self.detail_top_k.is_some_and(|k| k > MOST_GROUPS) {
            return wrong("detail_top_k", "It must be from 0 to 100.");
        }
        let place = place::place(self.domain, self.queue, self.job_type)?;
        let before = now.minus(Duration::from_secs(self.older_than_days * DAY));
        let filter =
            JobFilter { statuses: self.statuses, completed_before: Some(before), ..place::filter(place) };
        Ok(Asked {
            action: BulkAction::Prune { archive },
            filter,
            reason: REASON.to_owned(),
            top_groups: self.detail_top_k.unwrap_or(0),
            dry_run: self.dry_run,
        })
    }
}

/// What was removed, or would be.
#[derive(Serialize, ToSchema)]
#[schema(as = PruneOutcome)]
pub struct Pruned {
    deleted: i64,
    /// The operation, for `/operations/{id}`; a dry run can be applied there.
    plan_id: Uuid,
    /// `planned` (a dry run), `done`, or `applying`: the rest is done after this answer.
    state: &'static str,
    /// The largest groups, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<Vec<Group>>,
}

impl Pruned {
    pub fn new(operation: BulkOperation, with_groups: bool) -> Self {
        Self {
            deleted: bulk::affected(&operation),
            plan_id: operation.id,
            state: bulk::state(&operation),
            groups: with_groups.then(|| operation.groups.into_iter().map(Group::from).collect()),
        }
    }
}

/// Which jobs have lived too long; at least one of the two ages.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ExpiryRule)]
pub struct Ttl {
    /// Queued, and created longer ago than this.
    #[schema(minimum = 1)]
    age_seconds: Option<u64>,
    /// Running, in the current attempt, for longer than this.
    #[schema(minimum = 1)]
    runtime_seconds: Option<u64>,
    #[serde(default)]
    action: TtlWord,
    domain: Option<String>,
    queue: Option<String>,
    job_type: Option<String>,
}

/// How jobs that lived too long end.
#[derive(Deserialize, ToSchema, Clone, Copy, Default)]
#[serde(rename_all = "snake_case")]
#[schema(as = TtlAction)]
pub enum TtlWord {
    #[default]
    Cancel,
    Fail,
}

impl Ttl {
    pub fn rule(self) -> Result<TtlRule, Problem> {
        let age = |field: &str, seconds: Option<u64>| match seconds {
            Some(seconds) if !(1..=LONGEST_AGE).contains(&seconds) => {
                let message = format!("It must be from 1 to {LONGEST_AGE}. Nothing was changed.");
                Err(Problem::invalid(field, message))
            }
            seconds => Ok(seconds.map(Duration::from_secs)),
        };
        let place = place::place(self.domain, self.queue, self.job_type)?;
        let rule = TtlRule {
            queued_for: age("age_seconds", self.age_seconds)?,
            running_for: age("runtime_seconds", self.runtime_seconds)?,
            action: match self.action {
                TtlWord::Cancel => TtlAction::Cancel,
                TtlWord::Fail => TtlAction::Fail,
            },
            domain: place.domain,
            queue: place.queue,
            job_type: place.job_type,
        };
        if rule.queued_for.is_none() && rule.running_for.is_none() {
            let message = "Please say age_seconds, runtime_seconds or both. Nothing was changed.";
            return Err(Problem::invalid("age_seconds", message));
        }
        Ok(rule)
    }
}

/// How many jobs were ended.
#[derive(Serialize, ToSchema, Default)]
#[schema(as = ExpiryOutcome)]
pub struct TtlSwept {
    affected: u64,
    /// There are more of them: call again.
    more: bool,
}

impl From<Swept> for TtlSwept {
    fn from(swept: Swept) -> Self {
        Self { affected: swept.affected, more: swept.more }
    }
}

/// Where to look, and whether to fix it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = IntegrityCheck)]
pub struct Integrity {
    pub fix: bool,
    pub domain: Option<String>,
    pub queue: Option<String>,
    pub job_type: Option<String>,
}

/// Rows that contradict themselves.
#[derive(Serialize, ToSchema)]
pub struct IntegrityFound {
    non_processing_with_lease: u64,
    processing_expired: u64,
    fixed: u64,
}

impl From<IntegrityCount> for IntegrityFound {
    fn from(count: IntegrityCount) -> Self {
        Self {
            non_processing_with_lease: count.leases_on_idle_rows,
            processing_expired: count.expired_leases,
            fixed: count.fixed,
        }
    }
}
