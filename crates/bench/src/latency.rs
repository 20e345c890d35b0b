//! Pick-up latency of an idle system: from the enqueue call to the moment a waiting claimer holds the job.

use crate::{BenchResult, Sizes, Subject, drain::completed, subject::no_op};
use leasehold_queue::{
    Scope, Store,
    params::{Selector, Wake},
    transition::Rules,
};
use leasehold_types::WorkerId;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::{broadcast::error::RecvError, mpsc};

/// The pause between two jobs, and between two commits they are compared with: an idle system sleeps, and waking up
/// costs both the same.
pub const REST: Duration = Duration::from_millis(25);

/// Milliseconds.
#[derive(Clone, Debug)]
pub struct Pickup {
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
}

pub async fn measure(subject: &Subject, sizes: &Sizes) -> BenchResult<Pickup> {
    subject.settle().await?;
    let (held, mut hears) = mpsc::unbounded_channel();
    let claimer = tokio::spawn(claimer(subject.store.clone(), held));
    let mut times = Vec::with_capacity(sizes.pickups);
    for _ in 0..sizes.pickups {
        let asked = Instant::now();
        subject.store.create_jobs(&Scope::system("bench"), vec![no_op(subject.calm)]).await?;
        let at: Instant = tokio::time::timeout(Duration::from_secs(10), hears.recv())
            .await?
            .ok_or("the claimer stopped")?;
        times.push(at.duration_since(asked).as_secs_f64() * 1e3);
        tokio::time::sleep(REST).await;
    }
    claimer.abort();
    Ok(Pickup {
        p50: percentile(&mut times, 0.5),
        p95: percentile(&mut times, 0.95),
        p99: percentile(&mut times, 0.99),
    })
}

/// Subscribe, query, wait; tells when it holds a job, then finishes it.
async fn claimer(store: Arc<dyn Store>, held: mpsc::UnboundedSender<Instant>) -> BenchResult<()> {
    let worker = WorkerId("bench:pickup:x".into());
    let mut wakes = store.wakes();
    loop {
        let jobs = store.claim(&worker, &Selector::default(), 10, Duration::from_secs(60)).await?;
        if jobs.is_empty() {
            loop {
                match tokio::time::timeout(Duration::from_secs(1), wakes.recv()).await {
                    Ok(Ok(Wake::Jobs | Wake::JobsIn(_)) | Err(RecvError::Lagged(_))) | Err(_) => break,
                    Ok(Ok(_)) => {}
                    Ok(Err(RecvError::Closed)) => return Ok(()),
                }
            }
            continue;
        }
        held.send(Instant::now())?;
        store.finish(&Rules::default(), jobs.into_iter().map(completed).collect()).await?;
    }
}

pub fn percentile(times: &mut [f64], share: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    let last = times.len().saturating_sub(1);
    times.get(((last as f64) * share).round() as usize).copied().unwrap_or(f64::NAN)
}
