//! What is in the database: somebody who may sign in, workers that live, queues that flow.

use super::finding::Finding;
use crate::{cli::running, config::Config};
use leasehold_queue::{
    Store, StoreResult, administration::Difference, params::NewDefinition, rules::users::SETUP_TOKEN,
};
use leasehold_types::view::{Definition, WorkerView};
use std::sync::Arc;

/// 128 bits in hex.
const SHORTEST_SECRET: usize = 32;
const WORKERS_READ: u32 = 1_000;

pub async fn look(config: &Config, store: &Arc<dyn Store>) -> Vec<Finding> {
    match gather(config, store).await {
        Ok(found) => found,
        Err(error) => vec![super::database::unreachable(&error.to_string())],
    }
}

async fn gather(config: &Config, store: &Arc<dyn Store>) -> StoreResult<Vec<Finding>> {
    let mut found = vec![people(store).await?, signing(store).await?];
    let workers = store.workers(WORKERS_READ).await?.workers;
    found.push(alive(&workers));
    found.extend(stale(&workers));
    found.push(queues(store).await?);
    let definitions = store.definitions().await?;
    found.push(served(&definitions, &workers));
    found.extend(differing(config, &definitions));
    Ok(found)
}

async fn people(store: &Arc<dyn Store>) -> StoreResult<Finding> {
    if store.has_users().await? {
        return Ok(Finding::ok("people", "Somebody can sign in."));
    }
    let offered = store.setting(SETUP_TOKEN).await?.is_some();
    let fix = if offered {
        "Open the setup link the server printed at its start, or run `leasehold user add`."
    } else {
        "Start the server and open the setup link it prints, or run `leasehold user add`."
    };
    Ok(Finding::warning("people", "Nobody can sign in yet.", fix))
}

/// Made at its first use, so its absence is no fault.
async fn signing(store: &Arc<dyn Store>) -> StoreResult<Finding> {
    let keys = store.signing_keys().await?;
    if keys.iter().any(|key| key.secret.len() < SHORTEST_SECRET) {
        let fix = "Run `leasehold signing rotate --revoke-old`; links made before stop working.";
        return Ok(Finding::error("signing", "A key that signs links is too short.", fix));
    }
    let says = match keys.first() {
        Some(newest) => format!("The key that signs links is from {}.", newest.created_at),
        None => "The key that signs links is made at its first use.".to_owned(),
    };
    Ok(Finding::ok("signing", says))
}

/// What stands in `commands.toml` is only the first value of a definition.
fn differing(config: &Config, definitions: &[Definition]) -> Vec<Finding> {
    // A file that cannot be read is a finding of its own.
    let Ok(book) = running::command_book(config) else { return Vec::new() };
    let of = |new: &NewDefinition| definitions.iter().find(|known| known.key == new.key);
    let wanted = book.definitions();
    let differences = wanted.iter().filter_map(|new| Difference::between(of(new)?, new));
    let finding = |difference: Difference| {
        let says = format!(
            "commands.toml says otherwise than “{}”, which is in effect: {difference}.",
            difference.key
        );
        Finding::warning("definitions", says, "`leasehold definition sync` applies the file's values.")
    };
    differences.map(finding).collect()
}

fn alive(workers: &[WorkerView]) -> Finding {
    let live = workers.iter().filter(|worker| !worker.stale).count();
    if live > 0 {
        let are = if live == 1 { "worker is" } else { "workers are" };
        return Finding::ok("workers", format!("{live} {are} alive."));
    }
    let fix = "Start `leasehold serve` or `leasehold worker`.";
    Finding::warning("workers", "No worker is running: jobs wait.", fix)
}

fn stale(workers: &[WorkerView]) -> Option<Finding> {
    let silent: Vec<_> = workers.iter().filter(|w| w.stale).map(|w| w.worker_id.as_str()).collect();
    (!silent.is_empty()).then(|| {
        let says = format!("Not heard of for a while: {}.", silent.join(", "));
        Finding::warning("workers", says, "Look at their machines; their jobs are taken back by themselves.")
    })
}

async fn queues(store: &Arc<dyn Store>) -> StoreResult<Finding> {
    let controls = store.queue_controls().await?;
    let closed: Vec<_> = controls
        .iter()
        .filter(|control| control.paused || control.draining)
        .map(|c| format!("{}/{} ({})", c.domain, c.queue, if c.paused { "paused" } else { "draining" }))
        .collect();
    if closed.is_empty() {
        return Ok(Finding::ok("queues", "No queue is paused or draining."));
    }
    let says = format!("Queues that give nothing out: {}.", closed.join(", "));
    Ok(Finding::warning(
        "queues",
        says,
        "Resume them with POST /api/v1/jobs/queue/control when you are done.",
    ))
}

/// Without any worker that is what there is to say already.
fn served(definitions: &[Definition], workers: &[WorkerView]) -> Finding {
    let live: Vec<_> = workers.iter().filter(|worker| !worker.stale).collect();
    let runs = |worker: &&WorkerView, definition: &Definition| {
        worker.commands.iter().any(|command| *command == definition.job_type || command == "*")
    };
    let unserved: Vec<_> = definitions
        .iter()
        .filter(|definition| definition.is_active && !live.iter().any(|worker| runs(worker, definition)))
        .map(|definition| definition.key.as_str())
        .collect();
    if unserved.is_empty() || live.is_empty() {
        return Finding::ok("definitions", format!("{} kinds of jobs are known.", definitions.len()));
    }
    let says = format!("No live worker runs {}.", unserved.join(", "));
    Finding::warning("definitions", says, "Start a worker for them, or switch them off.")
}
