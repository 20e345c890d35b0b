//! All tenants with their limits, and the installation's own keys; for super-admins.

use super::{asked, page};
use crate::{
    components::{
        form::{Field, TextField},
        layout::{Frame, Here, Layout, PageHead},
    },
    people::lists::{Keys, NewKey, ShownOnce, ZoneField, waiting_secret},
    ssr::{self, Flash},
};
use leasehold_types::{Problem, view::Tenant};
use leptos::prelude::*;

const SCOPES: [(&str, &str); 3] = [
    ("read", "read: see every tenant's jobs"),
    ("write", "write: enqueue, cancel and retry in every tenant"),
    ("admin", "admin: manage the installation"),
];

#[component]
pub fn AdminTenantsPage() -> impl IntoView {
    let once = asked("once");
    page(
        async move {
            let (_, scope) = ssr::governing()?;
            let frame = Frame::outside().await?;
            let mut keys = ssr::door().engine.keys(&scope).await?;
            keys.retain(|key| key.tenant_id.is_none());
            let secret = waiting_secret(&frame.flash, &once);
            Ok::<_, Problem>((frame, keys, secret))
        },
        |(frame, keys, secret)| {
            let (now, flash) = (frame.now, frame.flash.clone());
            let new_tenant = new_tenant(&flash);
            let rows =
                frame.tenants.clone().into_iter().map(|tenant| tenant_row(tenant, &flash)).collect_view();
            view! {
                <Layout frame here=Here::AllTenants title="All tenants">
                    <PageHead title="All tenants" />
                    <ShownOnce secret />
                    <div class="column">
                        <section class="card">
                            <ul class="rows people">{rows}</ul>
                            {new_tenant}
                        </section>
                        <section class="card" aria-labelledby="keys">
                            <h2 id="keys">"Installation keys"</h2>
                            <p class="hint">
                                "They work in every tenant, or in the one named in the header " <code>"X-Tenant"</code> "."
                            </p>
                            <Keys keys now revoke=Some(("/do/revoke_installation_key", String::new())) />
                            <NewKey
                                action="/do/create_installation_key"
                                slug=String::new()
                                flash=flash.clone()
                                scopes=SCOPES.to_vec()
                            />
                        </section>
                    </div>
                </Layout>
            }
            .into_any()
        },
    )
}

fn new_tenant(flash: &Flash) -> impl IntoView + use<> {
    let field = |id: &str, label: &str| Field::new(id, label).error(flash.error(id));
    view! {
        <form class="form inline-form" method="post" action="/do/add_tenant">
            <TextField field=field("name", "Name") name="name" value=flash.value("name") />
            <TextField field=field("slug", "URL slug").optional() name="slug" value=flash.value("slug") />
            <ZoneField field=field("timezone", "Time zone").optional().hint("UTC if left out") value=flash.value("timezone") />
            <button class="button button-primary" type="submit">"Create tenant"</button>
        </form>
    }
}

fn tenant_row(tenant: Tenant, flash: &Flash) -> impl IntoView + use<> {
    let limits = tenant.limits;
    let slug = tenant.slug.clone();
    // After a mistake the form is open again, with what was typed.
    let refused = flash.value("limits_of") == slug;
    let field = |name: &'static str, label: &'static str, value: Option<i64>| {
        let kept = value.map(|n| n.to_string()).unwrap_or_default();
        let value = if refused { flash.value(name) } else { kept };
        let error = flash.error(name).filter(|_| refused);
        let field = Field::new(format!("{name}-{slug}"), label).optional().error(error);
        view! { <TextField field name=name value /> }
    };
    let fields = view! {
        {field("max_queued", "Queued jobs", limits.max_queued)}
        {field("max_in_flight", "Running jobs", limits.max_in_flight)}
        {field("submits_per_minute", "New jobs per minute", limits.submits_per_minute)}
    };
    let set = [limits.max_queued, limits.max_in_flight, limits.submits_per_minute].iter().flatten().count();
    let said = match set {
        0 => "no limits".to_owned(),
        1 => "1 limit".to_owned(),
        n => format!("{n} limits"),
    };
    view! {
        <li class="row person">
            <div class="row-main">
                <a class="row-title" href=format!("/t/{}/settings", tenant.slug)>{tenant.name.clone()}</a>
                <span class="muted row-note">{tenant.slug.clone()} " · " {tenant.timezone.clone()} " · " {said}</span>
            </div>
            <span></span>
            <div class="person-actions">
                <details class="pop pop-right" open=refused>
                    <summary class="button button-small">
                        "Limits" <span class="visually-hidden">{format!(" of {}", tenant.name)}</span>
                    </summary>
                    <form class="pop-panel pop-form" method="post" action="/do/limit_tenant">
                        <input type="hidden" name="slug" value=tenant.slug.clone() />
                        {fields}
                        <button class="button button-primary" type="submit">"Save limits"</button>
                    </form>
                </details>
            </div>
        </li>
    }
}
