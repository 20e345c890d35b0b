//! `leasehold migrate`.

use super::Out;
use crate::{config::Config, store};
use leasehold_types::Problem;
use serde_json::json;

pub async fn run(config: Config, out: Out) -> Result<(), Problem> {
    let store = store::open(&config, config.clock()).await?;
    store.migrate().await.map_err(|error| store::failed("be brought up to date", &error))?;
    let engine = store.engine_name();
    out.say(&format!("The {engine} database is up to date."), &json!({"database": engine, "current": true}));
    Ok(())
}
