//! What goes into the verbs about people. Whoever may do less from now on does less at once: every request makes its
//! scope anew from their rows.

use leasehold_types::{Role, TenantId, Timestamp};

/// Stands where a password's hash would: nobody's password fits it.
pub const NO_PASSWORD: &str = "!";

/// A one-time link with which a password is chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PasswordLink {
    /// SHA-256 of its token.
    pub token_hash: String,
    pub expires_at: Timestamp,
}

#[derive(Clone, Debug)]
pub struct NewMember {
    pub tenant: TenantId,
    /// Lower-cased by the engine.
    pub email: String,
    pub role: Role,
    /// Followed to join.
    pub link: PasswordLink,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EndSessions {
    All,
    Only(String),
    AllBut(String),
}
