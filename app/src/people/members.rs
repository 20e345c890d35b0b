//! The forms of a tenant's members.

use crate::{
    components::format::relative,
    ssr::{self, Flash, Invited, Visit, flash_and_redirect, refuse, show_once},
};
use leasehold_types::{Problem, Role, UserId};
use leptos::prelude::*;

/// The kind of secret a settings page may find waiting.
pub const LINK: &str = "link";

#[server(prefix = "/do", endpoint = "invite_member")]
pub async fn invite_member(
    slug: String,
    #[server(default)] email: String,
    #[server(default)] role: String,
) -> Result<(), ServerFnError> {
    let visit = ssr::enter(&slug).await.map_err(refuse)?;
    let invited = match role.parse() {
        Ok(role) => ssr::door().gate.invite(&visit.scope, visit.tenant.id, &email, role).await,
        Err(_) => Err(Problem::invalid("role", "Please choose a role.")),
    };
    let answer = match invited {
        Ok(invited) => say_invited(&visit, invited).await,
        Err(problem) => {
            let flash = Flash::problem(problem, &[("email", &email), ("role", &role)]);
            flash_and_redirect(flash, &settings(&visit)).await
        }
    };
    answer.map_err(refuse)
}

#[server(prefix = "/do", endpoint = "renew_invitation")]
pub async fn renew_invitation(slug: String, user: String) -> Result<(), ServerFnError> {
    let visit = ssr::enter(&slug).await.map_err(refuse)?;
    let renewed = match parsed(&user) {
        Ok(user) => ssr::door().gate.password_link(&visit.scope, user).await,
        Err(problem) => Err(problem),
    };
    let answer = match renewed {
        Ok(invited) => say_invited(&visit, invited).await,
        Err(problem) => flash_and_redirect(Flash::problem(problem, &[]), &settings(&visit)).await,
    };
    answer.map_err(refuse)
}

async fn say_invited(visit: &Visit, invited: Invited) -> Result<(), Problem> {
    let (email, now) = (&invited.user.email, ssr::door().engine.now());
    let notice = match invited.account {
        Some(made) => {
            let (by, ago) = (made.by.unwrap_or_else(|| "somebody".into()), relative(made.at, now));
            format!(
                "{email} was invited. The account was created by {by}, {ago}: make sure that it is theirs."
            )
        }
        None => format!("{email} was invited."),
    };
    show_once(notice, LINK, &invited.path, &settings(visit)).await
}

#[server(prefix = "/do", endpoint = "change_role")]
pub async fn change_role(
    slug: String,
    user: String,
    #[server(default)] role: String,
    #[server(default)] even_the_last: String,
) -> Result<(), ServerFnError> {
    let visit = ssr::enter(&slug).await.map_err(refuse)?;
    let change = async {
        let role: Role = role.parse().map_err(|_| Problem::invalid("role", "Please choose a role."))?;
        let engine = ssr::door().engine;
        engine.set_role(&visit.scope, visit.tenant.id, parsed(&user)?, role, even_the_last == "yes").await
    };
    say(&visit, change.await, "The role was changed.").await.map_err(refuse)
}

#[server(prefix = "/do", endpoint = "remove_member")]
pub async fn remove_member(
    slug: String,
    user: String,
    #[server(default)] even_the_last: String,
) -> Result<(), ServerFnError> {
    let visit = ssr::enter(&slug).await.map_err(refuse)?;
    let removal = async {
        let engine = ssr::door().engine;
        engine.remove_member(&visit.scope, visit.tenant.id, parsed(&user)?, even_the_last == "yes").await
    };
    say(&visit, removal.await, "The member was removed.").await.map_err(refuse)
}

pub fn parsed(user: &str) -> Result<UserId, Problem> {
    user.parse().map_err(|_| Problem::not_found("This user"))
}

pub fn settings(visit: &Visit) -> String {
    format!("/t/{}/settings", visit.tenant.slug)
}

/// Good news or the problem, on the settings page.
pub async fn say(visit: &Visit, done: Result<(), Problem>, notice: &str) -> Result<(), Problem> {
    let flash = match done {
        Ok(()) => Flash::notice(notice),
        Err(problem) => Flash::problem(problem, &[]),
    };
    flash_and_redirect(flash, &settings(visit)).await
}
