//! Tenant B's ten jobs while tenant A has a mountain of them.

use crate::{
    BenchResult, Sizes, Subject,
    drain::{completed, drain, fill},
    latency::percentile,
    subject::no_op,
};
use leasehold_queue::{Scope, Store, params::Selector, transition::Rules};
use leasehold_types::{TenantId, WorkerId};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Milliseconds from enqueueing ten jobs to the last of them finished (medians).
#[derive(Clone, Debug)]
pub struct Fairness {
    pub idle_ms: f64,
    pub busy_ms: f64,
}

const ROUNDS: usize = 15;
/// A slot's work takes this long, so that claiming is not the only thing that happens.
const WORK: Duration = Duration::from_millis(2);

pub async fn measure(subject: &Subject, sizes: &Sizes) -> BenchResult<Fairness> {
    subject.settle().await?;
    let idle_ms = rounds(subject).await?;
    fill(&subject.store, subject.busy, sizes.backlog).await?;
    subject.settle().await?;
    let busy_ms = rounds(subject).await?;
    drain(&subject.store).await?;
    Ok(Fairness { idle_ms, busy_ms })
}

async fn rounds(subject: &Subject) -> BenchResult<f64> {
    let (done, mut hears) = mpsc::unbounded_channel();
    let workers: Vec<JoinHandle<BenchResult<()>>> =
        (0..2).map(|i| tokio::spawn(worker(subject.store.clone(), i, done.clone()))).collect();
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let ten = (0..10).map(|_| no_op(subject.calm)).collect();
        subject.store.create_jobs(&Scope::system("bench"), ten).await?;
        let mut finished = 0;
        while finished < 10 {
            let tenant: TenantId = hears.recv().await.ok_or("the workers stopped")?;
            finished += usize::from(tenant == subject.calm);
        }
        times.push(started.elapsed().as_secs_f64() * 1e3);
        tokio::time::sleep(Duration::from_millis(30)).await;
        while hears.try_recv().is_ok() {}
    }
    for worker in workers {
        worker.abort();
        let _ = worker.await;
    }
    subject.store.reclaim_expired(&Rules::default(), 1_000).await?;
    Ok(percentile(&mut times, 0.5))
}

/// Ten slots: claims ten, works on them, finishes them.
async fn worker(store: Arc<dyn Store>, i: usize, done: mpsc::UnboundedSender<TenantId>) -> BenchResult<()> {
    let id = WorkerId(format!("bench:fair{i}:x"));
    let mut wakes = store.wakes();
    loop {
        let jobs = store.claim(&id, &Selector::default(), 10, Duration::from_secs(2)).await?;
        if jobs.is_empty() {
            let _ = tokio::time::timeout(Duration::from_millis(100), wakes.recv()).await;
            continue;
        }
        tokio::time::sleep(WORK).await;
        let tenants: Vec<_> = jobs.iter().map(|j| j.tenant_id).collect();
        store.finish(&Rules::default(), jobs.into_iter().map(completed).collect()).await?;
        for tenant in tenants {
            done.send(tenant)?;
        }
    }
}
