//! Definitions as those see them who enqueue: what there is, and what each one takes.

use super::{
    Answer, Api, DefinitionKeyParam, NamePath, QueryPairs, Refusal,
    admin::definition_body::{Definition, Definitions},
    openapi::guarded,
};
use crate::auth::api_key::{Entered, KeyScope};
use axum::{Json, extract::State};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

pub fn routes(api: &Api) -> OpenApiRouter {
    let reading = OpenApiRouter::new().routes(routes!(list)).routes(routes!(detail));
    guarded(reading, api, KeyScope::Read).with_state(api.clone())
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only its shape is described")]
struct ListParams {
    domain: Option<String>,
}

/// List definitions
///
/// The kinds of job this key can see, by key: where they belong, the JSON Schema of their payload, their limits and
/// stages. One with `is_active: false` takes no new jobs.
#[utoipa::path(
    get, path = "/jobs/definitions", operation_id = "list_definitions", tag = "definitions", params(ListParams),
    responses((status = 200, body = Definitions), Refusal)
)]
async fn list(State(api): State<Api>, Entered(scope): Entered, mut pairs: QueryPairs) -> Answer<Definitions> {
    let domain = pairs.text("domain")?;
    pairs.nothing_else()?;
    let seen = api.engine.seen_definitions(&scope, domain.as_deref()).await?;
    Ok(Json(Definitions { definitions: seen.into_iter().map(Definition::from).collect() }))
}

/// Get a definition
///
/// Its `arg_schema` is what payloads are held to.
#[utoipa::path(
    get, path = "/jobs/definitions/{key}", operation_id = "get_definition", tag = "definitions",
    params(DefinitionKeyParam), responses((status = 200, body = Definition), Refusal)
)]
async fn detail(
    State(api): State<Api>,
    Entered(scope): Entered,
    NamePath(key): NamePath,
    pairs: QueryPairs,
) -> Answer<Definition> {
    pairs.nothing_else()?;
    Ok(Json(api.engine.seen_definition(&scope, &key).await?.into()))
}
