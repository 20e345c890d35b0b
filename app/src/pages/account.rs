//! One's own account: name, password, and the browsers one is signed in with.

use super::page;
use crate::{
    components::{
        badge::{Badge, Tone},
        form::{Field, TextField},
        layout::{Frame, Here, Layout, PageHead},
        time::Ago,
    },
    people::account::this_session,
    ssr::{self, Flash},
};
use leasehold_types::{Problem, Timestamp, people::SignedIn};
use leptos::prelude::*;

#[component]
pub fn AccountPage() -> impl IntoView {
    page(
        async {
            let frame = Frame::outside().await?;
            let door = ssr::door();
            let here = door.gate.session_hash(&this_session().await?);
            let sessions = door.engine.sessions_of(frame.user.id).await?;
            Ok::<_, Problem>((frame, sessions, here))
        },
        |(frame, sessions, here)| {
            let (now, flash, name) = (frame.now, frame.flash.clone(), frame.user.name.clone());
            let email = frame.user.email.clone();
            view! {
                <Layout frame here=Here::Account title="Your account">
                    <PageHead title="Your account" />
                    <div class="columns columns-even">
                        <div class="column">{name_form(&flash, name, email)} {password_form(&flash)}</div>
                        {browsers(sessions, &here, now)}
                    </div>
                </Layout>
            }
            .into_any()
        },
    )
}

fn name_form(flash: &Flash, name: String, email: String) -> impl IntoView + use<> {
    let typed = Some(flash.value("name")).filter(|typed| !typed.is_empty()).unwrap_or(name);
    let field = Field::new("name", "Your name").error(flash.error("name"));
    view! {
        <section class="card">
            <h2>"You"</h2>
            <form class="form" method="post" action="/do/rename_me">
                <TextField field name="name" value=typed autocomplete="name" />
                <p class="hint">{format!("You sign in as {email}.")}</p>
                <button class="button" type="submit">"Save name"</button>
            </form>
        </section>
    }
}

fn password_form(flash: &Flash) -> impl IntoView + use<> {
    let field = |id: &str, label: &str| Field::new(id, label).error(flash.error(id));
    view! {
        <section class="card">
            <h2>"Password"</h2>
            <form class="form" method="post" action="/do/change_password">
                <TextField
                    field=field("old_password", "Current password")
                    name="old_password"
                    kind="password"
                    autocomplete="current-password"
                />
                <TextField
                    field=field("new_password", "New password")
                        .hint("At least 10 characters. Every other browser is signed out.")
                    name="new_password"
                    kind="password"
                    autocomplete="new-password"
                    min_length=10
                />
                <button class="button" type="submit">"Change password"</button>
            </form>
        </section>
    }
}

fn browsers(sessions: Vec<SignedIn>, here: &str, now: Timestamp) -> impl IntoView + use<> {
    let rows = sessions
        .into_iter()
        .map(|session| {
            let own = session.id == here;
            browser(session, own, now)
        })
        .collect_view();
    view! {
        <section class="card" aria-labelledby="browsers">
            <h2 id="browsers">"Where you are signed in"</h2>
            <ul class="rows people">{rows}</ul>
            <form class="form-foot" method="post" action="/do/sign_out_everywhere">
                <button class="button button-danger" type="submit">"Sign out everywhere"</button>
            </form>
        </section>
    }
}

fn browser(session: SignedIn, own: bool, now: Timestamp) -> impl IntoView {
    let action = if own {
        view! { <Badge tone=Tone::Completed label="this browser" /> }.into_any()
    } else {
        view! {
            <form method="post" action="/do/end_session">
                <input type="hidden" name="id" value=session.id.clone() />
                <button class="button button-small" type="submit">"Sign out"</button>
            </form>
        }
        .into_any()
    };
    let address = session.address.unwrap_or_else(|| "an unknown address".into());
    view! {
        <li class="row person">
            <div class="row-main">
                <span class="row-title breakable">{session.agent.unwrap_or_else(|| "An unknown browser".into())}</span>
                <span class="muted row-note">
                    {address} " · since " <Ago at=session.since now /> " · seen " <Ago at=session.seen_at now />
                </span>
            </div>
            <span></span>
            <div class="person-actions">{action}</div>
        </li>
    }
}
