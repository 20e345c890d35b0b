//! `leasehold serve`: dashboard, live events and, unless told otherwise, workers in one process.
//!
//! It ends in this order: not ready and no more claims → running jobs finish or are given back → no more
//! requests. So a load balancer sees `/ready` turn before the door closes.

use super::{Out, announce::announce, failed, running};
use crate::{
    config::Config,
    http,
    metrics::{self, Metrics},
    router::{Serving, router},
    store,
};
use clap::Args;
use leasehold_queue::Engine;
use leasehold_types::{Problem, ProblemCode};
use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

#[derive(Args)]
pub struct Serve {
    /// Where to listen; port 0 takes a free one. [default: 127.0.0.1:3000]
    #[arg(long, value_name = "ADDRESS")]
    addr: Option<SocketAddr>,
    /// How many jobs to run at a time in this process; 0 = none. [default: 8]
    #[arg(long, value_name = "N")]
    workers: Option<u16>,
    /// The commands that may be run. [default: ./commands.toml, else built-in demo commands]
    #[arg(long, value_name = "FILE")]
    commands: Option<PathBuf>,
}

impl Serve {
    pub fn flags(&self) -> Vec<(&'static str, String)> {
        let addr = self.addr.map(|addr| ("JOBS_ADDR", addr.to_string()));
        let workers = self.workers.map(|n| ("JOBS_MAX_CONCURRENCY", n.to_string()));
        let commands = self.commands.as_ref().map(|p| ("JOBS_COMMANDS_FILE", p.display().to_string()));
        [addr, workers, commands].into_iter().flatten().collect()
    }

    pub async fn run(self, config: Config, out: Out) -> Result<(), Problem> {
        // Before anything can be started, so that a signal in the meantime is not lost.
        let ending = CancellationToken::new();
        running::end_on_signal(ending.clone())?;
        let engine = store::engine(&config).await?;
        let book = running::commands(&config, &engine).await?;
        let providers = running::providers(&config, &engine).await?;
        let listener = TcpListener::bind(config.addr)
            .await
            .map_err(|error| failed(&format!("listen on {}", config.addr), error))?;
        let bound = listener.local_addr().map_err(|error| failed("tell its own address", error))?;
        let metrics = Arc::new(Metrics::new(config.metrics.clone()));
        let counting = config.metrics.enabled.then(|| {
            // Before the hub begins, so that no event is missed.
            let events = engine.hub().subscribe();
            tokio::spawn(metrics::follow(metrics.clone(), engine.clone(), events))
        });
        let following = follow_outbox(&engine).await?;
        let watchdog = tokio::spawn(leasehold_worker::watchdog(engine.clone(), ending.clone()));
        let pool = (config.concurrency > 0)
            .then(|| running::start_pool(&config, &engine, book, providers, ending.clone()));
        let serving = Serving {
            engine: engine.clone(),
            trust_forwarded: config.trust_forwarded,
            public_url: config.public_url.clone(),
            ending: ending.clone(),
            report: config.report.clone(),
            metrics: metrics.clone(),
            streams: config.streams,
        };
        let closing = CancellationToken::new();
        let server =
            tokio::spawn(http::serve(listener, router(serving), metrics.process.clone(), closing.clone()));
        announce(&engine, &config, bound, out).await?;

        ending.cancelled().await;
        // Also without workers of its own: those that come over HTTP get nothing more.
        engine.freeze_claims();
        if let Some(pool) = pool {
            pool.await.map_err(|error| failed("end its workers", error))?;
        }
        closing.cancel();
        server.await.map_err(|error| failed("end its server", error))?;
        following.abort();
        counting.inspect(JoinHandle::abort);
        watchdog.abort();
        Ok(())
    }
}

const OUTBOX_PATIENCE: Duration = Duration::from_secs(10);

/// Starts the one reader of the outbox and waits until it stands where the outbox ends: a browser that
/// resumes before that would not be told what it missed.
async fn follow_outbox(engine: &Arc<Engine>) -> Result<JoinHandle<()>, Problem> {
    let tail = engine.store().outbox_tail().await?;
    let following = tokio::spawn(engine.hub().clone().follow(engine.store().clone()));
    let caught_up = async {
        while engine.hub().horizon() < tail {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(OUTBOX_PATIENCE, caught_up).await.map_err(|_| {
        Problem::new(
            ProblemCode::Unavailable,
            "The database is too slow to start on: its events cannot be read.",
        )
    })?;
    Ok(following)
}
