//! The forms of API keys: a tenant's, and the installation's.

use super::members::{say, settings};
use crate::ssr::{self, Flash, flash_and_redirect, refuse, show_once};
use leasehold_queue::{Scope, engine::KeyRequest};
use leasehold_types::{Problem, TenantId};
use leptos::prelude::*;
use std::time::Duration;

/// The kind of secret a page with keys may find waiting.
pub const KEY: &str = "key";
const INSTALLATION: &str = "/admin/tenants";

#[server(prefix = "/do", endpoint = "create_key")]
pub async fn create_key(
    slug: String,
    #[server(default)] key_name: String,
    #[server(default)] key_scope: String,
    #[server(default)] expires_days: String,
) -> Result<(), ServerFnError> {
    let visit = ssr::enter(&slug).await.map_err(refuse)?;
    let form = KeyForm { key_name, key_scope, expires_days };
    form.make(&visit.scope, Some(visit.tenant.id), &settings(&visit)).await.map_err(refuse)
}

#[server(prefix = "/do", endpoint = "create_installation_key")]
pub async fn create_installation_key(
    #[server(default)] key_name: String,
    #[server(default)] key_scope: String,
    #[server(default)] expires_days: String,
) -> Result<(), ServerFnError> {
    let (_, scope) = ssr::governing().map_err(refuse)?;
    let form = KeyForm { key_name, key_scope, expires_days };
    form.make(&scope, None, INSTALLATION).await.map_err(refuse)
}

struct KeyForm {
    key_name: String,
    key_scope: String,
    expires_days: String,
}

impl KeyForm {
    async fn make(&self, scope: &Scope, tenant: Option<TenantId>, to: &str) -> Result<(), Problem> {
        let made = match self.request(tenant) {
            Ok(request) => ssr::door().gate.make_key(scope, request).await,
            Err(problem) => Err(problem),
        };
        match made {
            Ok((key, shown)) => {
                show_once(format!("The key “{}” was created.", key.name), KEY, &shown, to).await
            }
            Err(problem) => {
                let typed = [
                    ("key_name", self.key_name.as_str()),
                    ("key_scope", self.key_scope.as_str()),
                    ("expires_days", self.expires_days.as_str()),
                ];
                flash_and_redirect(Flash::problem(on_the_form(problem), &typed), to).await
            }
        }
    }

    fn request(&self, tenant: Option<TenantId>) -> Result<KeyRequest, Problem> {
        let days = self.expires_days.trim();
        let expires_at = match (days, days.parse::<u64>()) {
            ("", _) => None,
            (_, Ok(days @ 1..=3_650)) => {
                Some(ssr::door().engine.now().plus(Duration::from_secs(86_400 * days)))
            }
            _ => {
                return Err(Problem::invalid("expires_days", "Please enter a number of days, at most 3650."));
            }
        };
        let scopes = vec![self.key_scope.clone()];
        Ok(KeyRequest { tenant, name: self.key_name.clone(), scopes, expires_at })
    }
}

/// The page has other forms with a name; this one's fields are called after the key.
fn on_the_form(mut problem: Problem) -> Problem {
    for error in &mut problem.errors {
        error.field = match error.field.as_str() {
            "name" => "key_name".into(),
            "scopes" => "key_scope".into(),
            other => other.into(),
        };
    }
    problem
}

#[server(prefix = "/do", endpoint = "revoke_key")]
pub async fn revoke_key(slug: String, prefix: String) -> Result<(), ServerFnError> {
    let visit = ssr::enter(&slug).await.map_err(refuse)?;
    let revoked = ssr::door().engine.revoke_key(&visit.scope, &prefix).await.map(drop);
    say(&visit, revoked, "The key was revoked.").await.map_err(refuse)
}

#[server(prefix = "/do", endpoint = "revoke_installation_key")]
pub async fn revoke_installation_key(prefix: String) -> Result<(), ServerFnError> {
    let (_, scope) = ssr::governing().map_err(refuse)?;
    let flash = match ssr::door().engine.revoke_key(&scope, &prefix).await {
        Ok(_) => Flash::notice("The key was revoked."),
        Err(problem) => Flash::problem(problem, &[]),
    };
    flash_and_redirect(flash, INSTALLATION).await.map_err(refuse)
}
