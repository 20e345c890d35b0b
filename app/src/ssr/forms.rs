//! What the forms of people hand to the [`Gate`](super::Gate), and what comes back.

use leasehold_queue::Scope;
use leasehold_types::{people::AccountMade, view::User};
use std::net::IpAddr;
use tower_sessions::session::Id;

/// What somebody types to sign in, and from where.
#[derive(Clone, Copy)]
pub struct SignInAttempt<'a> {
    pub email: &'a str,
    pub password: &'a str,
    pub address: Option<IpAddr>,
    /// What the browser keeps from an earlier sign-in.
    pub device: Option<&'a str>,
}

/// Somebody a link was made for, and its path.
#[derive(Clone, Debug)]
pub struct Invited {
    pub user: User,
    pub path: String,
    /// They had an account before.
    pub account: Option<AccountMade>,
}

#[derive(Clone, Debug, Default)]
pub struct ChosenPassword {
    pub token: String,
    pub name: Option<String>,
    pub password: String,
}

pub struct PasswordChange<'a> {
    pub scope: &'a Scope,
    pub user: &'a User,
    /// The one that stays.
    pub session: &'a Id,
    pub old: &'a str,
    pub new: &'a str,
}

#[derive(Clone, Debug, Default)]
pub struct SetupForm {
    pub token: String,
    pub email: String,
    pub name: String,
    pub password: String,
    pub tenant_name: String,
    /// From where it was asked, for the audit log.
    pub origin: Option<String>,
}
