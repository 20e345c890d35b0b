//! What `serve` and `worker` share: the command book, the pool of workers, and the signals that end them.

use super::failed;
use crate::config::Config;
use leasehold_queue::{Engine, params::COMMAND, quota};
use leasehold_types::{Problem, ProblemCode};
use leasehold_worker::{
    CommandBook, Pool, PoolConfig, ProviderBook, builtin,
    composite::{self, Kit},
};
use std::{path::Path, sync::Arc};
use tokio::{
    signal::unix::{SignalKind, signal},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

const COMMANDS_FILE: &str = "commands.toml";
/// So that one binary alone has something to run.
const BUILT_IN_COMMANDS: &str = include_str!("../../../commands.toml");

const PROVIDERS_FILE: &str = "providers.toml";
const BUILT_IN_PROVIDERS: &str = include_str!("../../../providers.toml");

/// The commands of this machine, as they are written down.
pub fn command_book(config: &Config) -> Result<CommandBook, Problem> {
    let nearby = Path::new(COMMANDS_FILE);
    let book = match &config.commands_file {
        Some(path) => CommandBook::load(path),
        None if nearby.exists() => CommandBook::load(nearby),
        None => CommandBook::parse(BUILT_IN_COMMANDS, Path::new("built-in commands.toml")),
    };
    book.map_err(|error| Problem::new(ProblemCode::InvalidInput, error.to_string()))
}

/// The commands of this machine; their definitions and those of what is built in are in the database afterwards.
pub async fn commands(config: &Config, engine: &Engine) -> Result<Arc<CommandBook>, Problem> {
    let mut book = command_book(config)?;
    for definition in builtin::definitions() {
        engine.ensure_definition(definition).await?;
    }
    for definition in book.definitions() {
        let known = engine.ensure_definition(definition).await?;
        if known.executor != COMMAND || known.job_type != known.key {
            let detail = format!(
                "“{}” is a kind of job of its own ({}); please give the command another name.",
                known.key, known.executor
            );
            return Err(Problem::new(ProblemCode::AlreadyExists, detail));
        }
        book.place(&known.key, &known.domain);
    }
    engine.definitions_changed();
    warn_of_commands(&book, engine).await?;
    warn_of_collisions(engine).await?;
    Ok(Arc::new(book))
}

/// Programs that cannot run, and settings that have no effect because the definition was there first.
async fn warn_of_commands(book: &CommandBook, engine: &Engine) -> Result<(), Problem> {
    for (key, obstacle) in book.obstacles() {
        tracing::warn!("the command “{key}” cannot run here: {obstacle}");
    }
    for difference in engine.differences(&book.definitions()).await? {
        tracing::warn!(
            "commands.toml says otherwise than the definition of “{}”, which is in effect ({difference}); \
             `leasehold definition sync` applies the file's values",
            difference.key
        );
    }
    Ok(())
}

/// The providers of this machine, as they are written down.
pub fn provider_book(config: &Config) -> Result<ProviderBook, Problem> {
    let (nearby, guard) = (Path::new(PROVIDERS_FILE), PoolConfig::default().guard_program);
    let book = match &config.providers_file {
        Some(path) => ProviderBook::load(path, &guard),
        None if nearby.exists() => ProviderBook::load(nearby, &guard),
        None => ProviderBook::parse(BUILT_IN_PROVIDERS, Path::new("built-in providers.toml"), &guard),
    };
    book.map_err(|error| Problem::new(ProblemCode::InvalidInput, error.to_string()))
}

/// The providers of this machine, with their limits in the database, and the kinds of jobs that use them.
pub async fn providers(config: &Config, engine: &Engine) -> Result<Arc<ProviderBook>, Problem> {
    let book = provider_book(config)?;
    for spec in book.specs() {
        engine.ensure_provider(spec.clone()).await?;
    }
    for definition in composite::definitions() {
        engine.ensure_definition(definition).await?;
    }
    engine.definitions_changed();
    Ok(Arc::new(book))
}

/// Settings for one of these domains are settings for all of them, which nobody expects.
async fn warn_of_collisions(engine: &Engine) -> Result<(), Problem> {
    let definitions = engine.definitions().await?;
    for domains in quota::collisions(definitions.values().map(|d| d.domain.as_str())) {
        let names = domains.into_iter().collect::<Vec<_>>().join(" and ");
        tracing::warn!(
            "the domains {names} share their quotas and allow-lists: in settings their names are equal"
        );
    }
    Ok(())
}

/// A pool at work. It stops claiming when `ending` is cancelled and is done when its jobs are.
pub fn start_pool(
    config: &Config,
    engine: &Arc<Engine>,
    book: Arc<CommandBook>,
    providers: Arc<ProviderBook>,
    ending: CancellationToken,
) -> JoinHandle<()> {
    let pool = PoolConfig {
        concurrency: config.concurrency,
        lease: config.engine.lease,
        renewal: config.renewal,
        shutdown_wait: config.shutdown_wait,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        queues: config.served.queues.clone(),
        domains: config.served.domains.clone(),
        providers: providers.names(),
        ..PoolConfig::default()
    };
    let mut registry = builtin::registry();
    composite::register(&mut registry, &Kit::new(engine.clone(), providers));
    let pool = Pool::beside(registry, engine.clone(), book, pool);
    tokio::spawn(async move { pool.run(ending).await })
}

/// Cancels the token at the first SIGTERM or SIGINT; a second one ends the process on the spot.
pub fn end_on_signal(ending: CancellationToken) -> Result<(), Problem> {
    let listen = |kind| signal(kind).map_err(|error| failed("listen for signals", error));
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    tokio::spawn(async move {
        for again in [false, true] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if again {
                tracing::warn!("asked twice to end: ending at once, leases run out by themselves");
                std::process::exit(130);
            }
            tracing::info!("ending; once more ends at once");
            ending.cancel();
        }
    });
    Ok(())
}
