//! The REST API under `/api/v1`, one file per resource. A handler turns a body into a call of the engine and its
//! answer into JSON; errors are RFC 9457 problems with stable codes. Each handler describes itself; the descriptions
//! together are `/api/openapi.json`.

mod admin;
mod body;
mod definitions;
pub mod docs;
mod events;
mod jobs;
mod openapi;
mod params;
mod query;
mod schemas;
mod triggers;
mod worker;

use crate::{config::Report, problem, rates::ApiRates, sse::Live};
use axum::{
    Json, Router,
    response::{IntoResponse, Response},
};
use body::{Body, JobPath, NamePath, Query};
pub use jobs::Attempts;
use leasehold_queue::Engine;
use leasehold_types::{Problem, ProblemCode};
use params::{DefinitionKeyParam, DefinitionParam, JobParam, TriggerParam};
use query::QueryPairs;
use serde_json::Value;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use utoipa_axum::router::OpenApiRouter;

/// What every handler may use.
#[derive(Clone)]
pub struct Api {
    pub engine: Arc<Engine>,
    /// Cancelled when the server is about to end: nobody is kept waiting then.
    pub ending: CancellationToken,
    /// The configuration as it is in effect.
    pub report: Arc<Report>,
    pub live: Live,
    pub rates: Arc<ApiRates>,
}

/// The API with its description.
pub struct Described {
    pub router: Router,
    pub description: Value,
}

pub fn routes(api: &Api) -> Described {
    let resources = OpenApiRouter::new()
        .merge(jobs::routes(api))
        .merge(definitions::routes(api))
        .merge(events::routes(api))
        .merge(admin::routes(api))
        .merge(triggers::routes(api))
        .nest("/worker", worker::routes(api));
    let all = OpenApiRouter::with_openapi(openapi::head()).nest("/api/v1", resources);
    let (router, described) = all.split_for_parts();
    let description = openapi::finish(&described);
    Described { router: router.method_not_allowed_fallback(wrong_method), description }
}

async fn wrong_method() -> Response {
    let detail = "This address takes another method. Nothing was changed.";
    problem::respond(&Problem::new(ProblemCode::MethodNotAllowed, detail))
}

type Answer<T> = Result<Json<T>, Refusal>;

/// A problem as the answer of a handler.
pub struct Refusal(Problem);

impl<P: Into<Problem>> From<P> for Refusal {
    fn from(problem: P) -> Self {
        Self(problem.into())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        problem::respond(&self.0)
    }
}
