//! For those who run things: definitions, workers, queues, sweeps, bulk changes, the archive, the configuration.
//!
//! All of it needs an admin's key, but for the state of a queue and of bulk operations, which any key that reads may see. What concerns the whole installation is refused by the
//! engine unless the key governs it.

mod archive;
mod batch;
mod bulk;
mod config;
mod confirm;
pub mod definition_body;
mod definitions;
mod operations;
pub mod place;
mod queues;
mod sweeps;
mod workers;

use super::{Api, openapi::guarded};
use crate::auth::api_key::KeyScope;
use utoipa_axum::{router::OpenApiRouter, routes};

/// Why, when a program does not say: the trail shows it.
const REASON: &str = "asked for over the API";

pub fn routes(api: &Api) -> OpenApiRouter {
    let looking = OpenApiRouter::new()
        .routes(routes!(queues::status))
        .routes(routes!(operations::list))
        .routes(routes!(operations::show));
    let changing = OpenApiRouter::new()
        .routes(routes!(definitions::list))
        .routes(routes!(definitions::create))
        .routes(routes!(definitions::change))
        .routes(routes!(workers::list))
        .routes(routes!(queues::control))
        .routes(routes!(sweeps::prune))
        .routes(routes!(sweeps::ttl))
        .routes(routes!(sweeps::integrity))
        .routes(routes!(archive::meta))
        .routes(routes!(batch::cancel))
        .routes(routes!(batch::reschedule))
        .routes(routes!(batch::requeue_quarantined))
        .routes(routes!(operations::plan))
        .routes(routes!(operations::apply))
        .routes(routes!(operations::abort))
        .routes(routes!(config::show));
    let looking = guarded(looking, api, KeyScope::Read);
    looking.merge(guarded(changing, api, KeyScope::Admin)).with_state(api.clone())
}
