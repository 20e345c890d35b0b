//! The audit log of all tenants and the state of its chain; for super-admins.

use super::{page, search};
use crate::{
    components::{
        icon::{self, Icon},
        layout::{Frame, Here, Layout, PageHead},
    },
    jobs::query::{self, encode},
    people::lists::AuditTable,
    ssr,
};
use leasehold_types::{
    PageRequest, Problem,
    people::{AuditFilter, ChainState},
};
use leptos::prelude::*;
use std::collections::HashMap;

#[component]
pub fn AuditPage() -> impl IntoView {
    let asked = search();
    page(
        async move {
            let (_, scope) = ssr::governing()?;
            let (frame, engine) = (Frame::outside().await?, ssr::door().engine);
            let slug = query::value(&asked, "tenant").unwrap_or_default();
            let within = match slug.as_str() {
                "" => scope.clone(),
                slug => scope.within(engine.tenant(&scope, slug).await?.id),
            };
            let (filter, request) = parse(&asked);
            let entries = engine.audit_entries(&within, &filter, request).await?;
            // Walking the whole chain takes as long as the log is: only when asked to.
            let chain = match query::value(&asked, "verify") {
                Some(_) => Some(engine.verify_audit(&scope).await?),
                None => None,
            };
            Ok::<_, Problem>((frame, entries, chain, asked))
        },
        |(frame, entries, chain, asked)| {
            let slugs: HashMap<_, _> = frame.tenants.iter().map(|t| (t.id, t.slug.clone())).collect();
            let choices = frame.tenants.iter().map(|t| t.slug.clone()).collect();
            let (now, next) = (frame.now, next_page("/admin/audit", &asked, entries.next));
            let named = |id| slugs.get(&id).cloned();
            let entries: Vec<_> = entries
                .items
                .into_iter()
                .map(|e| {
                    let tenant = e.tenant_id.and_then(named);
                    (e, tenant)
                })
                .collect();
            let value = |name: &str| query::value(&asked, name).unwrap_or_default();
            let chosen = Some((choices, value("tenant")));
            let filter = filter_form("/admin/audit".into(), value("actor"), value("action"), chosen);
            view! {
                <Layout frame here=Here::Audit title="Audit log">
                    <PageHead title="Audit log">
                        <a class="button" href="/admin/audit?verify=yes">
                            <Icon d=icon::SHIELD />
                            "Verify hash chain"
                        </a>
                    </PageHead>
                    {chain.as_ref().map(chain_state)}
                    {filter}
                    <AuditTable entries now />
                    {next}
                </Layout>
            }
            .into_any()
        },
    )
}

fn chain_state(chain: &ChainState) -> impl IntoView + use<> {
    let waiting =
        (chain.waiting > 0).then(|| format!(" {} newer entries are not part of it yet.", chain.waiting));
    match &chain.broken {
        None => view! {
            <div class="notice notice-good" role="status">
                <Icon d=icon::SHIELD />
                <p>{format!("The hash chain is intact up to #{}.", chain.intact_up_to)} {waiting}</p>
            </div>
        }
        .into_any(),
        Some(broken) => view! {
            <div class="notice notice-bad" role="alert">
                <Icon d=icon::ALERT />
                <div>
                    <strong>{format!("The hash chain is broken at #{}", broken.position)}</strong>
                    <p>{broken.what.clone()} {format!(" It is intact up to #{}.", chain.intact_up_to)}</p>
                </div>
            </div>
        }
        .into_any(),
    }
}

/// The filter and the page that an address asks for.
pub fn parse(asked: &str) -> (AuditFilter, PageRequest) {
    let text = |name: &str| {
        query::value(asked, name)
            .map(|v| v.trim().chars().take(200).collect::<String>())
            .filter(|v| !v.is_empty())
    };
    let before = text("before").and_then(|n| n.parse().ok()).filter(|n| *n > 0);
    (AuditFilter { actor: text("actor"), action: text("action") }, PageRequest { before, limit: 50 })
}

/// A link to older acts, when there are some.
pub fn next_page(place: &str, asked: &str, next: Option<i64>) -> impl IntoView + use<> {
    let kept: String = query::pairs(asked)
        .into_iter()
        .filter(|(name, value)| name != "before" && !value.is_empty())
        .map(|(name, value)| format!("{}={}&", encode(&name), encode(&value)))
        .collect();
    let place = place.to_owned();
    next.map(|before| {
        view! {
            <nav class="pager" aria-label="Pages">
                <a class="button" href=format!("{place}?{kept}before={before}")>"Older"</a>
            </nav>
        }
    })
}

pub fn filter_form(
    place: String,
    actor: String,
    action: String,
    tenants: Option<(Vec<String>, String)>,
) -> impl IntoView {
    let tenants = tenants.map(|(slugs, chosen)| {
        let options = slugs
            .into_iter()
            .map(|slug| view! { <option value=slug.clone() selected=slug == chosen>{slug.clone()}</option> })
            .collect_view();
        view! {
            <select class="input select" name="tenant" aria-label="Tenant">
                <option value="">"All tenants"</option>
                {options}
            </select>
        }
    });
    view! {
        <form class="filter-form filters-line" method="get" action=place role="search">
            <div class="search-field">
                <Icon d=icon::SEARCH />
                <input class="input" type="search" name="actor" value=actor aria-label="Who" placeholder="Who" />
            </div>
            <input class="input input-short" name="action" value=action aria-label="Action" placeholder="Action, e.g. key." />
            {tenants}
            <button class="button" type="submit">"Filter"</button>
        </form>
    }
}
