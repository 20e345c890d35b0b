//! What was done in a tenant; for its admins.

use super::{page, param, search};
use crate::{
    components::layout::{Frame, Here, Layout, PageHead},
    jobs::query,
    pages::admin_audit::{filter_form, next_page, parse},
    people::lists::AuditTable,
    ssr,
};
use leptos::prelude::*;

#[component]
pub fn TenantAuditPage() -> impl IntoView {
    let (slug, asked) = (param("slug"), search());
    page(
        async move {
            let (visit, frame) = Frame::inside(&slug).await?;
            let (filter, request) = parse(&asked);
            let entries = ssr::door().engine.audit_entries(&visit.scope, &filter, request).await?;
            Ok((frame, entries, asked))
        },
        |(frame, entries, asked)| {
            let (now, place) = (frame.now, format!("/t/{}/settings/audit", frame.slug()));
            let back = format!("/t/{}/settings", frame.slug());
            let next = next_page(&place, &asked, entries.next);
            let entries = entries.items.into_iter().map(|entry| (entry, None)).collect::<Vec<_>>();
            let value = |name: &str| query::value(&asked, name).unwrap_or_default();
            let filter = filter_form(place, value("actor"), value("action"), None);
            view! {
                <Layout frame here=Here::Settings title="Audit log">
                    <PageHead title="Audit log">
                        <a class="button" href=back>"Settings"</a>
                    </PageHead>
                    {filter}
                    <AuditTable entries now />
                    {next}
                </Layout>
            }
            .into_any()
        },
    )
}
