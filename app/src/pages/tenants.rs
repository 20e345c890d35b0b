//! Choosing a tenant.

use super::{asked, page};
use crate::components::{
    icon::{self, Icon},
    layout::{Frame, Here, Layout, PageHead},
    notice::Empty,
};
use leasehold_types::view::Tenant;
use leptos::prelude::*;

#[component]
pub fn TenantsPage() -> impl IntoView {
    let wanted = asked("q");
    page(Frame::outside(), move |frame| {
        let tenants = frame.tenants.clone();
        let super_admin = frame.user.super_admin;
        view! {
            <Layout frame here=Here::Tenants title="Tenants">
                <PageHead title="Your tenants" />
                {if tenants.is_empty() { none(super_admin).into_any() } else { list(tenants, &wanted).into_any() }}
            </Layout>
        }
        .into_any()
    })
}

/// So many are looked through faster with a filter than with the eye.
const FILTERED_FROM: usize = 8;

fn list(tenants: Vec<Tenant>, wanted: &str) -> impl IntoView + use<> {
    let filter = (tenants.len() >= FILTERED_FROM || !wanted.is_empty()).then(|| filter_form(wanted));
    let sought = wanted.trim().to_lowercase();
    let fits =
        |tenant: &Tenant| tenant.name.to_lowercase().contains(&sought) || tenant.slug.contains(&sought);
    let found: Vec<_> = tenants.into_iter().filter(fits).collect();
    let nothing = found.is_empty().then(|| view! { <p class="quiet">"No matching tenants."</p> });
    let links = found
        .into_iter()
        .map(|tenant| {
            let href = format!("/t/{}", tenant.slug);
            view! {
                <li class="row">
                    <a class="row-link" href=href>
                        <span class="row-main">
                            <span class="row-title">{tenant.name}</span>
                            <span class="muted row-note">{tenant.slug}</span>
                        </span>
                        <Icon d=icon::ARROW_RIGHT />
                    </a>
                </li>
            }
        })
        .collect_view();
    view! {
        {filter}
        <section class="card">
            {nothing} <ul class="rows">{links}</ul>
        </section>
    }
}

fn filter_form(wanted: &str) -> impl IntoView + use<> {
    view! {
        <form class="filter-form filters" method="get" action="/tenants" role="search">
            <div class="search-field">
                <Icon d=icon::SEARCH />
                <input class="input" type="search" name="q" value=wanted.to_owned() aria-label="Name contains" />
            </div>
            <button class="button" type="submit">"Find"</button>
        </form>
    }
}

fn none(super_admin: bool) -> impl IntoView {
    let next = if super_admin {
        view! { <p><a href="/admin/tenants">"Create the first tenant"</a></p> }.into_any()
    } else {
        view! { <p>"Ask an admin of your organisation to add you to its tenant."</p> }.into_any()
    };
    view! {
        <Empty icon=icon::TENANTS title="No tenant yet">
            {next}
        </Empty>
    }
}
