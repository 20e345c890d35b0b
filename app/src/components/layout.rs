//! The frame around every signed-in page: where you are, where you can go, who you are.

use super::{
    icon::{self, Brand, Icon},
    notice::FlashMessage,
    title::PageTitle,
};
use crate::{
    islands::{clock::Clock, live_dot::LiveDot, theme::ThemeSwitch},
    ssr::{self, Flash},
};
use leasehold_types::{
    Problem, Timestamp,
    view::{Tenant, User},
};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

/// More tenants than this are chosen on their own page.
const LISTED_TENANTS: usize = 12;

/// What every signed-in page knows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Frame {
    pub user: User,
    pub tenants: Vec<Tenant>,
    pub tenant: Option<Tenant>,
    pub may_operate: bool,
    pub flash: Flash,
    pub now: Timestamp,
}

impl Frame {
    /// Inside a tenant; `NOT_FOUND` for a foreign one.
    pub async fn inside(slug: &str) -> Result<(ssr::Visit, Self), Problem> {
        let visit = ssr::enter(slug).await?;
        let frame = Self {
            tenants: ssr::door().engine.tenants_of_user(&visit.user).await?,
            user: visit.user.clone(),
            tenant: Some(visit.tenant.clone()),
            may_operate: visit.may_operate(),
            flash: ssr::flash(),
            now: ssr::door().engine.now(),
        };
        Ok((visit, frame))
    }

    /// Outside of any tenant.
    pub async fn outside() -> Result<Self, Problem> {
        let user = ssr::signed_in()?;
        Ok(Self {
            tenants: ssr::door().engine.tenants_of_user(&user).await?,
            user,
            tenant: None,
            may_operate: false,
            flash: ssr::flash(),
            now: ssr::door().engine.now(),
        })
    }

