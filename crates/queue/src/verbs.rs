//! The verbs that are not in a hurry, written once for every store: read rows, let a rule decide, write rows, leave
//! an entry in the audit log, commit. The hot ones (create, claim, renew, finish) are statements of the store itself.
//!
//! Each topic is a trait that can be called on any store, and one implementation over [`Transactions`].

pub mod accounts;
pub mod api_keys;
pub mod audit;
pub mod bulk;
pub mod definitions;
pub mod members;
pub mod password_links;
pub mod providers;
pub mod signing;
pub mod steering;
pub mod tenants;
pub mod throttle;
pub mod triggers;
pub mod users;

use crate::{
    audit::NewAuditEntry,
    ports::tx::{Statements, Transactions, Tx},
    scope::Scope,
};

/// What the statements of a store fail with.
pub(crate) type Failed<S> = <<S as Transactions>::Tx as Statements>::Error;

/// What an actor did, in the audit log; what Leasehold does by itself is in the events.
async fn audit<T: Tx>(tx: &mut T, scope: &Scope, entries: &[NewAuditEntry]) -> Result<(), T::Error> {
    if entries.is_empty() || !scope.actor.leaves_a_trail() {
        return Ok(());
    }
    tx.insert_audit(&scope.actor.to_string(), scope.origin.as_deref(), entries).await
}
