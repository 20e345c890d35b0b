//! Signing in; on the first start, where to find the setup link.

use super::{asked, page};
use crate::{
    components::{
        form::{Field, TextField},
        icon::{self, Brand, Icon},
        notice::{FlashMessage, PlainHttp},
        title::PageTitle,
    },
    islands::theme::ThemeSwitch,
    ssr::{self, CookieTrouble, Flash},
};
use leasehold_types::Problem;
use leptos::prelude::*;

#[component]
pub fn LoginPage() -> impl IntoView {
    let next = asked("next");
    let wait = asked("wait").parse().ok();
    let ended = !asked("ended").is_empty();
    let trouble = ssr::cookie_trouble();
    page(
        async move {
            let has_users = ssr::door().engine.has_users().await?;
            Ok((has_users, wait.map_or_else(ssr::flash, too_many)))
        },
        move |(has_users, flash)| {
            let content =
                if has_users { sign_in(flash, next, ended).into_any() } else { first_run().into_any() };
            let trouble = trouble
                .map(|CookieTrouble(host)| view! { <div class="card lone-card"><PlainHttp host /></div> });
            view! {
                <PageTitle text="Sign in · Leasehold" />
                <main class="lone" id="content">
                    <Brand />
                    {trouble}
                    {content}
                    <ThemeSwitch />
                </main>
            }
            .into_any()
        },
    )
}

/// The address says how long to wait; everything else is ours.
fn too_many(seconds: u32) -> Flash {
    Flash::problem(Problem::too_many_attempts(seconds), &[])
}

fn sign_in(flash: Flash, next: String, ended: bool) -> impl IntoView {
    let ended = (ended && flash.problem.is_none()).then(|| {
        view! {
            <div class="notice notice-warn" role="status">
                <Icon d=icon::ALERT />
                <p>"You are not signed in any more. What you sent changed nothing; sign in and send it again."</p>
            </div>
        }
    });
    let email = flash.value("email");
    let typed = !email.is_empty();
    view! {
        <div class="card lone-card">
            <h1>"Sign in"</h1>
            {ended}
            <FlashMessage flash />
            <form class="form" method="post" action="/do/sign_in">
                <input type="hidden" name="next" value=next />
                <TextField
                    field=Field::new("email", "E-mail")
                    name="email"
                    kind="email"
                    value=email
                    autocomplete="username"
                    autofocus=!typed
                />
                <TextField
                    field=Field::new("password", "Password")
                    name="password"
                    kind="password"
                    autocomplete="current-password"
                    autofocus=typed
                />
                <button class="button button-primary button-block" type="submit">"Sign in"</button>
            </form>
        </div>
    }
}

fn first_run() -> impl IntoView {
    view! {
        <div class="card lone-card lone-message">
            <Icon d=icon::LINK />
            <h1>"Welcome to Leasehold"</h1>
            <p>
                "Nobody has an account here yet. The server printed a one-time setup link when it started; open it to
                make the first account."
            </p>
            <p class="terminal">"Set up Leasehold: http://…/setup?token=…"</p>
            <p class="muted">
                "The link works once and for 24 hours. Restart the server for a fresh one, or add a user on the
                terminal with " <code>"leasehold user add"</code> "."
            </p>
        </div>
    }
}
