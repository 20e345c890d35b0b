//! The storage seam: domain verbs, each one transaction. Two stores implement it, one conformance suite holds
//! them to it. Every verb takes its time from the store's [`crate::Clock`].
//!
//! Error policy: what a caller did wrong is a [`Problem`] with a stable code; what the database did wrong is
//! [`StoreError::Database`], which the engine turns into "unavailable" and logs in full.

use super::{
    api_keys::ApiKeyQueries, definitions::DefinitionQueries, members::MemberQueries,
    password_links::PasswordLinkQueries, providers::ProviderQueries, sessions::SessionQueries,
    settings::SettingQueries, signing::SigningKeyQueries, steering::SteeringQueries, tenants::TenantQueries,
    throttle::AttemptQueries, users::UserQueries,
};
use crate::{
    Accounts, Administration, ApiKeys, Attachments, Audit, Auditing, Bulk, Callers, ClaimJobs, Counters,
    CreateJobs, Database, Definitions, Figures, FinishAttempts, JobLogs, JobQueries, ListQueries, Members,
    Outbox, OverviewQueries, PasswordLinks, Providers, ReclaimLeases, Remote, RenewLeases, Rights,
    SigningKeys, Steering, Tenants, Throttle, TriggerChanges, Triggers, Units, Upkeep, Users, Workers,
};
use leasehold_types::{Problem, ProblemCode};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Problem(#[from] Problem),
    #[error("the database failed: {message}")]
    Database {
        message: String,
        /// Trying again may help: a lost connection, a serialisation failure, a busy database.
        transient: bool,
    },
    #[error("{table}.{column} holds something unreadable: {detail}")]
    Corrupt { table: &'static str, column: &'static str, detail: String },
}

pub type StoreResult<T> = Result<T, StoreError>;

impl StoreError {
    pub fn corrupt(table: &'static str, column: &'static str, detail: impl ToString) -> Self {
        Self::Corrupt { table, column, detail: detail.to_string() }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Problem(problem) => problem,
            StoreError::Database { .. } => {
                tracing::error!(%error, "the database failed");
                Problem::new(
                    ProblemCode::Unavailable,
                    "The database did not answer. Nothing was changed; please try again in a moment.",
                )
                .retry_after(2)
            }
            StoreError::Corrupt { .. } => {
                tracing::error!(%error, "a row cannot be read");
                Problem::new(
                    ProblemCode::Internal,
                    "A stored record cannot be read. The log has the details.",
                )
            }
        }
    }
}

/// Everything a store does.
pub trait Store:
    Upkeep
    + Attachments
    + Units
    + Remote
    + Callers
    + Audit
    + Administration
    + Figures
    + Rights
    + Triggers
    + TriggerChanges
    + Auditing
    + TenantQueries
    + Tenants
    + UserQueries
    + Users
    + Accounts
    + MemberQueries
    + Members
    + PasswordLinkQueries
    + PasswordLinks
    + SessionQueries
    + SettingQueries
    + ApiKeyQueries
    + ApiKeys
    + DefinitionQueries
    + Definitions
    + ProviderQueries
    + Providers
    + SigningKeyQueries
    + SigningKeys
    + AttemptQueries
    + Throttle
    + Database
    + CreateJobs
    + ClaimJobs
    + RenewLeases
    + FinishAttempts
    + JobLogs
    + Workers
    + JobQueries
    + ListQueries
    + OverviewQueries
    + Outbox
    + Counters
    + Steering
    + Bulk
    + SteeringQueries
    + ReclaimLeases
{
}
