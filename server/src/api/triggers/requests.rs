//! What requests about triggers carry.

use crate::api::{
    Refusal,
    schemas::{Anything, CatchUpWord, TriggerWord},
};
use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};
use leasehold_queue::engine::{AppEventRequest, TriggerDraft};
use leasehold_types::{CatchUp, Problem, TriggerId, TriggerKind};
use serde::Deserialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

const USUAL_PAGE: u32 = 100;
const LARGEST_PAGE: u32 = 1_000;

/// `{id}` of a trigger. What is none names nothing.
pub struct TriggerPath(pub TriggerId);

impl<S: Send + Sync> FromRequestParts<S> for TriggerPath {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let named = Path::<String>::from_request_parts(parts, state).await.ok();
        let id = named.and_then(|Path(id)| id.parse().ok());
        Ok(Self(id.ok_or_else(|| Problem::not_found("This trigger"))?))
    }
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Only triggers after this one.
    after: Option<Uuid>,
    /// How many at most; usually 100.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

impl ListQuery {
    pub fn after(&self) -> Option<TriggerId> {
        self.after.map(TriggerId)
    }

    pub fn limit(&self) -> Result<u32, Problem> {
        let limit = self.limit.unwrap_or(USUAL_PAGE);
        if (1..=LARGEST_PAGE).contains(&limit) {
            return Ok(limit);
        }
        Err(Problem::invalid("limit", format!("It must be between 1 and {LARGEST_PAGE}, not {limit}.")))
    }
}

/// A trigger to be created.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewTrigger)]
pub struct NewTriggerBody {
    /// For people.
    #[schema(min_length = 1, max_length = 200, example = "Resync on folder change")]
    label: String,
    #[schema(value_type = TriggerWord)]
    trigger_type: TriggerKind,
    /// The kind of job it creates.
    #[schema(example = "sync-dropbox")]
    definition_key: String,
    /// Usually true.
    is_enabled: Option<bool>,
    /// Of an event's trigger: the event it waits for.
    #[schema(example = "provider.folder.updated")]
    event_name: Option<String>,
    /// Of an event's trigger: conditions on the payload by path, all of which must hold: a value, a list of values,
    /// `{"prefix": "…"}` or `{"exists": true}`.
    #[schema(value_type = Option<Anything>)]
    filter: Option<Value>,
    /// Of a schedule: minute, hour, day of the month, month, day of the week; or `@daily` and its kin.
    #[schema(example = "0 2 * * *")]
    cron_expr: Option<String>,
    /// Of a schedule: an IANA time zone; usually the tenant's.
    #[schema(example = "America/New_York")]
    timezone: Option<String>,
    /// Of a schedule: what is done about times that were missed; usually `once`.
    #[schema(value_type = Option<CatchUpWord>)]
    catch_up: Option<CatchUp>,
    /// The job's payload, an object. `{{event.path}}`, `{{schedule.due_at}}`, `{{tenant.id}}` and the like are replaced.
    #[schema(value_type = Option<Anything>)]
    payload_template: Option<Value>,
    /// The same payload within so many seconds makes no second job; usually 300.
    #[schema(minimum = 0, maximum = 604800)]
    dedupe_window_seconds: Option<i32>,
}

impl From<NewTriggerBody> for TriggerDraft {
    fn from(body: NewTriggerBody) -> Self {
        Self {
            label: Some(body.label),
            is_enabled: body.is_enabled,
            trigger_type: Some(body.trigger_type),
            event_name: body.event_name,
            filter: body.filter,
            cron_expr: body.cron_expr,
            timezone: body.timezone,
            catch_up: body.catch_up,
            definition_key: Some(body.definition_key),
            payload_template: body.payload_template,
            dedupe_window_seconds: body.dedupe_window_seconds,
        }
    }
}

/// As in a new trigger; what is left out stays.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TriggerChange {
    #[schema(min_length = 1, max_length = 200)]
    label: Option<String>,
    is_enabled: Option<bool>,
    /// It cannot be changed; the same is no change.
    #[schema(value_type = Option<TriggerWord>)]
    trigger_type: Option<TriggerKind>,
    definition_key: Option<String>,
    event_name: Option<String>,
    #[schema(value_type = Option<Anything>)]
    filter: Option<Value>,
    cron_expr: Option<String>,
    timezone: Option<String>,
    #[schema(value_type = Option<CatchUpWord>)]
    catch_up: Option<CatchUp>,
    #[schema(value_type = Option<Anything>)]
    payload_template: Option<Value>,
    #[schema(minimum = 0, maximum = 604800)]
    dedupe_window_seconds: Option<i32>,
}

impl From<TriggerChange> for TriggerDraft {
    fn from(body: TriggerChange) -> Self {
        Self {
            label: body.label,
            is_enabled: body.is_enabled,
            trigger_type: body.trigger_type,
            event_name: body.event_name,
            filter: body.filter,
            cron_expr: body.cron_expr,
            timezone: body.timezone,
            catch_up: body.catch_up,
            definition_key: body.definition_key,
            payload_template: body.payload_template,
            dedupe_window_seconds: body.dedupe_window_seconds,
        }
    }
}

/// What to fire a trigger with.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RunTrigger)]
pub struct RunBody {
    /// The event's payload, for a trigger that waits for one; usually `{}`.
    #[schema(value_type = Option<Anything>)]
    pub event: Option<Value>,
}

/// A schedule to be tried out.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewPreview)]
pub struct PreviewBody {
    #[schema(example = "30 2 * * *")]
    pub cron_expr: String,
    /// Usually the tenant's.
    #[schema(example = "Europe/Berlin")]
    pub timezone: Option<String>,
}

/// Something that happened in your application.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewEvent)]
pub struct PostedEvent {
    /// Letters, digits and `. _ : - /`.
    #[schema(min_length = 1, max_length = 200, example = "provider.folder.updated")]
    name: String,
    /// The sender's own name for this event: sent again, it has no further effect for 30 days.
    #[schema(min_length = 1, max_length = 200)]
    event_id: Option<String>,
    /// An object; usually `{}`.
    #[schema(value_type = Option<Object>)]
    payload: Option<Value>,
}

impl From<PostedEvent> for AppEventRequest {
    fn from(body: PostedEvent) -> Self {
        let payload = body.payload.unwrap_or_else(|| Value::Object(Default::default()));
        Self { name: body.name, event_id: body.event_id, payload }
    }
}
