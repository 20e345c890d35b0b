//! Parts that the pages of people share: what is shown once, lists of keys, and the audit log.

use super::{keys, members};
use crate::{
    components::{
        badge::{Badge, Tone},
        form::{Field, Labelled, TextField},
        time::Ago,
    },
    ssr::{self, Flash},
};
use axum::http::{header, request::Parts};
use leasehold_queue::triggers::schedule::zone_names;
use leasehold_types::{Timestamp, people::AuditEntry, view::ApiKey};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

/// The address people reach this site under: what the installation says, or else what their browser asked for.
fn site() -> String {
    if let Some(public) = ssr::door().public_url {
        return public.to_string();
    }
    let parts = expect_context::<Parts>();
    let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let local = name == "localhost" || name.starts_with("127.") || name == "[::1]";
    format!("{}://{host}", if local { "http" } else { "https" })
}

/// What a page shows this once.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Secret {
    Key { key: String, site: String },
    Link(String),
}

/// What [`ssr::show_once`] left for this page.
pub fn waiting_secret(flash: &Flash, once: &str) -> Option<Secret> {
    if let Some(key) = ssr::shown_once(flash, keys::KEY, once) {
        return Some(Secret::Key { key, site: site() });
    }
    let path = ssr::shown_once(flash, members::LINK, once)?;
    Some(Secret::Link(format!("{}{path}", site())))
}

/// The box with a secret that will not be shown again. Selecting it selects all of it.
#[component]
pub fn ShownOnce(secret: Option<Secret>) -> impl IntoView {
    secret.map(|secret| {
        let (title, note, text, site) = match secret {
            Secret::Key { key, site } => {
                ("Your new key", "Copy it now. It is not stored and cannot be shown again.", key, Some(site))
            }
            Secret::Link(link) => {
                let note = "Send it to them yourself. It works once, within three days, and is not shown again.";
                ("Sign-in link", note, link, None)
            }
        };
        let curl = site.map(|site| {
            let line = format!("curl -H \"X-API-KEY: $LEASEHOLD_API_KEY\" {site}/api/v1/jobs");
            view! {
                <p class="muted">"Try it:"</p>
                <pre class="terminal copy" tabindex="0" role="region" aria-label="Try it in a terminal">
                    {format!("export LEASEHOLD_API_KEY={text}\n{line}")}
                </pre>
            }
        });
        view! {
            <section class="card shown-once" aria-label=title>
                <h2>{title}</h2>
                <p>{note}</p>
                <pre class="terminal copy" tabindex="0" id="shown-once" role="region" aria-label=format!("{title}, to copy")>{text.clone()}</pre>
                {curl}
            </section>
        }
    })
}

