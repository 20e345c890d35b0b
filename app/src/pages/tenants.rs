//! Choosing a tenant.

use super::page;
use crate::components::{
    icon::{self, Icon},
    layout::{Frame, Here, Layout, PageHead},
    notice::Empty,
};
use leasehold_types::view::Tenant;
use leptos::prelude::*;

#[component]
pub fn TenantsPage() -> impl IntoView {
    page(Frame::outside(), |frame| {
        let tenants = frame.tenants.clone();
        let super_admin = frame.user.super_admin;
        view! {
            <Layout frame here=Here::Tenants title="Tenants">
                <PageHead title="Your tenants" />
                {if tenants.is_empty() { none(super_admin).into_any() } else { list(tenants).into_any() }}
            </Layout>
        }
        .into_any()
    })
}

fn list(tenants: Vec<Tenant>) -> impl IntoView {
    let links = tenants
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
        <section class="card">
            <ul class="rows">{links}</ul>
        </section>
    }
}

fn none(super_admin: bool) -> impl IntoView {
    let next = if super_admin {
        view! { <p>"Add one on the terminal: " <code>"leasehold tenant add NAME"</code></p> }.into_any()
    } else {
        view! { <p>"Ask an admin of your organisation to add you to its tenant."</p> }.into_any()
    };
    view! {
        <Empty icon=icon::TENANTS title="No tenant yet">
            {next}
        </Empty>
    }
}
