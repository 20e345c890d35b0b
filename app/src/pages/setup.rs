//! The first super-admin and the first tenant, by the one-time link.

use super::{asked, page};
use crate::{
    components::{
        form::{Field, TextField},
        icon::{self, Brand, Icon},
        notice::{FlashMessage, PlainHttp},
        title::PageTitle,
    },
    ssr::{self, CookieTrouble, Flash},
};
use leasehold_types::{Problem, ProblemCode};
use leptos::prelude::*;

#[component]
pub fn SetupPage() -> impl IntoView {
    let token = asked("token");
    let to_check = token.clone();
    let trouble = ssr::cookie_trouble();
    page(
        async move {
            let valid = match ssr::door().gate.check_setup_token(&to_check).await {
                Ok(()) => Ok(()),
                // Its own page, not the general one: what to do next is different.
                Err(problem) if problem.code == ProblemCode::SetupLinkInvalid => Err(problem),
                Err(other) => return Err(other),
            };
            Ok((valid, ssr::flash()))
        },
        move |(valid, flash)| {
            let content = match valid {
                Ok(()) => form(flash, token).into_any(),
                Err(problem) => expired(&problem).into_any(),
            };
            let trouble = trouble
                .map(|CookieTrouble(host)| view! { <div class="card lone-card"><PlainHttp host /></div> });
            view! {
                <PageTitle text="Set up · Leasehold" />
                <main class="lone" id="content">
                    <Brand />
                    {trouble}
                    {content}
                </main>
            }
            .into_any()
        },
    )
}

fn form(flash: Flash, token: String) -> impl IntoView {
    let field = |name: &str, label: &str| Field::new(name, label).error(flash.error(name));
    view! {
        <div class="card lone-card">
            <h1>"Set up Leasehold"</h1>
            <p class="muted">"Your account will have full access. This link works once."</p>
            <FlashMessage flash=flash.clone() />
            <form class="form" method="post" action="/do/set_up">
                <input type="hidden" name="token" value=token />
                <TextField
                    field=field("name", "Your name")
                    name="name"
                    value=flash.value("name")
                    autocomplete="name"
                    autofocus=true
                />
                <TextField
                    field=field("email", "E-mail")
                    name="email"
                    kind="email"
                    value=flash.value("email")
                    autocomplete="username"
                />
                <TextField
                    field=field("password", "Password").hint("At least 10 characters.")
                    name="password"
                    kind="password"
                    autocomplete="new-password"
                    min_length=10
                />
                <TextField
                    field=field("tenant_name", "Tenant name")
                        .hint("The team or organisation whose jobs run here. More can be added later.")
                    name="tenant_name"
                    value=flash.value("tenant_name")
                    autocomplete="organization"
                />
                <button class="button button-primary button-block" type="submit">"Create account"</button>
            </form>
        </div>
    }
}

fn expired(problem: &Problem) -> impl IntoView + use<> {
    ssr::say_status(problem);
    view! {
        <div class="card lone-card lone-message">
            <Icon d=icon::LINK />
            <h1>"This setup link does not work"</h1>
            <p>{problem.detail.clone()}</p>
            <p class="muted">
                "A link works once and for 24 hours. If nobody has an account yet, restart the server: it prints a
                fresh one. Otherwise sign in."
            </p>
            <a class="button" href="/login">"Sign in"</a>
        </div>
    }
}