/// Keys with what they may do; with `revoke`, the form's address and its hidden slug.
#[component]
pub fn Keys(keys: Vec<ApiKey>, now: Timestamp, revoke: Option<(&'static str, String)>) -> impl IntoView {
    if keys.is_empty() {
        return view! { <p class="quiet">"No keys yet. Programs need one to use the API."</p> }.into_any();
    }
    let rows = keys.into_iter().map(|key| key_row(key, now, revoke.clone())).collect_view();
    view! { <ul class="rows people">{rows}</ul> }.into_any()
}

fn key_row(key: ApiKey, now: Timestamp, revoke: Option<(&'static str, String)>) -> impl IntoView {
    let over = key.revoked_at.is_some() || key.expires_at.is_some_and(|at| at <= now);
    let state = match (key.revoked_at, key.expires_at) {
        (Some(at), _) => view! { "revoked " <Ago at now /> }.into_any(),
        (None, Some(at)) if at <= now => view! { "expired " <Ago at now /> }.into_any(),
        (None, Some(at)) => view! { "expires " <Ago at now /> }.into_any(),
        (None, None) => "never expires".into_any(),
    };
    let used = match key.last_used_at {
        Some(at) => view! { "last used " <Ago at now /> }.into_any(),
        None => "never used".into_any(),
    };
    let action = revoke.filter(|_| !over).map(|(action, slug)| {
        view! {
            <details class="pop pop-right">
                <summary class="button button-small button-danger">
                    "Revoke" <span class="visually-hidden">{format!(" {}", key.name)}</span>
                </summary>
                <form class="pop-panel pop-form" method="post" action=action>
                    <input type="hidden" name="slug" value=slug />
                    <input type="hidden" name="prefix" value=key.prefix.clone() />
                    <p>"Programs that use it will be refused. This cannot be undone."</p>
                    <button class="button button-danger" type="submit">"Revoke this key"</button>
                </form>
            </details>
        }
    });
    view! {
        <li class="row person" class:over=over>
            <div class="row-main">
                <span class="row-title">{key.name.clone()}</span>
                <span class="muted row-note">
                    <code>{format!("lh_{}_…", key.prefix)}</code> " · " {state} " · " {used}
                </span>
            </div>
            <span class="person-role">
                {key.scopes.iter().map(|scope| view! { <code class="tag">{scope.clone()}</code> " " }).collect_view()}
            </span>
            <div class="person-actions">{action}</div>
        </li>
    }
}

/// The form that makes a key.
#[component]
pub fn NewKey(
    action: &'static str,
    slug: String,
    flash: Flash,
    /// What it may be for, and what that means.
    scopes: Vec<(&'static str, &'static str)>,
) -> impl IntoView {
    let chosen = flash.value("key_scope");
    let options = scopes
        .into_iter()
        .map(|(scope, meaning)| view! { <option value=scope selected=scope == chosen>{meaning}</option> })
        .collect_view();
    let field = |id: &str, label: &str| Field::new(id, label).error(flash.error(id));
    view! {
        <form class="form inline-form" method="post" action=action>
            <input type="hidden" name="slug" value=slug />
            <TextField field=field("key_name", "Name") name="key_name" value=flash.value("key_name") />
            <Labelled field=field("key_scope", "Scope")>
                <select class="input select" id="key_scope" name="key_scope">{options}</select>
            </Labelled>
            <TextField
                field=field("expires_days", "Expires after (days)").optional()
                name="expires_days"
                value=flash.value("expires_days")
            />
            <button class="button button-primary" type="submit">"Create key"</button>
        </form>
    }
}

/// A time zone by its name. The browser completes it, also without script.
#[component]
pub fn ZoneField(field: Field, value: String) -> impl IntoView {
    let zones = zone_names().into_iter().map(|name| view! { <option value=name></option> }).collect_view();
    view! {
        <TextField field name="timezone" value list="timezones" autocomplete="off" />
        <datalist id="timezones">{zones}</datalist>
    }
}

/// What was done, newest first.
#[component]
pub fn AuditTable(entries: Vec<(AuditEntry, Option<String>)>, now: Timestamp) -> impl IntoView {
    if entries.is_empty() {
        return view! { <p class="quiet">"No matching entries."</p> }.into_any();
    }
    let rows = entries.into_iter().map(|(entry, tenant)| audit_row(entry, tenant, now)).collect_view();
    view! {
        <div class="table-frame" tabindex="0" role="region" aria-label="Audit log, newest first">
            <table class="table audit-table">
                <caption class="visually-hidden">"Audit log, newest first"</caption>
                <thead>
                    <tr>
                        <th scope="col">"When"</th>
                        <th scope="col">"Who"</th>
                        <th scope="col">"Action"</th>
                        <th scope="col">"Object"</th>
                        <th scope="col" class="middling">"Reason"</th>
                        <th scope="col" class="wide">"Origin"</th>
                        <th scope="col" class="wide number-cell">"Sequence"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn audit_row(entry: AuditEntry, tenant: Option<String>, now: Timestamp) -> impl IntoView {
    let place = match entry.position {
        Some(position) => format!("#{position}").into_any(),
        None => view! { <Badge tone=Tone::Queued label="pending" /> }.into_any(),
    };
    view! {
        <tr>
            <td class="muted nowrap">
                <Ago at=entry.created_at now />
            </td>
            <td class="breakable audit-who">{entry.actor}</td>
            <td>
                <code>{entry.action}</code>
            </td>
            <td class="breakable audit-object">
                {format!("{} {}", entry.object_type, entry.object_id)}
                {tenant.map(|slug| view! { <span class="muted row-note">{format!(" in {slug}")}</span> })}
            </td>
            <td class="middling breakable audit-reason">{entry.reason}</td>
            <td class="wide muted audit-from" title=entry.origin.clone()>{entry.origin.clone()}</td>
            <td class="wide number-cell muted">{place}</td>
        </tr>
    }
}
