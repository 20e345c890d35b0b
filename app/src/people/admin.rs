//! The forms of super-admins: tenants, their limits, and everybody's accounts.

use super::members::{LINK, parsed};
use crate::ssr::{self, Flash, flash_and_redirect, refuse, show_once};
use leasehold_types::{Problem, TenantLimits};
use leptos::prelude::*;

const USERS: &str = "/admin/users";
const TENANTS: &str = "/admin/tenants";

#[server(prefix = "/do", endpoint = "add_tenant")]
pub async fn add_tenant(
    #[server(default)] name: String,
    #[server(default)] slug: String,
    #[server(default)] timezone: String,
) -> Result<(), ServerFnError> {
    let (_, scope) = ssr::governing().map_err(refuse)?;
    let engine = ssr::door().engine;
    let flash = match engine.create_tenant(&scope, &name, given(&slug), given(&timezone)).await {
        Ok(tenant) => {
            Flash::notice(format!("Tenant “{}” was created; its slug is {}.", tenant.name, tenant.slug))
        }
        Err(problem) => Flash::problem(problem, &[("name", &name), ("slug", &slug), ("timezone", &timezone)]),
    };
    flash_and_redirect(flash, TENANTS).await.map_err(refuse)
}

#[server(prefix = "/do", endpoint = "limit_tenant")]
pub async fn limit_tenant(
    slug: String,
    #[server(default)] max_queued: String,
    #[server(default)] submits_per_minute: String,
    #[server(default)] max_in_flight: String,
) -> Result<(), ServerFnError> {
    let (_, scope) = ssr::governing().map_err(refuse)?;
    let change = async {
        let limits = TenantLimits {
            max_queued: number("max_queued", &max_queued)?,
            submits_per_minute: number("submits_per_minute", &submits_per_minute)?,
            max_in_flight: number("max_in_flight", &max_in_flight)?,
        };
        let engine = ssr::door().engine;
        let tenant = engine.tenant(&scope, &slug).await?;
        engine.set_tenant_limits(&scope, tenant.id, limits).await
    };
    let flash = match change.await {
        Ok(()) => Flash::notice(format!("The limits of {slug} were saved.")),
        Err(problem) => {
            let typed = [
                ("limits_of", slug.as_str()),
                ("max_queued", &max_queued),
                ("submits_per_minute", &submits_per_minute),
                ("max_in_flight", &max_in_flight),
            ];
            Flash::problem(problem, &typed)
        }
    };
    flash_and_redirect(flash, TENANTS).await.map_err(refuse)
}

fn given(typed: &str) -> Option<&str> {
    Some(typed.trim()).filter(|text| !text.is_empty())
}

/// Nothing typed is no limit.
fn number(field: &str, typed: &str) -> Result<Option<i64>, Problem> {
    match typed.trim() {
        "" => Ok(None),
        text => text
            .parse()
            .map(Some)
            .map_err(|_| Problem::invalid(field, "Please use whole numbers for limits.")),
    }
}

#[server(prefix = "/do", endpoint = "set_disabled")]
pub async fn set_disabled(user: String, #[server(default)] disabled: String) -> Result<(), ServerFnError> {
    let (_, scope) = ssr::governing().map_err(refuse)?;
    let disabled = disabled == "yes";
    let change = async { ssr::door().engine.set_disabled(&scope, parsed(&user)?, disabled).await };
    let flash = match change.await {
        Ok(()) if disabled => Flash::notice("The account was disabled and signed out everywhere."),
        Ok(()) => Flash::notice("The account was enabled again."),
        Err(problem) => Flash::problem(problem, &[]),
    };
    flash_and_redirect(flash, USERS).await.map_err(refuse)
}

#[server(prefix = "/do", endpoint = "reset_password")]
pub async fn reset_password(user: String) -> Result<(), ServerFnError> {
    let (_, scope) = ssr::governing().map_err(refuse)?;
    let offer = async { ssr::door().gate.password_link(&scope, parsed(&user)?).await };
    let answer = match offer.await {
        Ok(invited) => {
            let notice = format!("A link for {} was created.", invited.user.email);
            show_once(notice, LINK, &invited.path, USERS).await
        }
        Err(problem) => flash_and_redirect(Flash::problem(problem, &[]), USERS).await,
    };
    answer.map_err(refuse)
}
