//! Who may enter a tenant, and as what.

use leasehold_types::{Problem, ProblemCode, Role};

/// What others than themselves may know of somebody who has not joined: what they were invited by.
pub fn local_part(email: &str) -> &str {
    email.split('@').next().unwrap_or_default()
}

/// A tenant is not left without an admin by accident. `another`: somebody else who can sign in is one.
pub fn check_admin_stays(
    before: Role,
    after: Option<Role>,
    another: bool,
    even_the_last: bool,
) -> Result<(), Problem> {
    if !steps_down(before, after) || another || even_the_last {
        return Ok(());
    }
    let detail = "This is the tenant's last admin. Say that you mean it, or make somebody else an admin first. \
                  Nothing was changed.";
    Err(Problem::new(ProblemCode::ConfirmationRequired, detail))
}

/// Whether the tenant has one admin less afterwards.
pub fn steps_down(before: Role, after: Option<Role>) -> bool {
    before == Role::Admin && after != Some(Role::Admin)
}

pub fn no_such_member() -> Problem {
    Problem::not_found("This member")
}

pub fn already_member() -> Problem {
    let detail = "They are a member already. Nothing was changed; their role can be changed in the list.";
    Problem::new(ProblemCode::AlreadyExists, detail).with_field("email", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_admin_has_to_mean_it() {
        let step = |after, another, meant| check_admin_stays(Role::Admin, after, another, meant).is_ok();
        assert!(!step(None, false, false));
        assert!(!step(Some(Role::Viewer), false, false));
        assert!(step(Some(Role::Admin), false, false), "stays what they are");
        assert!(step(None, true, false), "somebody else is an admin");
        assert!(step(None, false, true), "they mean it");
        assert!(check_admin_stays(Role::Viewer, None, false, false).is_ok());
    }
}
