//! A tenant's settings: who may come in, which keys open it, and what it may use. Viewers see it without the forms.

use super::{asked, page, param};
use crate::{
    components::{
        badge::{Badge, Tone},
        form::{Field, Labelled, TextField},
        format,
        layout::{Frame, Here, Layout, PageHead},
        time::Ago,
    },
    people::lists::{Keys, NewKey, Secret, ShownOnce, ZoneField, waiting_secret},
    ssr::{self, Flash},
};
use leasehold_types::{
    Problem, Role, TenantLimits, Timestamp,
    people::Member,
    view::{ApiKey, Tenant},
};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

const SCOPES: [(&str, &str); 4] = [
    ("read", "read: see jobs"),
    ("write", "write: enqueue, cancel and retry"),
    ("admin", "admin: all of that, and maintenance"),
    ("worker", "worker: claim and run jobs"),
];

#[derive(Clone, Serialize, Deserialize)]
struct Loaded {
    frame: Frame,
    members: Vec<Member>,
    keys: Vec<ApiKey>,
    waiting: i64,
    running: i64,
    secret: Option<Secret>,
}

async fn load(slug: String, once: String) -> Result<Loaded, Problem> {
    let (visit, frame) = Frame::inside(&slug).await?;
    let engine = ssr::door().engine;
    let overview = engine.overview(&visit.scope, visit.tenant.id).await?;
    Ok(Loaded {
        members: engine.members(&visit.scope, visit.tenant.id).await?,
        keys: engine.keys(&visit.scope).await?,
        waiting: overview.cards.iter().map(|card| card.queued + card.scheduled).sum(),
        running: overview.cards.iter().map(|card| card.running).sum(),
        secret: waiting_secret(&frame.flash, &once),
        frame,
    })
}

#[component]
pub fn SettingsPage() -> impl IntoView {
    page(load(param("slug"), asked("once")), |loaded| {
        let Loaded { frame, members, keys, waiting, running, secret } = loaded;
        let (slug, now, may, flash) = (frame.slug(), frame.now, frame.may_operate, frame.flash.clone());
        let tenant = frame.tenant.clone();
        let limits = frame.tenant.as_ref().map(|t| t.limits.clone()).unwrap_or_default();
        let govern = frame.user.super_admin;
        let audit =
            may.then(|| view! { <a class="button" href=format!("/t/{slug}/settings/audit")>"Audit log"</a> });
        let revoke = may.then(|| ("/do/revoke_key", slug.clone()));
        let new_key = may.then(|| {
            view! { <NewKey action="/do/create_key" slug=slug.clone() flash=flash.clone() scopes=SCOPES.to_vec() /> }
        });
        view! {
            <Layout frame here=Here::Settings title="Settings">
                <PageHead title="Settings">{audit}</PageHead>
                <ShownOnce secret />
                <div class="column">
                    {tenant.map(|tenant| general(tenant, may, &flash))}
                    {people(members, &slug, may, &flash, now)}
                    <section class="card" aria-labelledby="keys">
                        <h2 id="keys">"API keys"</h2>
                        <p class="hint">
                            "With a key, a program can do what people do here. See the " <a href="/api/docs">"API reference"</a> "."
                        </p>
                        <Keys keys now revoke />
                        {new_key}
                    </section>
                    {used(&limits, waiting, running, govern)}
                </div>
            </Layout>
        }
        .into_any()
    })
}

