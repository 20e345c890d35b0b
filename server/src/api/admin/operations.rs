//! Bulk operations as things of their own: planned, applied in the background, watched, aborted.

mod body;

use super::confirm::Confirmation;
use crate::{
    api::{Answer, Api, Body, Query, Refusal, params::OperationParam},
    auth::api_key::Entered,
};
use axum::{
    Json,
    extract::{FromRequestParts, Path, State},
    http::{StatusCode, request::Parts},
};
use body::{ListQuery, NewOperation, OperationList, OperationView};
use leasehold_types::Problem;
use uuid::Uuid;

/// `{id}`. What is no id names nothing.
pub struct OperationPath(Uuid);

impl<S: Send + Sync> FromRequestParts<S> for OperationPath {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let named = Path::<String>::from_request_parts(parts, state).await.ok();
        let id = named.and_then(|Path(id)| id.parse().ok());
        Ok(Self(id.ok_or_else(|| Problem::not_found("This plan"))?))
    }
}

/// Plan a bulk operation
///
/// Counts what matches, exactly, and changes nothing. The plan can be applied until `expires_at`.
#[utoipa::path(
    post, path = "/operations", operation_id = "plan_operation", tag = "operations", request_body = NewOperation,
    responses((status = 201, body = OperationView), Refusal)
)]
pub async fn plan(
    State(api): State<Api>,
    Entered(scope): Entered,
    Body(body): Body<NewOperation>,
) -> Result<(StatusCode, Json<OperationView>), Refusal> {
    let asked = body.asked(api.engine.config().archive_before_delete)?;
    let plan = api.engine.plan_bulk(&scope, asked.action, asked.filter, &asked.reason).await?;
    Ok((StatusCode::CREATED, Json(plan.into())))
}

/// Apply a bulk operation
///
/// Answers at once; the work goes on in the background, in small transactions, and survives the end of any process.
/// Jobs that came after the plan are left alone. Ask for the operation to see how far it is.
#[utoipa::path(
    post, path = "/operations/{id}/apply", operation_id = "apply_operation", tag = "operations",
    params(OperationParam, ("X-Confirm" = Option<String>, Header, description = "`true`")),
    responses((status = 202, body = OperationView), Refusal)
)]
pub async fn apply(
    State(api): State<Api>,
    Entered(scope): Entered,
    OperationPath(id): OperationPath,
    confirmed: Confirmation,
) -> Result<(StatusCode, Json<OperationView>), Refusal> {
    confirmed.require()?;
    Ok((StatusCode::ACCEPTED, Json(api.engine.begin_bulk(&scope, id).await?.into())))
}

/// Abort a bulk operation
///
/// It stops where it stands. What it has changed stays changed.
#[utoipa::path(
    post, path = "/operations/{id}/abort", operation_id = "abort_operation", tag = "operations",
    params(OperationParam), responses((status = 200, body = OperationView), Refusal)
)]
pub async fn abort(
    State(api): State<Api>,
    Entered(scope): Entered,
    OperationPath(id): OperationPath,
) -> Answer<OperationView> {
    Ok(Json(api.engine.abort_bulk(&scope, id).await?.into()))
}

/// List bulk operations
///
/// Newest first, plans and dry runs among them. `next_before` is there when there may be more: send it as `before`.
#[utoipa::path(
    get, path = "/operations", operation_id = "list_operations", tag = "operations", params(ListQuery),
    responses((status = 200, body = OperationList), Refusal)
)]
pub async fn list(
    State(api): State<Api>,
    Entered(scope): Entered,
    Query(asked): Query<ListQuery>,
) -> Answer<OperationList> {
    let limit = asked.limit()?;
    let operations = api.engine.bulk_operations(&scope, asked.before, limit).await?;
    Ok(Json(OperationList::new(operations, limit)))
}

/// Get a bulk operation
///
/// What was planned, how far it is, and what became of it.
#[utoipa::path(
    get, path = "/operations/{id}", operation_id = "get_operation", tag = "operations", params(OperationParam),
    responses((status = 200, body = OperationView), Refusal)
)]
pub async fn show(
    State(api): State<Api>,
    Entered(scope): Entered,
    OperationPath(id): OperationPath,
) -> Answer<OperationView> {
    Ok(Json(api.engine.bulk_operation(&scope, id).await?.into()))
}
