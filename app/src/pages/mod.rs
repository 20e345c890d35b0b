//! One file per page of the map. A page loads its data, then renders; every page is complete without script.

mod account;
mod admin_audit;
mod admin_tenants;
mod admin_users;
mod invite;
mod job;
mod jobs;
mod login;
mod new_job;
mod not_found;
mod overview;
mod settings;
mod settings_audit;
mod setup;
mod tenants;
mod workers;

use crate::ssr;
use account::AccountPage;
use admin_audit::AuditPage;
use admin_tenants::AdminTenantsPage;
use admin_users::UsersPage;
use axum::http::request::Parts;
use invite::InvitePage;
use job::JobPage;
use jobs::JobsListPage;
use leasehold_types::Problem;
use leptos::prelude::*;
use leptos_meta::provide_meta_context;
use leptos_router::{
    SsrMode,
    components::{Route, Router, Routes},
    hooks::use_params_map,
    path,
};
use login::LoginPage;
use new_job::NewJobPage;
use not_found::{NotFoundPage, problem_page};
use overview::OverviewPage;
use serde::{Serialize, de::DeserializeOwned};
use settings::SettingsPage;
use settings_audit::TenantAuditPage;
use setup::SetupPage;
use tenants::TenantsPage;
use workers::WorkersPage;

#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    provide_context(ssr::TenantZone::default());
    // In order, a page is complete without script; waiting for all of it lets it choose its status code.
    let whole = SsrMode::Async;
    view! {
        <Router>
            <Routes fallback=|| view! { <NotFoundPage /> }>
                <Route path=path!("/login") view=LoginPage ssr=whole.clone() />
                <Route path=path!("/setup") view=SetupPage ssr=whole.clone() />
                <Route path=path!("/invite") view=InvitePage ssr=whole.clone() />
                <Route path=path!("/account") view=AccountPage ssr=whole.clone() />
                <Route path=path!("/tenants") view=TenantsPage ssr=whole.clone() />
                <Route path=path!("/t/:slug") view=OverviewPage ssr=whole.clone() />
                <Route path=path!("/t/:slug/jobs") view=JobsListPage ssr=whole.clone() />
                <Route path=path!("/t/:slug/jobs/new") view=NewJobPage ssr=whole.clone() />
                <Route path=path!("/t/:slug/jobs/:number") view=JobPage ssr=whole.clone() />
                <Route path=path!("/t/:slug/settings") view=SettingsPage ssr=whole.clone() />
                <Route path=path!("/t/:slug/settings/audit") view=TenantAuditPage ssr=whole.clone() />
                <Route path=path!("/admin/users") view=UsersPage ssr=whole.clone() />
                <Route path=path!("/admin/tenants") view=AdminTenantsPage ssr=whole.clone() />
                <Route path=path!("/admin/audit") view=AuditPage ssr=whole.clone() />
                <Route path=path!("/admin/workers") view=WorkersPage ssr=whole />
            </Routes>
        </Router>
    }
}

/// Loads what a page shows, then renders it, or the problem with its status code.
fn page<T>(
    load: impl Future<Output = Result<T, Problem>> + Send + 'static,
    render: impl FnOnce(T) -> AnyView + Send + 'static,
) -> impl IntoView
where
    T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
{
    // Made outside of the Suspense: inside, it would be made once per pass.
    let loaded = OnceResource::new_blocking(load);
    view! {
        <Suspense>
            {Suspend::new(async move {
                match loaded.await {
                    Ok(data) => render(data),
                    Err(problem) => problem_page(&problem),
                }
            })}
        </Suspense>
    }
}

/// A part of the page's path.
fn param(name: &str) -> String {
    use_params_map().get_untracked().get(name).unwrap_or_default()
}

/// The page's query string, without its question mark.
fn search() -> String {
    let parts = use_context::<Parts>();
    parts.and_then(|p| p.uri.query().map(str::to_owned)).unwrap_or_default()
}

/// One value of the query string; empty when it is not there.
fn asked(name: &str) -> String {
    crate::jobs::query::value(&search(), name).unwrap_or_default()
}
