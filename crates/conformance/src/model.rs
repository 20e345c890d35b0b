//! A model-based test: random operations by several workers, with the clock moving, against a store and
//! against a pure model of it at the same time. Whatever the store answers, the model must have expected.
//!
//! Each sequence lives in a tenant of its own, so thousands of them share one database. A failure names the
//! seed; `LEASEHOLD_MODEL_SEED=<seed>` runs that sequence alone.

mod expect;
mod steps;

use super::bench::{Bench, definition};
use expect::Model;
use leasehold_queue::{
    params::{Lease, NewTenant},
    scope::Scope,
};
use leasehold_types::{DefinitionLimits, TenantId, view::Definition};
use rand::{Rng, SeedableRng, rngs::StdRng};
use std::sync::Arc;

pub const WORKERS: usize = 3;
const STEPS: std::ops::Range<usize> = 8..30;

/// One sequence under way.
struct Run {
    bench: Arc<Bench>,
    rng: StdRng,
    tenant: TenantId,
    /// A kind of job whose concurrency keys wait.
    keyed: Definition,
    model: Model,
    /// Leases handed out so far, current and stale ones alike.
    leases: Vec<Lease>,
}

/// Runs that many random sequences, one after the other because they share the frozen clock.
pub async fn sequences_agree_with_the_model(bench: Bench, sequences: u64) {
    let bench = Arc::new(bench);
    if let Ok(seed) = std::env::var("LEASEHOLD_MODEL_SEED") {
        return run(bench, seed.parse().expect("a seed is a number")).await;
    }
    let base: u64 = rand::rng().random();
    for i in 0..sequences {
        let seed = base.wrapping_add(i);
        let outcome = tokio::spawn(run(bench.clone(), seed)).await;
        assert!(outcome.is_ok(), "sequence {i} failed: run it alone with LEASEHOLD_MODEL_SEED={seed}");
    }
    assert_eq!(bench.store.recount().await.unwrap(), 0, "the counters must equal a recount in the end");
}

async fn run(bench: Arc<Bench>, seed: u64) {
    let slug = format!("s{seed}");
    let tenant = NewTenant { slug: slug.clone(), name: slug, timezone: "UTC".into() };
    let tenant = bench.store.create_tenant(&Scope::system("test"), tenant).await.unwrap().id;
    let keyed = bench.store.ensure_definition(definition("keyed")).await.unwrap();
    let max_active_per_key = Some(expect::MAX_PER_KEY as i64);
    let limits = DefinitionLimits { max_active_per_key, ..DefinitionLimits::default() };
    bench.store.set_definition_limits(&Scope::system("test"), keyed.id, limits).await.unwrap();
    let mut rng = StdRng::seed_from_u64(seed);
    let steps = rng.random_range(STEPS);
    let mut run = Run { bench, rng, tenant, keyed, model: Model::default(), leases: Vec::new() };
    for _ in 0..steps {
        run.step().await;
    }
    run.compare().await;
}
