//! The form of a tenant's own settings: its name and its time zone.

use super::members::settings;
use crate::ssr::{self, Flash, flash_and_redirect, refuse};
use leasehold_queue::params::TenantChange;
use leptos::prelude::*;

#[server(prefix = "/do", endpoint = "update_tenant")]
pub async fn update_tenant(
    slug: String,
    #[server(default)] tenant_name: String,
    #[server(default)] timezone: String,
) -> Result<(), ServerFnError> {
    let visit = ssr::enter(&slug).await.map_err(refuse)?;
    let change = TenantChange { name: Some(tenant_name.clone()), timezone: Some(timezone.clone()) };
    let flash = match ssr::door().engine.update_tenant(&visit.scope, visit.tenant.id, change).await {
        Ok(_) => Flash::notice("The settings are saved."),
        Err(mut problem) => {
            // The page has other forms with a name.
            let named = problem.errors.iter_mut().filter(|error| error.field == "name");
            named.for_each(|error| error.field = "tenant_name".into());
            Flash::problem(problem, &[("tenant_name", &tenant_name), ("timezone", &timezone)])
        }
    };
    flash_and_redirect(flash, &settings(&visit)).await.map_err(refuse)
}
