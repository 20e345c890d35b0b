//! Members, users, sessions and the audit log, as pages and the command line show them.

use crate::{Role, TenantId, Timestamp, view::User};
use serde::{Deserialize, Serialize};

/// Somebody who may enter a tenant.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Member {
    pub user: User,
    pub role: Role,
    /// When they joined; of somebody invited, when they were.
    pub joined_at: Timestamp,
    /// Has not followed the invitation yet.
    pub invited: bool,
    pub disabled_at: Option<Timestamp>,
    /// Who made the account.
    pub made_by: Option<String>,
}

/// Somebody with an account.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Account {
    pub user: User,
    /// Has not chosen a password yet.
    pub invited: bool,
    pub disabled_at: Option<Timestamp>,
    /// The slugs of the tenants they are a member of, by name.
    pub tenants: Vec<String>,
    /// Who made the account.
    pub made_by: Option<String>,
}

/// Somebody was asked into a tenant; they join by following the link.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Invitation {
    pub user: User,
    /// None when the account was made by this invitation.
    pub account: Option<AccountMade>,
}

/// How an account came to be: an account proves that its password is known, not whose address it is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AccountMade {
    pub by: Option<String>,
    pub at: Timestamp,
}

/// Whose link it is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LinkOwner {
    pub user: User,
    /// They have no password yet, and choose one.
    pub invited: bool,
    /// For joining a tenant; with the password they have, if they have one.
    pub joins: Option<Joining>,
    /// Who made the account.
    pub made_by: Option<String>,
}

/// What an invitation leads to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Joining {
    pub tenant_name: String,
    pub role: Role,
}

/// A browser somebody is signed in with.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SignedIn {
    /// The hash of the session's id; it opens nothing.
    pub id: String,
    pub since: Timestamp,
    pub seen_at: Timestamp,
    pub expires_at: Timestamp,
    /// What the browser said it is.
    pub agent: Option<String>,
    pub address: Option<String>,
}

/// One act in the audit log.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AuditEntry {
    pub id: i64,
    pub tenant_id: Option<TenantId>,
    pub actor: String,
    pub action: String,
    pub object_type: String,
    pub object_id: String,
    pub reason: Option<String>,
    /// The caller's address and the request's id.
    pub origin: Option<String>,
    pub created_at: Timestamp,
    /// Its place in the chain; none for the moment before it is chained.
    pub position: Option<i64>,
    pub hash: Option<String>,
}

/// What the audit log is narrowed to; the tenant is the scope's.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct AuditFilter {
    /// Part of the actor's name.
    pub actor: Option<String>,
    /// The beginning of the action: `key.` or `job.cancel`.
    pub action: Option<String>,
}

/// What walking the audit log's chain found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ChainState {
    /// Every row up to this place is as it was written.
    pub intact_up_to: i64,
    /// Rows that were written a moment ago and are not chained yet.
    pub waiting: i64,
    pub broken: Option<BrokenLink>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BrokenLink {
    pub position: i64,
    /// The row that stands there, if one does.
    pub id: Option<i64>,
    pub what: String,
}
