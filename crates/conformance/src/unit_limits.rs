//! Rates and permits of providers: exact, whoever asks and however many at once.

use super::{
    bench::Bench,
    units::{provider, unit},
};
use leasehold_queue::{
    transition::Ending,
    units::{ClaimedUnits, ProviderSpec, UnitClaim, WorkUnit},
};
use leasehold_types::{Timestamp, unit::UnitKind};
use serde_json::json;
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};
use tokio::task::JoinSet;

fn many(units: usize) -> Vec<WorkUnit> {
    (0..units).map(|n| unit(&n.to_string())).collect()
}

impl Bench {
    async fn reader(&self, requests_per_second: f64, max_concurrency: i32) {
        let plain = provider("reader", UnitKind::Ocr);
        let spec = ProviderSpec { requests_per_second, max_concurrency, ..plain };
        self.store.ensure_provider(spec).await.unwrap();
    }

    /// Milliseconds from now until each claimed unit may begin.
    fn starts(&self, claimed: &ClaimedUnits) -> Vec<i64> {
        let now = self.clock.now().millis();
        claimed.units.iter().map(|c| c.turn.clone().unwrap().start_at.millis() - now).collect()
    }
}

pub async fn calls_begin_as_far_apart_as_the_rate_says(b: Bench) {
    let job = b.composite(many(10)).await;
    b.reader(5.0, 10).await;
    let claimed = b.claim_units(&job, 10).await;
    assert_eq!(b.starts(&claimed), [0, 200, 400]);
    let again = claimed.ask_again_at.unwrap();
    assert_eq!(again, b.clock.now().plus(Duration::from_millis(100)));
    b.clock.freeze(again);
    assert_eq!(b.starts(&b.claim_units(&job, 10).await), [500]);
}

pub async fn half_a_call_per_second_is_one_every_two(b: Bench) {
    let job = b.composite(many(10)).await;
    b.reader(0.5, 10).await;
    let mut starts = Vec::new();
    for _ in 0..4 {
        let claimed = b.claim_units(&job, 10).await;
        assert_eq!(claimed.units.len(), 1);
        starts.push(claimed.units[0].turn.clone().unwrap().start_at);
        b.clock.freeze(b.claim_units(&job, 10).await.ask_again_at.unwrap());
    }
    let gaps: Vec<_> = starts.windows(2).map(|pair| pair[1].seconds_since(pair[0])).collect();
    assert_eq!(gaps, [2.0, 2.0, 2.0]);
}

pub async fn a_caller_gets_no_token_it_cannot_use(b: Bench) {
    let job = b.composite(many(2)).await;
    b.reader(5.0, 10).await;
    let callable = vec!["reader".to_owned()];
    let lead = Duration::from_millis(70);
    let claim = UnitClaim { lease: job.lease.clone(), callable, at_most: 2, lead };
    assert_eq!(b.starts(&b.store.claim_units(&claim).await.unwrap().unwrap()), [70, 270]);
}

pub async fn a_missed_start_costs_another_token(b: Bench) {
    let job = b.composite(many(3)).await;
    b.reader(5.0, 10).await;
    let first = b.claim_units(&job, 1).await.units.remove(0);
    b.clock.advance(Duration::from_millis(90));
    let later = b.store.delay_unit(&job.lease, first.unit.id, Duration::ZERO).await.unwrap().unwrap();
    assert_eq!(later, first.turn.unwrap().start_at.plus(Duration::from_millis(200)));
    assert_eq!(b.starts(&b.claim_units(&job, 1).await), [310]);
}

pub async fn permits_are_counted_over_all_jobs(b: Bench) {
    let one = b.composite(many(5)).await;
    let two = b.composite(many(5)).await;
    b.reader(1_000.0, 3).await;
    assert_eq!(b.claim_units(&one, 2).await.units.len(), 2);
    assert_eq!(b.claim_units(&two, 5).await.units.len(), 1);
    let full = b.claim_units(&two, 5).await;
    assert!(full.units.is_empty());
    assert!(full.ask_again_at.unwrap() > b.clock.now());
}

pub async fn every_end_frees_a_permit(b: Bench) {
    let one = b.composite(many(5)).await;
    let two = b.composite(many(5)).await;
    b.reader(1_000.0, 1).await;
    let first = b.claim_units(&one, 1).await.units.remove(0);
    assert!(b.claim_units(&two, 1).await.units.is_empty());
    b.end_unit(&one, &first, Ok(json!(1)), vec![], json!({})).await;
    b.wait(1);
    let second = b.claim_units(&two, 1).await.units.remove(0);
    assert!(b.claim_units(&one, 1).await.units.is_empty());
    let error = super::units::busy();
    b.store.retry_unit(&two.lease, second.unit.id, &error, Duration::from_secs(60)).await.unwrap();
    b.wait(1);
    assert_eq!(b.claim_units(&one, 1).await.units.len(), 1);
    b.finish(&one.lease, Ending::Cancelled).await;
    b.wait(1);
    assert_eq!(b.claim_units(&two, 1).await.units.len(), 1);
}

