//! Everybody with an account; for super-admins.

use super::{asked, page};
use crate::{
    components::{
        badge::{Badge, Tone},
        layout::{Frame, Here, Layout, PageHead},
        time::Ago,
    },
    people::lists::{ShownOnce, waiting_secret},
    ssr,
};
use leasehold_types::{Problem, Timestamp, UserId, people::Account};
use leptos::prelude::*;

#[component]
pub fn UsersPage() -> impl IntoView {
    let once = asked("once");
    page(
        async move {
            let (_, scope) = ssr::governing()?;
            let frame = Frame::outside().await?;
            let accounts = ssr::door().engine.accounts(&scope).await?;
            let secret = waiting_secret(&frame.flash, &once);
            Ok::<_, Problem>((frame, accounts, secret))
        },
        |(frame, accounts, secret)| {
            let (now, me) = (frame.now, frame.user.id);
            let rows = accounts.into_iter().map(|account| row(account, me, now)).collect_view();
            view! {
                <Layout frame here=Here::Users title="Users">
                    <PageHead title="Users" />
                    <ShownOnce secret />
                    <section class="card">
                        <ul class="rows people">{rows}</ul>
                        <p class="hint">"People are invited in the settings of a tenant."</p>
                    </section>
                </Layout>
            }
            .into_any()
        },
    )
}

fn row(account: Account, me: UserId, now: Timestamp) -> impl IntoView {
    let Account { user, invited, disabled_at, tenants, made_by } = account;
    let disabled = disabled_at.is_some();
    let state = match (disabled, invited) {
        (true, _) => Some(view! { <Badge tone=Tone::Cancelled label="disabled" /> }),
        (false, true) => Some(view! { <Badge tone=Tone::Scheduled label="invited" /> }),
        (false, false) => None,
    };
    let role = user.super_admin.then(|| view! { <code class="tag">"super-admin"</code> });
    let places = if tenants.is_empty() { "no tenant".to_owned() } else { tenants.join(", ") };
    let (id, email) = (user.id.to_string(), user.email.clone());
    let actions = (user.id != me).then(
        || view! { {(!disabled).then(|| link_form(&id, &email))} {switch_form(&id, &email, disabled)} },
    );
    view! {
        <li class="row person">
            <div class="row-main">
                <span class="row-title">{user.name}</span>
                <span class="muted row-note breakable">
                    {user.email} " · " {places} " · made " <Ago at=user.created_at now />
                    {made_by.map(|by| format!(" by {by}"))}
                </span>
            </div>
            <span class="person-role">{role} " " {state}</span>
            <div class="person-actions">{actions}</div>
        </li>
    }
}

fn link_form(id: &str, email: &str) -> impl IntoView + use<> {
    view! {
        <form method="post" action="/do/reset_password">
            <input type="hidden" name="user" value=id.to_owned() />
            <button class="button button-small" type="submit">
                "Password link" <span class="visually-hidden">{format!(" for {email}")}</span>
            </button>
        </form>
    }
}

fn switch_form(id: &str, email: &str, disabled: bool) -> impl IntoView + use<> {
    let (word, value) = if disabled { ("Enable", "no") } else { ("Disable", "yes") };
    view! {
        <form method="post" action="/do/set_disabled">
            <input type="hidden" name="user" value=id.to_owned() />
            <input type="hidden" name="disabled" value=value />
            <button class="button button-small" class:button-danger=!disabled type="submit">
                {word} <span class="visually-hidden">{format!(" {email}")}</span>
            </button>
        </form>
    }
}
