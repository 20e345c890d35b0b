//! The forms behind a link: choosing a password, and joining a tenant with the one somebody has.

use super::server_fns::remember;
use crate::ssr::{self, ChosenPassword, Flash, flash_and_redirect, refuse};
use leptos::prelude::*;

#[server(prefix = "/do", endpoint = "choose_password")]
pub async fn choose_password(
    #[server(default)] token: String,
    #[server(default)] name: Option<String>,
    #[server(default)] password: String,
) -> Result<(), ServerFnError> {
    let typed = name.clone().unwrap_or_default();
    let form = ChosenPassword { token: token.clone(), name, password };
    let answer = match ssr::door().gate.choose_password(form, ssr::origin()).await {
        Ok(user) => match remember(&user, "by a link").await {
            Ok(()) => flash_and_redirect(Flash::notice(format!("Welcome, {}.", user.name)), "/").await,
            Err(problem) => Err(problem),
        },
        Err(problem) => {
            let back = ssr::link_page("/invite", &token);
            ssr::back_to_link(Flash::problem(problem, &[("name", &typed)]), &back).await
        }
    };
    answer.map_err(refuse)
}

#[server(prefix = "/do", endpoint = "join_tenant")]
pub async fn join_tenant(#[server(default)] token: String) -> Result<(), ServerFnError> {
    let (user, scope) = ssr::oneself().map_err(refuse)?;
    let answer = match ssr::door().gate.join(&scope, user.id, &token).await {
        Ok(tenant) => {
            let flash = Flash::notice(format!("You are now a member of {}.", tenant.name));
            flash_and_redirect(flash, &format!("/t/{}", tenant.slug)).await
        }
        Err(problem) => {
            ssr::back_to_link(Flash::problem(problem, &[]), &ssr::link_page("/invite", &token)).await
        }
    };
    answer.map_err(refuse)
}
