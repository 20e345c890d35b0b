//! The description of the API (OpenAPI 3.1), made from the handlers themselves, and the door in front of each group of
//! them: what a key must be allowed to do is said once, for the check and for the description.

mod examples;
mod glossary;
mod problems;
mod streams;

use super::{
    Api,
    schemas::{FieldShape, JobState, Moment, ProblemShape, SortOrderWord, SortWord, SourceWord},
};
use crate::auth::{
    api_key::{self, Entrance, KeyScope},
    stream_reader,
};
use axum::middleware::from_fn_with_state;
use serde_json::{Value, json};
use utoipa::{
    OpenApi as _,
    openapi::{
        ObjectBuilder, OpenApi, PathItem, RefOr, SecurityRequirement, Type,
        path::{Operation, ParameterBuilder, ParameterIn},
        security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};
use utoipa_axum::router::OpenApiRouter;

/// Other ways in than a key.
pub const SESSION: &str = "session";
pub const STREAM_TOKEN: &str = "stream_token";

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Leasehold",
        description = "Durable background jobs for many tenants. Programs enqueue jobs, follow them and steer queues here; \
            workers on other machines claim jobs and report on them.\n\n\
            **Errors** are RFC 9457 problems whose `code` is stable; what was refused changed nothing. Trying again helps with 429 and \
            503, and `Retry-After` says when.\n\n\
            **Retries.** A failed attempt is tried again while attempts are left, unless its class says that this cannot help \
            (`validation_error`, `unsupported_format`, `quota_exceeded`, `internal_bug`, `corruption_detected`) or the worker said so. It \
            waits as long as the worker asked for (`retry_after`), else by the definition's `retry`: `base_seconds`, doubled each time up \
            to `cap_seconds`, with `none`, `full` or `decorrelated` jitter. Attempts used up: `dead_letter`. The same `error_code` several \
            times in a row: `quarantined`.\n\n\
            **Cancelling.** A waiting job is cancelled at once. A running one is asked to stop: its worker hears of it with its next \
            heartbeat. It ends as `cancelled` when the worker says that it stopped, fails, hands it back or is lost. Work that was \
            done all the same stands: such a job ends as `completed`."
    ),
    // Parameters only name the words they take; this is where the words stand.
    components(schemas(ProblemShape, FieldShape, JobState, Moment, SortWord, SortOrderWord, SourceWord)),
    tags(
        (name = "jobs", description = "Enqueue jobs, find them, see how they fare, stop or repeat them."),
        (name = "definitions", description = "The kinds of job there are, and what each one takes."),
        (name = "events", description = "What happened to jobs, in order, as a list or as a stream that resumes where it broke off."),
        (name = "triggers", description = "Events and times that start jobs."),
        (name = "operations", description = "Queues, clean-up and bulk changes. What destroys needs `X-Confirm: true`."),
        (name = "admin", description = "For keys of the installation: definitions, workers, configuration."),
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
    let cookie = "The session of somebody signed in, on pages of this site alone. On this machine the cookie is called `leasehold`.";
    let cookie = ApiKeyValue::with_description("__Host-leasehold", cookie);
    components.add_security_scheme(SESSION, SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    let token = "From `POST /jobs/events/token`: opens one stream, within a minute.";
    let token = ApiKeyValue::with_description(stream_reader::TOKEN, token);
    components.add_security_scheme(STREAM_TOKEN, SecurityScheme::ApiKey(ApiKey::Query(token)));
    problems::describe(components);
    head
}

/// The description as it is served: what the handlers said, completed by what is the same everywhere.
pub fn finish(api: &OpenApi) -> Value {
    // A description that cannot be written as JSON could not be served either.
    let mut api = serde_json::to_value(api).unwrap_or_default();
    let examples = examples::all();
    streams::describe(&mut api);
    glossary::describe_fields(&mut api["components"]["schemas"]);
    let schemas = api["components"]["schemas"].clone();
    for item in api["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut()) {
        for operation in item.as_object_mut().into_iter().flat_map(|operations| operations.values_mut()) {
            glossary::describe_parameters(operation);
            describe_answers(operation, &schemas);
            free_body(operation, &schemas);
            examples::add(operation, &examples);
        }
    }
    api
}

/// A body in which nothing is required may be left out: nothing at all counts as `{}`.
fn free_body(operation: &mut Value, schemas: &Value) {
    let Some(body) = operation.get_mut("requestBody") else { return };
    let named = body["content"]["application/json"]["schema"]["$ref"].as_str().unwrap_or_default();
    let Some(schema) = named.rsplit('/').next().and_then(|name| schemas.get(name)) else { return };
    if schema["type"] == "object" && schema.get("required").is_none() {
        body["required"] = Value::Bool(false);
    }
}

/// An answer that says nothing of its own is what its schema says.
fn describe_answers(operation: &mut Value, schemas: &Value) {
    for answer in operation
        .get_mut("responses")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flat_map(|all| all.values_mut())
    {
        if answer["$ref"].is_string() || answer["description"].is_string() {
            continue;
        }
        let reference = answer["content"]["application/json"]["schema"]["$ref"].as_str().unwrap_or_default();
        let name = reference.rsplit('/').next().unwrap_or_default();
        answer["description"] = json!(schemas[name]["description"].as_str().unwrap_or("It was done."));
    }
}

/// Puts a group of routes behind the door, and says so in the description.
pub fn guarded<S>(mut routes: OpenApiRouter<S>, api: &Api, needs: KeyScope) -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    describe_door(&mut routes, needs, &[]);
    let entrance = Entrance { engine: api.engine.clone(), rates: api.rates.clone(), needs };
    routes.layer(from_fn_with_state(entrance, api_key::enter))
}

/// Routes whose handlers take a [`StreamReader`](crate::auth::stream_reader::StreamReader), which is their door.
pub fn for_readers<S>(mut routes: OpenApiRouter<S>, others: &[&str]) -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    describe_door(&mut routes, KeyScope::Read, others);
    routes
}

fn describe_door<S>(routes: &mut OpenApiRouter<S>, needs: KeyScope, others: &[&str])
where
    S: Clone + Send + Sync + 'static,
{
    for item in routes.get_openapi_mut().paths.paths.values_mut() {
        for operation in operations(item) {
            let keys = ["api_key", "bearer"].map(|name| SecurityRequirement::new(name, [needs.name()]));
            let others = others.iter().map(|name| SecurityRequirement::new(*name, Vec::<String>::new()));
            operation.security = Some(keys.into_iter().chain(others).collect());
            for (name, meaning) in EVERYWHERE {
                describe_header(operation, name, meaning);
            }
        }
    }
}

/// Headers every route takes.
pub const EVERYWHERE: [(&str, &str); 2] = [
    ("X-Tenant", "The tenant's slug: confines a key of the installation to one tenant"),
    (
        "X-Request-ID",
        "Echoed, kept with jobs and in the audit log, and on every line that is logged about the request",
    ),
];

fn describe_header(operation: &mut Operation, name: &str, meaning: &str) {
    let text = ObjectBuilder::new().schema_type(Type::String);
    let header = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Header);
    let header = header.description(Some(meaning)).schema(Some(text)).build();
    operation.parameters.get_or_insert_default().push(RefOr::T(header));
}

pub fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    [get, put, post, delete, patch].into_iter().flatten()
}
