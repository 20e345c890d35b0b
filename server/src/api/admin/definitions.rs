//! Definitions, as those who govern the installation create and change them.

use super::definition_body::{Change, Definition, Definitions, New};
use crate::{
    api::{Answer, Api, Body, DefinitionParam, NamePath, Refusal},
    auth::api_key::{Entered, Governing},
};
use axum::{Json, extract::State, http::StatusCode};
use leasehold_queue::Permission;

/// List all definitions
///
/// Also those that are switched off. `GET /jobs/definitions` shows a tenant’s key what it can enqueue.
#[utoipa::path(
    get, path = "/admin/jobs/definitions", operation_id = "list_installation_definitions", tag = "admin",
    responses((status = 200, body = Definitions), Refusal)
)]
pub async fn list(State(api): State<Api>, Entered(scope): Entered) -> Answer<Definitions> {
    scope.require(Permission::Govern)?;
    let all = api.engine.store().definitions().await?;
    let seen = all.into_iter().filter(|definition| scope.sees_domain(&definition.domain));
    Ok(Json(Definitions { definitions: seen.map(Definition::from).collect() }))
}

/// Create a definition
///
/// Workers over HTTP run it, or those whose `commands.toml` has a command of this key: the program itself is never part of
/// a definition. The schema of its payload is checked now: JSON Schema 2020-12, without references to
/// other documents.
#[utoipa::path(
    post, path = "/admin/jobs/definitions", operation_id = "create_definition", tag = "admin", request_body = New,
    responses((status = 201, body = Definition), Refusal)
)]
pub async fn create(
    State(api): State<Api>,
    Governing(scope): Governing,
    Body(body): Body<New>,
) -> Result<(StatusCode, Json<Definition>), Refusal> {
    let (definition, active) = body.parts()?;
    let made = api.engine.create_definition(&scope, definition, active).await?;
    Ok((StatusCode::CREATED, Json(made.into())))
}

/// Update a definition
///
/// What is left out stays. Jobs that exist already keep the attempts they were given.
#[utoipa::path(
    patch, path = "/admin/jobs/definitions/{id}", operation_id = "update_definition", tag = "admin", request_body = Change,
    params(DefinitionParam),
    responses((status = 200, body = Definition), Refusal)
)]
pub async fn change(
    State(api): State<Api>,
    Governing(scope): Governing,
    NamePath(name): NamePath,
    Body(body): Body<Change>,
) -> Answer<Definition> {
    let known = api.engine.definition(&name).await?;
    Ok(Json(api.engine.update_definition(&scope, known.id, body.try_into()?).await?.into()))
}
