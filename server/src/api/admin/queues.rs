//! Pausing, draining and resuming a queue.

use super::{REASON, confirm::Confirmation, place};
use crate::{
    api::{Answer, Api, Body, Query, Refusal},
    auth::api_key::{Entered, Governing},
};
use axum::{Json, extract::State};
use leasehold_queue::{engine::QueueState, steering};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// What to do with which queue.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = QueueControl)]
pub struct Control {
    domain: String,
    queue: String,
    action: QueueAction,
    /// Why; the audit log shows it.
    reason: Option<String>,
}

/// What to do with a queue.
#[derive(Deserialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "snake_case")]
pub enum QueueAction {
    /// Nothing is given out until it is resumed.
    Pause,
    /// Ends a pause and a drain.
    Resume,
    /// What runs may end; nothing more is given out.
    Drain,
}

impl From<QueueAction> for steering::QueueAction {
    fn from(action: QueueAction) -> Self {
        match action {
            QueueAction::Pause => Self::Pause,
            QueueAction::Resume => Self::Resume,
            QueueAction::Drain => Self::Drain,
        }
    }
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Named {
    domain: String,
    queue: String,
}

/// Whether a queue gives jobs out.
#[derive(Serialize, ToSchema)]
#[schema(as = QueueStatus)]
pub struct Status {
    paused: bool,
    drain: bool,
}

impl From<QueueState> for Status {
    fn from(state: QueueState) -> Self {
        Self { paused: state.paused, drain: state.draining }
    }
}

/// Pause, drain or resume a queue
///
/// For every tenant, so it needs a key of the installation. Jobs can still be enqueued; what runs goes on.
#[utoipa::path(
    post, path = "/jobs/queue/control", operation_id = "control_queue", tag = "operations", request_body = Control,
    params(("X-Confirm" = Option<String>, Header, description = "`true`")),
    responses((status = 200, body = Status), Refusal)
)]
pub async fn control(
    State(api): State<Api>,
    Governing(scope): Governing,
    confirmed: Confirmation,
    Body(body): Body<Control>,
) -> Answer<Status> {
    place::check("domain", &body.domain)?;
    place::check("queue", &body.queue)?;
    confirmed.require()?;
    let reason = body.reason.as_deref().unwrap_or(REASON);
    let now = api.engine.control_queue(&scope, &body.domain, &body.queue, body.action.into(), reason).await?;
    Ok(Json(Status { paused: now.paused, drain: now.draining }))
}

/// Get a queue’s status
///
/// Whether it gives jobs out, is paused or is being drained.
#[utoipa::path(
    get, path = "/jobs/queue/status", operation_id = "get_queue_status", tag = "operations", params(Named),
    responses((status = 200, body = Status), Refusal)
)]
pub async fn status(
    State(api): State<Api>,
    Entered(scope): Entered,
    Query(named): Query<Named>,
) -> Answer<Status> {
    place::check("domain", &named.domain)?;
    place::check("queue", &named.queue)?;
    Ok(Json(api.engine.queue_state(&scope, &named.domain, &named.queue).await?.into()))
}
