//! The configuration as it is in effect.

use crate::{
    api::{Answer, Api, Refusal},
    auth::api_key::Entered,
    config::Setting,
};
use axum::{Json, extract::State};
use leasehold_queue::Permission;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

const STANDARD_QUEUES: [&str; 3] = ["default", "high", "low"];

/// The configuration in effect.
#[derive(Serialize, ToSchema)]
pub struct Configuration {
    /// `postgres` or `sqlite`.
    backend: &'static str,
    standard_queues: [&'static str; 3],
    /// What is on or off.
    flags: BTreeMap<String, bool>,
    settings: Vec<Entry>,
    /// Names nobody knows, and settings that do not fit together.
    warnings: Vec<String>,
}

/// One setting.
#[derive(Serialize, ToSchema)]
#[schema(as = Setting)]
pub struct Entry {
    name: String,
    /// Secrets are masked.
    value: String,
    /// `command line`, `environment`, `configuration file` or `default`.
    source: &'static str,
    meaning: &'static str,
}

impl From<&Setting> for Entry {
    fn from(setting: &Setting) -> Self {
        let Setting { name, value, source, meaning } = setting.clone();
        Self { name, value, source, meaning }
    }
}

/// Show the configuration
///
/// Every setting, its value in effect and where it came from.
#[utoipa::path(
    get, path = "/config/jobs", operation_id = "get_configuration", tag = "admin",
    responses((status = 200, body = Configuration), Refusal)
)]
pub async fn show(State(api): State<Api>, Entered(scope): Entered) -> Answer<Configuration> {
    scope.require(Permission::Govern)?;
    let settings = &api.report.settings;
    let flag = |setting: &Setting| Some((setting.name.clone(), setting.as_flag()?));
    Ok(Json(Configuration {
        backend: api.engine.store().engine_name(),
        standard_queues: STANDARD_QUEUES,
        flags: settings.iter().filter_map(flag).collect(),
        settings: settings.iter().map(Entry::from).collect(),
        warnings: api.report.warnings.clone(),
    }))
}
