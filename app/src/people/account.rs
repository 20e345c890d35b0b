//! The forms of one's own account.

use crate::ssr::{
    self, Flash, PasswordChange, flash_and_redirect, refuse, see_other, session, session_problem,
};
use leasehold_queue::people::EndSessions;
use leasehold_types::{Problem, ProblemCode};
use leptos::prelude::*;
use tower_sessions::session::Id;

const ACCOUNT: &str = "/account";

#[server(prefix = "/do", endpoint = "rename_me")]
pub async fn rename_me(#[server(default)] name: String) -> Result<(), ServerFnError> {
    let (user, scope) = ssr::oneself().map_err(refuse)?;
    let renamed = ssr::door().engine.rename_user(&scope, user.id, &name).await;
    let flash = match renamed {
        Ok(()) => Flash::notice("Your name was saved."),
        Err(problem) => Flash::problem(problem, &[("name", &name)]),
    };
    flash_and_redirect(flash, ACCOUNT).await.map_err(refuse)
}

#[server(prefix = "/do", endpoint = "change_password")]
pub async fn change_password(
    #[server(default)] old_password: String,
    #[server(default)] new_password: String,
) -> Result<(), ServerFnError> {
    let (user, scope) = ssr::oneself().map_err(refuse)?;
    let here = this_session().await.map_err(refuse)?;
    let change =
        PasswordChange { scope: &scope, user: &user, session: &here, old: &old_password, new: &new_password };
    let flash = match ssr::door().gate.change_password(change).await {
        Ok(()) => Flash::notice("Your password was changed. Every other browser was signed out."),
        Err(problem) => Flash::problem(problem, &[]),
    };
    flash_and_redirect(flash, ACCOUNT).await.map_err(refuse)
}

#[server(prefix = "/do", endpoint = "end_session")]
pub async fn end_session(id: String) -> Result<(), ServerFnError> {
    let (user, scope) = ssr::oneself().map_err(refuse)?;
    let ended = ssr::door().engine.end_sessions(&scope, user.id, EndSessions::Only(id)).await;
    let flash = match ended {
        Ok(0) => Flash::problem(Problem::not_found("This session"), &[]),
        Ok(_) => Flash::notice("That browser was signed out."),
        Err(problem) => Flash::problem(problem, &[]),
    };
    flash_and_redirect(flash, ACCOUNT).await.map_err(refuse)
}

/// This browser's own session ends too.
#[server(prefix = "/do", endpoint = "sign_out_everywhere")]
pub async fn sign_out_everywhere() -> Result<(), ServerFnError> {
    let (user, scope) = ssr::oneself().map_err(refuse)?;
    ssr::door().engine.end_sessions(&scope, user.id, EndSessions::All).await.map_err(refuse)?;
    session().await.map_err(refuse)?.flush().await.map_err(session_problem).map_err(refuse)?;
    see_other("/login");
    Ok(())
}

pub async fn this_session() -> Result<Id, Problem> {
    let id = session().await?.id();
    id.ok_or_else(|| Problem::new(ProblemCode::Unauthenticated, "Please sign in first."))
}
