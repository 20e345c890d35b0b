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
                        <div class="column">{name_form(&flash, name, &email)} {password_form(&flash, email)}</div>
                        {browsers(sessions, &here, now)}
                    </div>
                </Layout>
            }
            .into_any()
        },
    )
}

fn name_form(flash: &Flash, name: String, email: &str) -> impl IntoView + use<> {
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

fn password_form(flash: &Flash, email: String) -> impl IntoView + use<> {
    let field = |id: &str, label: &str| Field::new(id, label).error(flash.error(id));
    view! {
        <section class="card">
            <h2>"Password"</h2>
            <form class="form" method="post" action="/do/change_password">
                // For password managers: they file the new password under it.
                <input type="email" value=email autocomplete="username" readonly hidden />
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
    let agent = session.agent.unwrap_or_default();
    let name = browser_name(&agent).unwrap_or_else(|| "An unknown browser".into());
    let address = session.address.unwrap_or_else(|| "an unknown address".into());
    view! {
        <li class="row person">
            <div class="row-main">
                <span class="row-title breakable" title=agent>{name}</span>
                <span class="muted row-note">
                    {address} " · since " <Ago at=session.since now /> " · seen " <Ago at=session.seen_at now />
                </span>
            </div>
            <span></span>
            <div class="person-actions">{action}</div>
        </li>
    }
}

/// “Firefox on Windows”, as far as what a browser calls itself tells. Most name others too, so the order counts. What is
/// no browser keeps its own words.
fn browser_name(agent: &str) -> Option<String> {
    const BROWSERS: &[(&str, &str)] = &[
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("SamsungBrowser", "Samsung Internet"),
        ("Firefox/", "Firefox"),
        ("FxiOS/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("CriOS/", "Chrome"),
        ("Safari/", "Safari"),
    ];
    const SYSTEMS: &[(&str, &str)] = &[
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("CrOS", "ChromeOS"),
        ("Linux", "Linux"),
    ];
    let find = |known: &[(&str, &'static str)]| {
        known.iter().find(|(sign, _)| agent.contains(sign)).map(|(_, name)| *name)
    };
    match (find(BROWSERS), find(SYSTEMS)) {
        (Some(browser), Some(system)) => Some(format!("{browser} on {system}")),
        (Some(browser), None) => Some(browser.to_owned()),
        _ => Some(agent.to_owned()).filter(|agent| !agent.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::browser_name;

    #[test]
    fn a_browser_is_called_what_people_call_it() {
        let webkit = "AppleWebKit/537.36 (KHTML, like Gecko)";
        for (agent, name) in [
            (
                format!("Mozilla/5.0 (X11; Linux x86_64) {webkit} Chrome/131.0 Safari/537.36"),
                "Chrome on Linux",
            ),
            (
                format!("Mozilla/5.0 (Windows NT 10.0) {webkit} Chrome/131.0 Safari/537.36 Edg/131.0"),
                "Edge on Windows",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 14.6; rv:130.0) Gecko/20100101 Firefox/130.0".into(),
                "Firefox on macOS",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Safari/604.1".into(),
                "Safari on iPhone",
            ),
            ("curl/8.5.0".into(), "curl/8.5.0"),
        ] {
            assert_eq!(browser_name(&agent).as_deref(), Some(name), "{agent}");
        }
        assert_eq!(browser_name(""), None);
    }
}