pub async fn a_lost_worker_keeps_its_permit_until_its_job_is_taken_back(b: Bench) {
    let job = b.composite(many(1)).await;
    b.reader(1_000.0, 1).await;
    b.claim_units(&job, 1).await;
    b.wait(120);
    assert_eq!(b.store.providers().await.unwrap()[0].running, 1);
    b.store.reclaim_expired(&super::bench::rules(), 10).await.unwrap();
    assert_eq!(b.store.providers().await.unwrap()[0].running, 0);
}

pub async fn anybody_means_the_least_loaded(b: Bench) {
    let job = b.composite(many(4)).await;
    b.store.ensure_provider(provider("second", UnitKind::Ocr)).await.unwrap();
    let claimed = b.claim_units(&job, 4).await;
    let with: Vec<_> = claimed.units.iter().map(|c| c.turn.clone().unwrap().provider).collect();
    assert_eq!(with, ["reader", "second", "reader", "second"]);
}

pub async fn who_asked_in_vain_is_next(b: Bench) {
    let eager = b.composite(many(5)).await;
    let patient = b.composite(many(5)).await;
    b.reader(1.0, 10).await;
    assert_eq!(b.claim_units(&eager, 1).await.units.len(), 1);
    let told = b.claim_units(&patient, 1).await;
    assert!(told.units.is_empty());
    b.clock.freeze(told.ask_again_at.unwrap());
    assert!(b.claim_units(&eager, 1).await.units.is_empty(), "it is the other's turn");
    assert_eq!(b.claim_units(&patient, 1).await.units.len(), 1);
}

pub async fn a_turn_nobody_takes_is_not_kept_for_ever(b: Bench) {
    let eager = b.composite(many(5)).await;
    let gone = b.composite(many(5)).await;
    b.reader(1_000.0, 1).await;
    let first = b.claim_units(&eager, 1).await.units.remove(0);
    assert!(b.claim_units(&gone, 1).await.units.is_empty());
    b.end_unit(&eager, &first, Ok(json!(1)), vec![], json!({})).await;
    let told = b.claim_units(&eager, 1).await;
    assert!(told.units.is_empty(), "it is the other's turn");
    b.clock.freeze(told.ask_again_at.unwrap());
    assert_eq!(b.claim_units(&eager, 1).await.units.len(), 1);
}

const RATE: f64 = 20.0;
const PERMITS: i64 = 3;
const JOBS: usize = 6;
const UNITS_EACH: usize = 8;

/// Six jobs ask all at once, again and again, while time goes on in steps.
pub async fn many_claimers_never_pass_the_rate_or_the_permits(b: Bench) {
    let mut jobs = Vec::new();
    for _ in 0..JOBS {
        jobs.push(b.composite(many(UNITS_EACH)).await);
    }
    b.reader(RATE, PERMITS as i32).await;
    let b = Arc::new(b);
    let starts: Arc<Mutex<Vec<Timestamp>>> = Arc::default();
    let (running, all_done) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicBool::new(false)));
    let mut claimers = JoinSet::new();
    for job in jobs {
        let (b, starts, running) = (b.clone(), starts.clone(), running.clone());
        claimers.spawn(async move {
            let mut left = UNITS_EACH;
            while left > 0 {
                for claimed in b.claim_units(&job, 2).await.units {
                    assert!(
                        running.fetch_add(1, Ordering::SeqCst) < PERMITS,
                        "more than {PERMITS} at a time"
                    );
                    starts.lock().unwrap().push(claimed.turn.clone().unwrap().start_at);
                    tokio::task::yield_now().await;
                    running.fetch_sub(1, Ordering::SeqCst);
                    b.end_unit(&job, &claimed, Ok(json!(1)), vec![], json!({})).await;
                    left -= 1;
                }
            }
        });
    }
    let time = {
        let (b, all_done) = (b.clone(), all_done.clone());
        tokio::spawn(async move {
            while !all_done.load(Ordering::SeqCst) {
                b.clock.advance(Duration::from_millis(20));
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
    };
    claimers.join_all().await;
    all_done.store(true, Ordering::SeqCst);
    time.await.unwrap();
    let mut starts = starts.lock().unwrap().clone();
    starts.sort();
    assert_eq!(starts.len(), JOBS * UNITS_EACH);
    let closest = starts.windows(2).map(|pair| pair[1].micros() - pair[0].micros()).min().unwrap();
    assert!(closest >= 1_000_000 / RATE as i64, "two calls only {closest} µs apart");
}
