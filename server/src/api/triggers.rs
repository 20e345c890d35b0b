//! Triggers: rules that create jobs, on events of the tenant's application or on a schedule; and the events themselves.

mod requests;
mod responses;

use super::{Answer, Api, Body, Query, Refusal, TriggerParam, jobs::one_tenant, openapi::guarded};
use crate::auth::api_key::{Entered, KeyScope};
use axum::{Json, extract::State, http::StatusCode};
use requests::{ListQuery, NewTriggerBody, PostedEvent, PreviewBody, RunBody, TriggerChange, TriggerPath};
use responses::{EventView, FiredView, Preview, TriggerDetail, TriggerList, TriggerView};
use utoipa_axum::{router::OpenApiRouter, routes};

/// Firings shown with one trigger.
const FIRINGS_SHOWN: u32 = 50;

pub fn routes(api: &Api) -> OpenApiRouter {
    let reading = OpenApiRouter::new().routes(routes!(list)).routes(routes!(detail)).routes(routes!(preview));
    let events = OpenApiRouter::new().routes(routes!(post_event));
    let keeping = OpenApiRouter::new()
        .routes(routes!(create))
        .routes(routes!(change))
        .routes(routes!(delete))
        .routes(routes!(run));
    guarded(reading, api, KeyScope::Read)
        .merge(guarded(events, api, KeyScope::Write))
        .merge(guarded(keeping, api, KeyScope::Admin))
        .with_state(api.clone())
}

/// List triggers
///
/// Oldest first. `next_after` is there when there are more: send it as `after`.
#[utoipa::path(
    get, path = "/jobs/triggers", operation_id = "list_triggers", tag = "triggers", params(ListQuery),
    responses((status = 200, body = TriggerList), Refusal)
)]
async fn list(
    State(api): State<Api>,
    Entered(scope): Entered,
    Query(asked): Query<ListQuery>,
) -> Answer<TriggerList> {
    let limit = asked.limit()?;
    let triggers = api.engine.triggers(&scope, asked.after(), limit).await?;
    Ok(Json(TriggerList::new(triggers, limit)))
}

/// Create a trigger
///
/// What it would create is checked now, as far as it can be known: a schedule's payload against the schema, an event's
/// by its members.
#[utoipa::path(
    post, path = "/jobs/triggers", operation_id = "create_trigger", tag = "triggers", request_body = NewTriggerBody,
    responses((status = 201, body = TriggerView), Refusal)
)]
async fn create(
    State(api): State<Api>,
    Entered(scope): Entered,
    Body(body): Body<NewTriggerBody>,
) -> Result<(StatusCode, Json<TriggerView>), Refusal> {
    let tenant = one_tenant(&scope)?;
    let made = api.engine.create_trigger(&scope, tenant, body.into()).await?;
    Ok((StatusCode::CREATED, Json(made.into())))
}

/// Get a trigger
///
/// With its fifty newest firings and what came of each.
#[utoipa::path(
    get, path = "/jobs/triggers/{id}", operation_id = "get_trigger", tag = "triggers",
    params(TriggerParam),
    responses((status = 200, body = TriggerDetail), Refusal)
)]
async fn detail(
    State(api): State<Api>,
    Entered(scope): Entered,
    TriggerPath(id): TriggerPath,
) -> Answer<TriggerDetail> {
    let trigger = api.engine.trigger(&scope, id).await?;
    let firings = api.engine.firings(&scope, id, FIRINGS_SHOWN).await?;
    Ok(Json(TriggerDetail::new(trigger, firings)))
}

/// Change a trigger
///
/// What is left out stays as it is. A changed schedule, or one that is switched on, begins anew: what passed is not made
/// up for.
#[utoipa::path(
    patch, path = "/jobs/triggers/{id}", operation_id = "update_trigger", tag = "triggers", request_body = TriggerChange,
    params(TriggerParam),
    responses((status = 200, body = TriggerView), Refusal)
)]
async fn change(
    State(api): State<Api>,
    Entered(scope): Entered,
    TriggerPath(id): TriggerPath,
    Body(body): Body<TriggerChange>,
) -> Answer<TriggerView> {
    Ok(Json(api.engine.update_trigger(&scope, id, body.into()).await?.into()))
}

/// Delete a trigger
///
/// Jobs it has created stay.
#[utoipa::path(
    delete, path = "/jobs/triggers/{id}", operation_id = "delete_trigger", tag = "triggers",
    params(TriggerParam),
    responses((status = 204, description = "It is gone"), Refusal)
)]
async fn delete(
    State(api): State<Api>,
    Entered(scope): Entered,
    TriggerPath(id): TriggerPath,
) -> Result<StatusCode, Refusal> {
    api.engine.delete_trigger(&scope, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Fire a trigger now
///
/// Also one that is switched off; an event's with the payload given here. The dedupe window is not asked.
#[utoipa::path(
    post, path = "/jobs/triggers/{id}/run", operation_id = "run_trigger", tag = "triggers", request_body = RunBody,
    params(TriggerParam),
    responses((status = 200, body = FiredView), Refusal)
)]
async fn run(
    State(api): State<Api>,
    Entered(scope): Entered,
    TriggerPath(id): TriggerPath,
    Body(body): Body<RunBody>,
) -> Answer<FiredView> {
    Ok(Json(api.engine.run_trigger(&scope, id, body.event).await?.into()))
}

/// Preview a schedule
///
/// The next ten times it is due, on its own clock and in UTC, with changes of the clock marked.
#[utoipa::path(
    post, path = "/jobs/triggers/preview", operation_id = "preview_schedule", tag = "triggers", request_body = PreviewBody,
    responses((status = 200, body = Preview), Refusal)
)]
async fn preview(
    State(api): State<Api>,
    Entered(scope): Entered,
    Body(body): Body<PreviewBody>,
) -> Answer<Preview> {
    let (cron, zone) = (&body.cron_expr, body.timezone.as_deref());
    let (zone, lines) = api.engine.preview_schedule(&scope, scope.tenant(), cron, zone).await?;
    Ok(Json(Preview::new(zone, lines)))
}

/// Send an application event
///
/// Kept together with the jobs it sets off, all or nothing. Sent again with the same `event_id` it has no further effect,
/// and the answer is the first one with `replayed: true`.
#[utoipa::path(
    post, path = "/events", operation_id = "send_event", tag = "events", request_body = PostedEvent,
    responses(
        (status = 201, description = "It was kept", body = EventView),
        (status = 200, description = "It had come before", body = EventView),
        Refusal
    )
)]
async fn post_event(
    State(api): State<Api>,
    Entered(scope): Entered,
    Body(body): Body<PostedEvent>,
) -> Result<(StatusCode, Json<EventView>), Refusal> {
    let tenant = one_tenant(&scope)?;
    let answer = api.engine.app_event(&scope, tenant, body.into()).await?;
    let status = if answer.replayed { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(answer.into())))
}
