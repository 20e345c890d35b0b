//! `leasehold worker`: runs jobs of a database that other processes share.

use super::running;
use crate::{config::Config, store};
use clap::Args;
use leasehold_types::Problem;
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

#[derive(Args)]
pub struct Worker {
    /// How many jobs to run at a time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    concurrency: Option<u16>,
    /// The commands that may be run.
    #[arg(long, value_name = "FILE")]
    commands: Option<PathBuf>,
    /// The queues to serve, as queue or domain/queue, separated by commas; all unless given.
    #[arg(long, value_name = "QUEUE,…")]
    queues: Option<String>,
    /// The domains to serve, separated by commas; all unless given.
    #[arg(long, value_name = "DOMAIN,…")]
    domains: Option<String>,
}

impl Worker {
    pub fn flags(&self) -> Vec<(&'static str, String)> {
        let concurrency = self.concurrency.map(|n| ("JOBS_MAX_CONCURRENCY", n.to_string()));
        let commands = self.commands.as_ref().map(|p| ("JOBS_COMMANDS_FILE", p.display().to_string()));
        let queues = self.queues.clone().map(|names| ("JOBS_WORKER_QUEUES", names));
        let domains = self.domains.clone().map(|names| ("JOBS_WORKER_DOMAINS", names));
        [concurrency, commands, queues, domains].into_iter().flatten().collect()
    }

    pub async fn run(self, config: Config) -> Result<(), Problem> {
        if config.concurrency == 0 {
            return Err(Problem::invalid(
                "JOBS_MAX_CONCURRENCY",
                "A worker must run at least one job at a time.",
            ));
        }
        let engine = store::engine(&config).await?;
        let book = running::commands(&config, &engine).await?;
        let providers = running::providers(&config, &engine).await?;
        let ending = CancellationToken::new();
        running::end_on_signal(ending.clone())?;
        let watchdog = tokio::spawn(leasehold_worker::watchdog(engine.clone(), ending.clone()));
        let pool = running::start_pool(&config, &engine, book, providers, ending);
        pool.await.map_err(|error| super::failed("go on working", error))?;
        watchdog.abort();
        Ok(())
    }
}
