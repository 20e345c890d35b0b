//! The forms of people. A wrong password is answered on the page, with what was typed (never the password).

use super::device;
use crate::{
    jobs::query::encode,
    ssr::{
        self, Flash, SESSION_USER, SetupForm, SignInAttempt, flash_and_redirect, own_path, refuse, see_other,
        session, session_problem,
    },
};
use axum::{extract::ConnectInfo, http::request::Parts};
use leasehold_queue::engine::{SESSION_ADDRESS, SESSION_AGENT};
use leasehold_types::{Problem, view::User};
use leptos::prelude::*;
use std::net::{IpAddr, SocketAddr};

#[server(prefix = "/do", endpoint = "sign_in")]
pub async fn sign_in(
    #[server(default)] email: String,
    #[server(default)] password: String,
    #[server(default)] next: String,
) -> Result<(), ServerFnError> {
    let next = own_path(&next).to_owned();
    let device = device::token();
    let attempt =
        SignInAttempt { email: &email, password: &password, address: address(), device: device.as_deref() };
    let answer = match ssr::door().gate.sign_in(attempt).await {
        Ok(user) => remember(&user, "with a password").await.map(|()| see_other(&next)),
        Err(problem) => {
            let back = format!("/login?next={}", encode(&next));
            match problem.retry_after_seconds {
                // Said by the address alone: whoever comes too often leaves nothing behind here.
                Some(seconds) => {
                    see_other(&format!("{back}&wait={seconds}"));
                    Ok(())
                }
                None => flash_and_redirect(Flash::problem(problem, &[("email", &email)]), &back).await,
            }
        }
    };
    answer.map_err(refuse)
}

#[server(prefix = "/do", endpoint = "sign_out")]
pub async fn sign_out() -> Result<(), ServerFnError> {
    if let Ok(user) = ssr::signed_in() {
        ssr::door().engine.signed_out(&user, ssr::origin()).await.map_err(refuse)?;
    }
    let session = session().await.map_err(refuse)?;
    session.flush().await.map_err(session_problem).map_err(refuse)?;
    see_other("/login");
    Ok(())
}

#[server(prefix = "/do", endpoint = "set_up")]
pub async fn set_up(
    #[server(default)] token: String,
    #[server(default)] name: String,
    #[server(default)] email: String,
    #[server(default)] password: String,
    #[server(default)] tenant_name: String,
) -> Result<(), ServerFnError> {
    let typed = [("name", name.as_str()), ("email", email.as_str()), ("tenant_name", tenant_name.as_str())];
    let form = SetupForm {
        token: token.clone(),
        email: email.clone(),
        name: name.clone(),
        password,
        tenant_name: tenant_name.clone(),
        origin: ssr::origin(),
    };
    let answer = match ssr::door().gate.set_up(form).await {
        Ok((user, tenant)) => {
            let home = tenant.map_or("/tenants".to_owned(), |t| format!("/t/{}", t.slug));
            welcome(&user, &home).await
        }
        Err(problem) => {
            let back = ssr::link_page("/setup", &token);
            ssr::back_to_link(Flash::problem(problem, &typed), &back).await
        }
    };
    answer.map_err(refuse)
}

async fn welcome(user: &User, home: &str) -> Result<(), Problem> {
    remember(user, "by the setup link").await?;
    flash_and_redirect(Flash::notice(format!("Welcome, {}. Leasehold is ready.", user.name)), home).await
}

/// A fresh session id at every sign-in, so that one planted before is worth nothing. `how` is for the audit log.
pub(super) async fn remember(user: &User, how: &str) -> Result<(), Problem> {
    let known = device::token();
    let token = ssr::door().engine.signed_in(user, how, known.as_deref(), ssr::origin()).await?;
    device::keep(&token);
    let session = session().await?;
    session.cycle_id().await.map_err(session_problem)?;
    if let Some(agent) = agent() {
        session.insert(SESSION_AGENT, agent).await.map_err(session_problem)?;
    }
    if let Some(address) = address() {
        session.insert(SESSION_ADDRESS, address.to_canonical().to_string()).await.map_err(session_problem)?;
    }
    session.insert(SESSION_USER, user.id).await.map_err(session_problem)
}

/// What the browser calls itself, cut to what a list can show.
fn agent() -> Option<String> {
    let parts = expect_context::<Parts>();
    let text = parts.headers.get(http::header::USER_AGENT)?.to_str().ok()?;
    Some(text.chars().take(200).collect())
}

fn address() -> Option<IpAddr> {
    let parts = expect_context::<Parts>();
    parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip())
}
