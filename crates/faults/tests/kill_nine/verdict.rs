//! The ledger against the database.

use crate::follower::Follower;
use leasehold_faults::rules;
use leasehold_queue::{Scope, Store};
use leasehold_types::{AttemptOutcome, JobFilter, JobRef, JobStatus, PageRequest, TenantId};
use std::{
    collections::{HashMap, HashSet},
    path::Path,
    time::{Duration, Instant},
};

/// Nobody is left to reclaim for the dead but us.
pub async fn until_drained(store: &dyn Store, tenant: TenantId, deadline: Instant) {
    loop {
        let _ = store.reclaim_expired(&rules(), 1_000).await;
        let _ = store.fold_counters().await;
        if let Ok(overview) = store.overview(&Scope::system("faults"), tenant).await
            && overview.cards.iter().all(|c| c.queued + c.scheduled + c.running == 0)
        {
            return;
        }
        assert!(Instant::now() < deadline, "the backlog did not drain in time");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[derive(Default)]
struct Facts {
    made: HashSet<i64>,
    done: HashMap<i64, Vec<i32>>,
    stale: usize,
}

fn read_ledgers(folder: &Path) -> Facts {
    let mut facts = Facts::default();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if !entry.file_name().to_string_lossy().starts_with("ledger-") {
            continue;
        }
        for line in std::fs::read_to_string(entry.path()).unwrap().lines() {
            let words: Vec<_> = line.split(' ').collect();
            match words.as_slice() {
                ["made", number] => _ = facts.made.insert(number.parse().unwrap()),
                ["done", number, attempt] => {
                    facts.done.entry(number.parse().unwrap()).or_default().push(attempt.parse().unwrap());
                }
                ["stale", ..] => facts.stale += 1,
                other => panic!("a torn ledger line: {other:?}"),
            }
        }
    }
    facts
}

pub async fn holds(store: &dyn Store, folder: &Path, tenant: TenantId, follower: Follower) {
    let facts = read_ledgers(folder);
    assert!(facts.made.len() > 100, "hardly anything happened: {} jobs", facts.made.len());
    let statuses = all_statuses(store, tenant).await;
    let (mut executions, mut lost) = (0, 0);
    for number in &facts.made {
        assert_eq!(statuses.get(number), Some(&JobStatus::Completed), "acknowledged job {number}");
    }
    for number in statuses.keys() {
        let job = store.job(&Scope::system("faults"), JobRef::Number(*number), 0).await.unwrap().unwrap();
        let succeeded: Vec<_> = job
            .attempts
            .iter()
            .filter(|a| a.outcome == AttemptOutcome::Succeeded)
            .map(|a| a.attempt)
            .collect();
        assert_eq!(
            succeeded.len(),
            1,
            "job {number} must have exactly one accepted completion: {:?}",
            job.attempts
        );
        let told = facts.done.get(number).cloned().unwrap_or_default();
        assert!(
            told.iter().all(|a| succeeded.contains(a)),
            "job {number}: a stale completion was accepted: {told:?}"
        );
        assert!(told.len() <= 1, "job {number} was told done {} times", told.len());
        executions += job.attempts.len();
        lost += job.attempts.iter().filter(|a| a.outcome == AttemptOutcome::Lost).count();
    }
    check_events(store, follower.finish().await).await;
    assert_eq!(store.recount().await.unwrap(), 0, "the counters must equal a recount");
    println!(
        "{} jobs acknowledged, {} executions ({lost} lost with their worker), {} late completions refused",
        facts.made.len(),
        executions,
        facts.stale
    );
}

async fn all_statuses(store: &dyn Store, tenant: TenantId) -> HashMap<i64, JobStatus> {
    let scope = Scope::system("faults").within(tenant);
    let mut all = HashMap::new();
    let mut before = None;
    loop {
        let page = PageRequest { before, limit: 200 };
        let listed = store.list(&scope, &JobFilter::default(), page).await.unwrap();
        all.extend(listed.rows.iter().map(|r| (r.number, r.status)));
        before = listed.next;
        if before.is_none() {
            return all;
        }
    }
}

/// The follower saw what is there: all of it, once, in order.
async fn check_events(store: &dyn Store, seen: Vec<i64>) {
    assert!(seen.windows(2).all(|w| w[0] < w[1]), "events came out of order or twice");
    let mut kept = Vec::new();
    let tail = store.outbox_tail().await.unwrap();
    while let Some(page) = Some(
        store.events(&Scope::system("faults"), kept.last().copied().unwrap_or(0), tail, 1_000).await.unwrap(),
    )
    .filter(|p| !p.is_empty())
    {
        kept.extend(page.iter().map(|e| e.event.id));
    }
    let missed: Vec<_> = kept.iter().filter(|id| seen.binary_search(id).is_err()).take(5).collect();
    assert!(missed.is_empty(), "the follower missed events {missed:?}");
    assert_eq!(seen.len(), kept.len());
}
