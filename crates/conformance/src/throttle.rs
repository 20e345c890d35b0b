//! Attempts at passwords: counted once over all processes, taken back, forgotten, bounded.

use super::bench::{Bench, NOW};
use leasehold_queue::throttle::{Brake, Counter};
use std::{sync::Arc, time::Duration};
use tokio::task::JoinSet;

fn counter(key: &str, brake: Brake) -> Counter {
    Counter { key: key.into(), brake }
}

fn account(key: &str) -> Vec<Counter> {
    vec![counter(key, Brake::ACCOUNT)]
}

/// How many of so many attempts are let through.
async fn attempts(b: &Bench, counters: &[Counter], times: usize) -> usize {
    let mut passed = 0;
    for _ in 0..times {
        passed += usize::from(b.store.begin_attempt(counters).await.unwrap().is_ok());
    }
    passed
}

pub async fn wrong_attempts_make_the_next_one_wait(b: Bench) {
    assert_eq!(attempts(&b, &account("ann"), 9).await, 5);
    assert_eq!(b.store.begin_attempt(&account("ann")).await.unwrap(), Err(Duration::from_secs(1)));
    assert_eq!(attempts(&b, &account("bob"), 1).await, 1, "others are not concerned");
    b.wait(1);
    assert_eq!(attempts(&b, &account("ann"), 9).await, 1);
    assert_eq!(b.store.begin_attempt(&account("ann")).await.unwrap(), Err(Duration::from_secs(2)));
    b.wait(6 * 900);
    assert_eq!(attempts(&b, &account("ann"), 9).await, 5, "all are forgotten");
}

pub async fn a_hundred_at_once_get_the_free_attempts_and_no_more(b: Bench) {
    let b = Arc::new(b);
    let both = [counter("ann", Brake::ACCOUNT), counter("here", Brake::ADDRESS)];
    let mut callers = JoinSet::new();
    for nth in 0..100 {
        let (b, mut both) = (b.clone(), both.to_vec());
        if nth % 2 == 1 {
            both.reverse();
        }
        callers.spawn(async move { b.store.begin_attempt(&both).await.unwrap().is_ok() });
    }
    let passed = callers.join_all().await.into_iter().filter(|passed| *passed).count();
    assert_eq!(passed, 5);
}

pub async fn a_braked_counter_keeps_the_others_from_counting(b: Bench) {
    let here = counter("here", Brake { free: 1, ..Brake::ADDRESS });
    assert_eq!(attempts(&b, std::slice::from_ref(&here), 3).await, 1);
    let both = [counter("ann", Brake::ACCOUNT), here];
    assert_eq!(attempts(&b, &both, 9).await, 0);
    assert_eq!(attempts(&b, &account("ann"), 9).await, 5, "nothing was counted for her");
}

pub async fn good_attempts_are_taken_back_and_proof_clears(b: Bench) {
    for _ in 0..20 {
        assert_eq!(attempts(&b, &account("ann"), 1).await, 1);
        b.store.forgive_attempt(&account("ann")).await.unwrap();
    }
    assert_eq!(attempts(&b, &account("ann"), 9).await, 5);
    b.store.clear_attempts(&account("ann")).await.unwrap();
    assert_eq!(attempts(&b, &account("ann"), 9).await, 5);
    b.store.forgive_attempt(&account("nobody")).await.unwrap();
}

pub async fn attempts_are_swept_and_bounded(b: Bench) {
    for nth in 0..30 {
        attempts(&b, &account(&format!("once {nth}")), 1).await;
    }
    attempts(&b, &account("often"), 5).await;
    assert_eq!(b.store.prune_attempts(1_000).await.unwrap(), 0);
    assert_eq!(b.store.prune_attempts(10).await.unwrap(), 21, "what means least goes first");
    assert_eq!(attempts(&b, &account("often"), 9).await, 0, "and what means most stays");
    b.wait(3_600 * 24);
    assert_eq!(b.store.prune_attempts(1_000).await.unwrap(), 10);
    assert!(b.clock.now() > NOW);
}