/// What the tenant is called, and on whose clock its schedules are read.
fn general(tenant: Tenant, may: bool, flash: &Flash) -> impl IntoView + use<> {
    let field = |id: &str, label: &str| Field::new(id, label).error(flash.error(id));
    let typed = |id: &str, now: &str| {
        Some(flash.value(id)).filter(|typed| !typed.is_empty()).unwrap_or_else(|| now.to_owned())
    };
    let content = if may {
        view! {
            <form class="form inline-form" method="post" action="/do/update_tenant">
                <input type="hidden" name="slug" value=tenant.slug.clone() />
                <TextField
                    field=field("tenant_name", "Name")
                    name="tenant_name"
                    value=typed("tenant_name", &tenant.name)
                />
                <ZoneField field=field("timezone", "Time zone") value=typed("timezone", &tenant.timezone) />
                <button class="button button-primary" type="submit">"Save"</button>
            </form>
        }
        .into_any()
    } else {
        view! { <p>{format!("{}, in {}", tenant.name, tenant.timezone)}</p> }.into_any()
    };
    view! {
        <section class="card" aria-labelledby="general">
            <h2 id="general">"General"</h2>
            <p class="hint">"New schedules are read on this time zone's clock unless they name another."</p>
            {content}
        </section>
    }
}

fn people(
    members: Vec<Member>,
    slug: &str,
    may: bool,
    flash: &Flash,
    now: Timestamp,
) -> impl IntoView + use<> {
    let governs = |m: &Member| m.role == Role::Admin && !m.invited && m.disabled_at.is_none();
    let admins = members.iter().filter(|member| governs(member)).count();
    let nobody = members
        .is_empty()
        .then(|| view! { <p class="quiet">"No members yet; super-admins have access."</p> });
    let rows = members
        .into_iter()
        .map(|member| {
            let last = admins == 1 && governs(&member);
            member_row(member, slug.to_owned(), may, last, now)
        })
        .collect_view();
    let invite = may.then(|| invite_form(slug.to_owned(), flash));
    view! {
        <section class="card" aria-labelledby="members">
            <h2 id="members">"Members"</h2>
            {nobody}
            <ul class="rows people">{rows}</ul>
            {invite}
        </section>
    }
}

fn member_row(member: Member, slug: String, may: bool, last: bool, now: Timestamp) -> impl IntoView {
    let Member { user, role, joined_at, invited, disabled_at, made_by } = member;
    let state = match (disabled_at, invited) {
        (Some(_), _) => Some(view! { <Badge tone=Tone::Cancelled label="disabled" /> }),
        (None, true) => Some(view! { <Badge tone=Tone::Scheduled label="invited" /> }),
        (None, false) => None,
    };
    let since = if invited { " · invited " } else { " · joined " };
    // Whoever invited an address first may have chosen its account's password; the inviter can notice.
    let made = (invited && user.created_at < joined_at).then(|| {
        let by = made_by.unwrap_or_else(|| "somebody".into());
        view! { {format!(" · account made by {by} ")} <Ago at=user.created_at now /> }
    });
    let actions = may.then(|| {
        let (user_id, email) = (user.id.to_string(), user.email.clone());
        let again = invited.then(|| {
            view! {
                <form method="post" action="/do/renew_invitation">
                    <input type="hidden" name="slug" value=slug.clone() />
                    <input type="hidden" name="user" value=user_id.clone() />
                    <button class="button button-small" type="submit">
                        "New link" <span class="visually-hidden">{format!(" for {email}")}</span>
                    </button>
                </form>
            }
        });
        view! {
            {again}
            {role_form(&slug, &user_id, &email, role, last)}
            {remove_form(&slug, &user_id, &email, last)}
        }
    });
    view! {
        <li class="row person">
            <div class="row-main">
                <span class="row-title">{user.name}</span>
                <span class="muted row-note breakable">{user.email} {since} <Ago at=joined_at now /> {made}</span>
            </div>
            <span class="person-role">
                <code class="tag">{role.as_str()}</code>
                {state}
            </span>
            <div class="person-actions">{actions}</div>
        </li>
    }
}

/// Who is the last admin must say that they mean it.
fn meant(last: bool, id: String) -> impl IntoView {
    last.then(|| {
        view! {
            <label class="check-line" for=id.clone()>
                <input class="check" type="checkbox" id=id.clone() name="even_the_last" value="yes" required />
                "Leave this tenant without an admin"
            </label>
        }
    })
}

