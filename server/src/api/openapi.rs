//! The description of the API (OpenAPI 3.1), made from the handlers themselves, and the door in front of each group of
//! them: what a key must be allowed to do is said once, for the check and for the description.

use super::{
    Api,
    words::{FieldShape, ProblemShape},
};
use crate::auth::api_key::{self, Entrance, KeyScope};
use axum::middleware::from_fn_with_state;
use utoipa::{
    OpenApi as _,
    openapi::{
        OpenApi, PathItem, SecurityRequirement,
        path::Operation,
        security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};
use utoipa_axum::router::OpenApiRouter;

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Leasehold",
        description = "Durable background jobs for many tenants. Programs enqueue jobs, follow them and steer queues here; \
            workers on other machines claim jobs and report on them.\n\nErrors are RFC 9457 problems whose `code` is stable. \
            Every request may carry `X-Request-ID`; it is echoed, kept with the job and in every log line."
    ),
    components(schemas(ProblemShape, FieldShape)),
    tags(
        (name = "jobs", description = "Enqueue jobs, find them, see how they fare, stop or repeat them."),
        (name = "events", description = "What happened to jobs, in order, as a list or as a stream that resumes where it broke off."),
        (name = "triggers", description = "Events and times that start jobs."),
        (name = "operations", description = "Queues, clean-up and bulk changes. What destroys needs `X-Confirm: true`."),
        (name = "admin", description = "For keys of the installation: kinds of jobs, workers, configuration."),
        (name = "worker", description = "The protocol of workers on other machines: claim, keep the lease alive, report.")
    )
)]
struct Head;

/// Where the description begins; the resources add themselves.
pub fn head() -> OpenApi {
    let mut head = Head::openapi();
    let components = head.components.get_or_insert_default();
    let header = ApiKeyValue::with_description("X-API-KEY", "`lh_<prefix>_<secret>`");
    components.add_security_scheme("api_key", SecurityScheme::ApiKey(ApiKey::Header(header)));
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("The same key.")).build();
    components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    head
}

/// Puts a group of routes behind the door, and says so in the description.
pub fn guarded<S>(mut routes: OpenApiRouter<S>, api: &Api, needs: KeyScope) -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    for item in routes.get_openapi_mut().paths.paths.values_mut() {
        for operation in operations(item) {
            let keys = ["api_key", "bearer"].map(|name| SecurityRequirement::new(name, [needs.name()]));
            operation.security = Some(keys.to_vec());
        }
    }
    let entrance = Entrance { engine: api.engine.clone(), needs };
    routes.layer(from_fn_with_state(entrance, api_key::enter))
}

pub fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    [get, put, post, delete, patch].into_iter().flatten()
}

/// Handlers in different files may bear the same name; their ids in the description must differ.
pub fn name_operations(api: &mut OpenApi) {
    for (path, item) in &mut api.paths.paths {
        let PathItem { get, put, post, delete, patch, .. } = item;
        let methods = [("get", get), ("put", put), ("post", post), ("delete", delete), ("patch", patch)];
        for (method, operation) in methods {
            if let Some(operation) = operation {
                let words = path.trim_start_matches("/api/v1").replace(['{', '}'], "");
                operation.operation_id = Some(format!("{method}{}", words.replace(['/', '-', '.'], "_")));
            }
        }
    }
}