    /// The current tenant's address part; empty outside.
    pub fn slug(&self) -> String {
        self.tenant.as_ref().map(|t| t.slug.clone()).unwrap_or_default()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Here {
    Overview,
    Jobs,
    NewJob,
    Settings,
    Tenants,
    Account,
    Workers,
    Users,
    AllTenants,
    Audit,
}

#[component]
pub fn Layout(
    frame: Frame,
    here: Here,
    /// For the window; the heading is the page's own.
    #[prop(into)]
    title: String,
    /// What the last form said is over: a page that is read again shows no message in its place.
    #[prop(optional)]
    settled: bool,
    children: Children,
) -> impl IntoView {
    let place = frame.tenant.as_ref().map_or("Leasehold".into(), |t| format!("{} · Leasehold", t.name));
    let flash = frame.flash.clone();
    let now = frame.now;
    view! {
        <PageTitle text=format!("{title} · {place}") />
        <a class="skip" href="#content">"Skip to content"</a>
        <div class="shell">
            <aside class="sidebar">
                <a class="home" href="/">
                    <Brand />
                </a>
                {menu(&frame, here)}
            </aside>
            <header class="topbar">
                <a class="home" href="/">
                    <Brand />
                </a>
                <details class="pop topbar-menu">
                    <summary class="button button-icon" aria-label="Menu">
                        <Icon d=icon::MENU />
                    </summary>
                    <div class="pop-panel">{menu(&frame, here)}</div>
                </details>
            </header>
            <main id="content" tabindex="-1">
                <FlashMessage flash settled />
                {children()}
            </main>
        </div>
        <Clock now=now.micros() />
    }
}

/// The heading of a page, with its live light and its actions.
#[component]
pub fn PageHead(
    #[prop(into)] title: String,
    #[prop(optional)] live: bool,
    #[prop(optional)] children: Option<Children>,
) -> impl IntoView {
    view! {
        <div class="page-head">
            <h1>{title}</h1>
            {live.then(|| view! { <LiveDot /> })}
            <div class="page-actions">{children.map(|c| c())}</div>
        </div>
    }
}

fn menu(frame: &Frame, here: Here) -> impl IntoView + use<> {
    let inside = frame.tenant.clone().map(|tenant| tenant_links(&tenant.slug, frame.may_operate, here));
    let govern = frame.user.super_admin.then(|| {
        view! {
            <p class="nav-heading">"All tenants"</p>
            <ul class="nav-list">
                {nav_link("/admin/workers".into(), icon::WORKERS, "Workers", here == Here::Workers)}
                {nav_link("/admin/tenants".into(), icon::TENANTS, "Tenants", here == Here::AllTenants)}
                {nav_link("/admin/users".into(), icon::PEOPLE, "Users", here == Here::Users)}
                {nav_link("/admin/audit".into(), icon::SHIELD, "Audit log", here == Here::Audit)}
            </ul>
        }
    });
    view! {
        {tenant_switch(frame, here)}
        <nav class="nav" aria-label="Main">
            {inside}
            {govern}
        </nav>
        {user_menu(&frame.user, here)}
    }
}

fn tenant_links(slug: &str, may_operate: bool, here: Here) -> impl IntoView + use<> {
    let base = format!("/t/{slug}");
    let new_job = may_operate
        .then(|| nav_link(format!("{base}/jobs/new"), icon::PLUS, "New job", here == Here::NewJob));
    view! {
        <ul class="nav-list">
            {nav_link(base.clone(), icon::OVERVIEW, "Overview", here == Here::Overview)}
            {nav_link(format!("{base}/jobs"), icon::JOBS, "Jobs", here == Here::Jobs)}
            {new_job}
            {nav_link(format!("{base}/settings"), icon::SETTINGS, "Settings", here == Here::Settings)}
        </ul>
    }
}

fn nav_link(href: String, icon: &'static str, text: &'static str, current: bool) -> impl IntoView {
    view! {
        <li>
            <a class="nav-link" href=href aria-current=current.then_some("page")>
                <Icon d=icon />
                {text}
            </a>
        </li>
    }
}

fn tenant_switch(frame: &Frame, here: Here) -> impl IntoView + use<> {
    let current = frame.tenant.as_ref().map_or("Choose a tenant".to_owned(), |t| t.name.clone());
    let slug = frame.slug();
    let links = frame
        .tenants
        .iter()
        .take(LISTED_TENANTS)
        .map(|tenant| {
            let chosen = (tenant.slug == slug).then_some("true");
            view! {
                <li>
                    <a class="menu-item" href=format!("/t/{}", tenant.slug) aria-current=chosen>
                        {tenant.name.clone()}
                    </a>
                </li>
            }
        })
        .collect_view();
    let unlisted = frame.tenants.len().saturating_sub(LISTED_TENANTS);
    let more = (unlisted > 0).then(|| view! { <li class="menu-note">{format!("and {unlisted} more")}</li> });
    view! {
        <details class="pop switch" name="menu">
            <summary class="switch-button">
                <span class="visually-hidden">"Tenant: "</span>
                <span class="ellipsis">{current}</span>
                <Icon d=icon::CHEVRON />
            </summary>
            <ul class="pop-panel menu-list">
                {links} {more} <li class="menu-rule">
                    <a class="menu-item" href="/tenants" aria-current=(here == Here::Tenants).then_some("page")>
                        "All your tenants"
                    </a>
                </li>
            </ul>
        </details>
    }
}

fn user_menu(user: &User, here: Here) -> impl IntoView + use<> {
    let initial: String = user.name.chars().next().unwrap_or('?').to_uppercase().collect();
    view! {
        <div class="user-box">
            <ThemeSwitch />
            <details class="pop pop-up user-menu" name="menu">
                <summary class="user-button">
                    <span class="avatar" aria-hidden="true">{initial}</span>
                    <span class="ellipsis">{user.name.clone()}</span>
                    <Icon d=icon::CHEVRON />
                </summary>
                <div class="pop-panel menu-list">
                    <p class="menu-note ellipsis">{user.email.clone()}</p>
                    <a class="menu-item" href="/account" aria-current=(here == Here::Account).then_some("page")>
                        <Icon d=icon::PEOPLE />
                        "Your account"
                    </a>
                    <form method="post" action="/do/sign_out">
                        <button class="menu-item" type="submit">
                            <Icon d=icon::SIGN_OUT />
                            "Sign out"
                        </button>
                    </form>
                </div>
            </details>
        </div>
    }
}
