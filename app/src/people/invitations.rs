//! The form behind a link: choosing a password.

use super::server_fns::remember;
use crate::{
    jobs::query::encode,
    ssr::{self, ChosenPassword, Flash, flash_and_redirect, refuse},
};
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
        Ok(user) => match remember(&user).await {
            Ok(()) => flash_and_redirect(Flash::notice(format!("Welcome, {}.", user.name)), "/").await,
            Err(problem) => Err(problem),
        },
        Err(problem) => {
            let back = format!("/invite?token={}", encode(&token));
            flash_and_redirect(Flash::problem(problem, &[("name", &typed)]), &back).await
        }
    };
    answer.map_err(refuse)
}
