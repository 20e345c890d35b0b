//! Behind an invitation, or a link for a lost password: choosing one, or joining a tenant with the one somebody has.

use super::{asked, page};
use crate::{
    components::{
        form::{Field, TextField},
        icon::{self, Brand, Icon},
        notice::FlashMessage,
        time::Ago,
        title::PageTitle,
    },
    jobs::query::encode,
    ssr::{self, Flash},
};
use leasehold_types::{
    Problem, ProblemCode, Role,
    people::{Joining, LinkOwner},
    view::User,
};
use leptos::prelude::*;

#[component]
pub fn InvitePage() -> impl IntoView {
    let token = asked("token");
    let to_check = token.clone();
    page(
        async move {
            let owner = match ssr::door().gate.link_owner(&to_check).await {
                Ok(owner) => Ok(owner),
                // Its own page, not the general one: what to do next is different.
                Err(problem) if problem.code == ProblemCode::SetupLinkInvalid => Err(problem),
                Err(other) => return Err(other),
            };
            Ok((owner, ssr::flash()))
        },
        move |(owner, flash)| {
            let content = match owner {
                Ok(LinkOwner { user, joins: Some(joining), invited: false, made_by }) => {
                    join(token, &user, &joining, made_by.as_deref()).into_any()
                }
                Ok(LinkOwner { user, invited, joins, .. }) => {
                    form(flash, token, user, invited, joins).into_any()
                }
                Err(problem) => over(&problem).into_any(),
            };
            view! {
                <PageTitle text="Welcome · Leasehold" />
                <main class="lone" id="content">
                    <Brand />
                    {content}
                </main>
            }
            .into_any()
        },
    )
}

fn form(flash: Flash, token: String, user: User, invited: bool, joins: Option<Joining>) -> impl IntoView {
    let field = |name: &str, label: &str| Field::new(name, label).error(flash.error(name));
    let title = match (&joins, invited) {
        (Some(joining), _) => format!("Join {}", joining.tenant_name),
        (None, true) => "Welcome to Leasehold".to_owned(),
        (None, false) => "Choose a new password".to_owned(),
    };
    let may = joins.map(|joining| format!("You will be able to {}. ", may(joining.role)));
    let name = invited.then(|| {
        let typed = flash.value("name");
        view! { <TextField field=field("name", "Your name") name="name" value=typed autocomplete="name" autofocus=true /> }
    });
    view! {
        <div class="card lone-card">
            <h1>{title}</h1>
            <p class="muted breakable">{may} {format!("You will sign in as {}.", user.email)}</p>
            <FlashMessage flash=flash.clone() />
            <form class="form" method="post" action="/do/choose_password">
                <input type="hidden" name="token" value=token />
                // For password managers: whose password this is.
                <input type="hidden" name="username" value=user.email.clone() autocomplete="username" disabled />
                {name}
                <TextField
                    field=field("password", "Password").hint("At least 10 characters.")
                    name="password"
                    kind="password"
                    autocomplete="new-password"
                    autofocus=!invited
                    min_length=10
                />
                <button class="button button-primary button-block" type="submit">"Save and sign in"</button>
            </form>
        </div>
    }
}

/// Only whoever knows the account's password joins: the address alone proves nothing.
fn join(token: String, user: &User, joining: &Joining, made_by: Option<&str>) -> impl IntoView + use<> {
    let visitor = ssr::signed_in().ok();
    let may = may(joining.role);
    let email = user.email.clone();
    let made = format!("This account was made by {}", made_by.unwrap_or("somebody"));
    let (at, now) = (user.created_at, ssr::door().engine.now());
    let next = match visitor {
        Some(visitor) if visitor.id == user.id => view! {
            <form class="form" method="post" action="/do/join_tenant">
                <input type="hidden" name="token" value=token />
                <button class="button button-primary button-block" type="submit">"Join"</button>
            </form>
        }
        .into_any(),
        Some(visitor) => view! {
            <p class="muted breakable">
                {format!("You are signed in as {}. Sign out, then open this link again.", visitor.email)}
            </p>
            <form method="post" action="/do/sign_out">
                <button class="button button-block" type="submit">"Sign out"</button>
            </form>
        }
        .into_any(),
        None => {
            let back = encode(&ssr::link_page("/invite", &token));
            view! { <a class="button button-primary button-block" href=format!("/login?next={back}")>"Sign in to join"</a> }
                .into_any()
        }
    };
    view! {
        <div class="card lone-card">
            <h1>{format!("Join {}", joining.tenant_name)}</h1>
            <p class="breakable">{format!("{email} is invited, and will be able to {may}.")}</p>
            <p class="muted breakable">
                {made} " " <Ago at now />
                ". If that was not you, or for you, tell whoever invited you and do not join."
            </p>
            {next}
        </div>
    }
}

fn may(role: Role) -> &'static str {
    match role {
        Role::Admin => "do everything there",
        Role::Viewer => "look at everything there",
    }
}

fn over(problem: &Problem) -> impl IntoView + use<> {
    ssr::say_status(problem);
    view! {
        <div class="card lone-card lone-message">
            <Icon d=icon::LINK />
            <h1>"This link does not work"</h1>
            <p>{problem.detail.clone()}</p>
            <p class="muted">"A link works once and for three days. If you have a password already, sign in."</p>
            <a class="button" href="/login">"Sign in"</a>
        </div>
    }
}
