//! People: signing in, the first-run setup, members and keys of a tenant, one's own account, and what super-admins do.

pub mod account;
mod admin;
mod device;
mod invitations;
mod keys;
pub mod lists;
mod members;
pub mod server_fns;
mod tenants;
