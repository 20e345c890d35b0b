//! The long poll: subscribe → claim → wait for a wake-up → claim again, until there is a job or patience ends.
//!
//! It runs in a task of its own. A caller that hangs up ends its request at any moment, also between a claim and the
//! answer; the task then hands the jobs back, instead of leaving them to their leases.

use super::Workers;
use crate::auth::api_key;
use leasehold_queue::{
    Actor, Engine, Scope,
    engine::RemoteClaim,
    params::{ClaimedJob, Wake},
};
use leasehold_types::{Problem, ProblemCode};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{broadcast, oneshot},
    time::{Instant, sleep_until, timeout_at},
};
use tracing::Instrument;

/// A job may become due without anybody's wake-up, and a wake-up may be lost.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// So many may look that often; when more wait, each looks less often and the database is asked no more.
const LOOKERS: u32 = 20;

/// Callers that wait right now.
#[derive(Default)]
pub struct Waiting(AtomicU32);

impl Waiting {
    fn enter(self: &Arc<Self>) -> Place {
        self.0.fetch_add(1, Ordering::Relaxed);
        Place(self.clone())
    }

    fn look_every(&self) -> Duration {
        LOOK_EVERY * (self.0.load(Ordering::Relaxed) / LOOKERS).max(1)
    }
}

struct Place(Arc<Waiting>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

pub async fn claim(
    workers: &Workers,
    scope: Scope,
    claim: RemoteClaim,
    patience: Duration,
) -> Result<Vec<ClaimedJob>, Problem> {
    let (answer, answered) = oneshot::channel();
    let workers = workers.clone();
    let work = async move {
        let mut answer = answer;
        let found = wait_for_jobs(&workers, &scope, &claim, patience, &mut answer).await;
        if let Err(Ok(jobs)) = answer.send(found)
            && let Err(error) = workers.api.engine.release(jobs).await
        {
            tracing::warn!(%error, "jobs that nobody waited for cannot be handed back; their leases run out");
        }
    };
    tokio::spawn(work.in_current_span());
    answered.await.unwrap_or_else(|_| {
        Err(Problem::new(ProblemCode::Internal, "The claim broke off. The log has the details."))
    })
}

async fn wait_for_jobs(
    workers: &Workers,
    scope: &Scope,
    claim: &RemoteClaim,
    patience: Duration,
    caller: &mut oneshot::Sender<Result<Vec<ClaimedJob>, Problem>>,
) -> Result<Vec<ClaimedJob>, Problem> {
    let engine = &workers.api.engine;
    // Subscribe, then query, then wait: the other way round loses what happens in between.
    let mut wakes = engine.store().wakes();
    let until = Instant::now() + patience;
    let _place = workers.waiting.enter();
    loop {
        let jobs = engine.remote_claim(scope, claim).await?;
        workers.roll.asks(engine, claim).await;
        if !jobs.is_empty() || Instant::now() >= until {
            return Ok(jobs);
        }
        tokio::select! {
            () = woken(&mut wakes, until.min(Instant::now() + workers.waiting.look_every())) => {}
            () = workers.api.ending.cancelled() => return Ok(jobs),
            () = caller.closed() => return Ok(jobs),
        }
        still_known(engine, scope).await?;
    }
}

/// A key may be revoked, or expire, while its worker waits.
async fn still_known(engine: &Engine, scope: &Scope) -> Result<(), Problem> {
    let Actor::Key { id, .. } = &scope.actor else { return Ok(()) };
    if engine.store().live_keys(&[*id]).await?.is_empty() {
        return Err(api_key::unknown());
    }
    Ok(())
}

/// Until there may be jobs, at the latest until `latest`.
async fn woken(wakes: &mut broadcast::Receiver<Wake>, latest: Instant) {
    loop {
        match timeout_at(latest, wakes.recv()).await {
            Ok(Ok(Wake::Jobs) | Err(broadcast::error::RecvError::Lagged(_))) | Err(_) => return,
            Ok(Ok(_)) => {}
            Ok(Err(broadcast::error::RecvError::Closed)) => return sleep_until(latest).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_asks_the_database_no_more_than_a_few() {
        let waiting = Arc::new(Waiting::default());
        let mut crowd: Vec<_> = (0..25).map(|_| waiting.enter()).collect();
        assert_eq!(waiting.look_every(), LOOK_EVERY);
        crowd.extend((0..175).map(|_| waiting.enter()));
        assert_eq!(waiting.look_every(), LOOK_EVERY * 10);
        drop(crowd);
        assert_eq!(waiting.look_every(), LOOK_EVERY);
    }
}