fn role_form(slug: &str, user: &str, email: &str, role: Role, last: bool) -> impl IntoView + use<> {
    let (other, word) = match role {
        Role::Admin => ("viewer", "Make viewer"),
        Role::Viewer => ("admin", "Make admin"),
    };
    let hidden = hidden(slug, user);
    let who = format!(" {email}");
    let button = view! { <button class="button button-small" type="submit">{word} <span class="visually-hidden">{who.clone()}</span></button> };
    if !last {
        return view! {
            <form method="post" action="/do/change_role">
                {hidden} <input type="hidden" name="role" value=other /> {button}
            </form>
        }
        .into_any();
    }
    view! {
        <details class="pop pop-right">
            <summary class="button button-small">{word} <span class="visually-hidden">{who}</span></summary>
            <form class="pop-panel pop-form" method="post" action="/do/change_role">
                {hidden} <input type="hidden" name="role" value=other /> {meant(true, format!("role-{user}"))}
                <button class="button button-danger" type="submit">{word}</button>
            </form>
        </details>
    }
    .into_any()
}

fn remove_form(slug: &str, user: &str, email: &str, last: bool) -> impl IntoView + use<> {
    view! {
        <details class="pop pop-right">
            <summary class="button button-small button-danger">
                "Remove" <span class="visually-hidden">{format!(" {email}")}</span>
            </summary>
            <form class="pop-panel pop-form" method="post" action="/do/remove_member">
                {hidden(slug, user)}
                <p class="breakable">{format!("{email} loses access to this tenant at once. Their jobs stay.")}</p>
                {meant(last, format!("remove-{user}"))}
                <button class="button button-danger" type="submit">"Remove this member"</button>
            </form>
        </details>
    }
}

fn hidden(slug: &str, user: &str) -> impl IntoView + use<> {
    view! {
        <input type="hidden" name="slug" value=slug.to_owned() />
        <input type="hidden" name="user" value=user.to_owned() />
    }
}

fn invite_form(slug: String, flash: &Flash) -> impl IntoView + use<> {
    let field = |id: &str, label: &str| Field::new(id, label).error(flash.error(id));
    let admin = flash.value("role") == "admin";
    view! {
        <form class="form inline-form" method="post" action="/do/invite_member">
            <input type="hidden" name="slug" value=slug />
            <TextField field=field("email", "E-mail") name="email" kind="email" value=flash.value("email") />
            <Labelled field=field("role", "Role")>
                <select class="input select" id="role" name="role">
                    <option value="viewer">"viewer: read only, secrets masked"</option>
                    <option value="admin" selected=admin>"admin: full access"</option>
                </select>
            </Labelled>
            <button class="button button-primary" type="submit">"Invite"</button>
        </form>
    }
}

fn used(limits: &TenantLimits, waiting: i64, running: i64, govern: bool) -> impl IntoView + use<> {
    let line = |name: &'static str, used: Option<i64>, max: Option<i64>| {
        let bar = used.zip(max).map(|(used, max)| {
            view! { <progress max=max.to_string() value=used.min(max).to_string() aria-label=name></progress> }
        });
        let text = match (used, max) {
            (Some(used), Some(max)) => format!("{} of {}", format::count(used), format::count(max)),
            (Some(used), None) => format!("{}, no limit", format::count(used)),
            (None, Some(max)) => format!("at most {}", format::count(max)),
            (None, None) => "no limit".to_owned(),
        };
        view! {
            <li class="row limit-line">
                <span>{name}</span>
                <span class="figure">{text}</span>
                {bar}
            </li>
        }
    };
    let change =
        govern.then(|| view! { <p class="hint"><a href="/admin/tenants">"Change the limits"</a></p> });
    view! {
        <section class="card" aria-labelledby="limits">
            <h2 id="limits">"Limits"</h2>
            <ul class="rows">
                {line("Queued jobs", Some(waiting), limits.max_queued)}
                {line("Running jobs", Some(running), limits.max_in_flight)}
                {line("New jobs per minute", None, limits.submits_per_minute)}
            </ul>
            {change}
        </section>
    }
}
