//! Jobs that lived too long.

use super::{Keeper, assert_counters_are_right, statuses};
use crate::bench::{Bench, LEASE, NOW, renewal};
use leasehold_queue::{
    params::{FinishAnswer, HowCreated, NewJob, RenewAnswer},
    scope::Scope,
    transition::Ending,
    upkeep::{TtlAction, TtlCount, TtlRule},
};
use leasehold_types::{AttemptOutcome, JobStatus};
use std::time::Duration;

fn rule(action: TtlAction) -> TtlRule {
    TtlRule {
        queued_for: Some(Duration::from_secs(100)),
        running_for: Some(Duration::from_secs(30)),
        action,
        domain: None,
        queue: None,
        job_type: None,
    }
}

async fn sweep(keeper: &Keeper, rule: &TtlRule) -> TtlCount {
    keeper.sweep_ttl(&Scope::system("sweeper"), rule, 100).await.unwrap()
}

pub async fn a_job_that_waited_too_long_is_cancelled(b: Bench, keeper: Keeper) {
    let number = b.create(b.job(b.a)).await.number;
    b.wait(101);
    assert_eq!(sweep(&keeper, &rule(TtlAction::Cancel)).await, TtlCount { queued: 1, running: 0 });
    let detail = b.detail(number).await;
    assert_eq!((detail.row.status, detail.row.completed_at), (JobStatus::Cancelled, Some(b.clock.now())));
    assert_eq!(detail.row.error_code.as_deref(), Some("ttl_expired"));
    assert_eq!(detail.cancelled_by.as_deref(), Some("sweeper"));
    assert!(detail.attempts.is_empty());
    assert_eq!(b.kinds(number).await, ["job.created", "job.cancelled"]);
    assert_counters_are_right(&b).await;
}

pub async fn a_job_that_waited_too_long_fails(b: Bench, keeper: Keeper) {
    let number = b.create(b.job(b.a)).await.number;
    b.wait(101);
    assert_eq!(sweep(&keeper, &rule(TtlAction::Fail)).await, TtlCount { queued: 1, running: 0 });
    let detail = b.detail(number).await;
    assert_eq!((detail.row.status, detail.row.completed_at), (JobStatus::Failed, Some(b.clock.now())));
    assert_eq!(detail.row.error_code.as_deref(), Some("ttl_expired"));
    assert_eq!(b.kinds(number).await, ["job.created", "job.failed"]);
    assert_eq!(b.events().await.last().unwrap().event.error_code.as_deref(), Some("ttl_expired"));
    assert_counters_are_right(&b).await;
}

pub async fn a_young_job_is_left_alone(b: Bench, keeper: Keeper) {
    let running = b.running().await.lease.number;
    let waiting = b.create(b.job(b.a)).await.number;
    b.wait(29);
    assert_eq!(sweep(&keeper, &rule(TtlAction::Fail)).await, TtlCount::default());
    b.wait(1_000);
    let never = TtlRule { queued_for: None, running_for: None, ..rule(TtlAction::Fail) };
    assert_eq!(sweep(&keeper, &never).await, TtlCount::default());
    assert_eq!(statuses(&b, &[running, waiting]).await, [JobStatus::Processing, JobStatus::Queued]);
}

pub async fn a_job_that_ran_too_long_is_cancelled(b: Bench, keeper: Keeper) {
    let number = b.running().await.lease.number;
    b.wait(31);
    assert_eq!(sweep(&keeper, &rule(TtlAction::Cancel)).await, TtlCount { queued: 0, running: 1 });
    let detail = b.detail(number).await;
    assert_eq!((detail.row.status, detail.row.completed_at), (JobStatus::Cancelled, Some(b.clock.now())));
    assert_eq!((detail.row.worker_id, detail.leased_until), (None, None));
    let attempt = &detail.attempts[0];
    assert_eq!(
        (attempt.outcome, attempt.error_code.as_deref()),
        (AttemptOutcome::Cancelled, Some("ttl_expired"))
    );
    assert_eq!((attempt.started_at, attempt.finished_at), (NOW, Some(b.clock.now())));
    assert_eq!(b.kinds(number).await, ["job.created", "job.started", "job.cancelled"]);
    assert_counters_are_right(&b).await;
}

pub async fn a_job_that_ran_too_long_fails(b: Bench, keeper: Keeper) {
    let number = b.running().await.lease.number;
    b.wait(31);
    assert_eq!(sweep(&keeper, &rule(TtlAction::Fail)).await, TtlCount { queued: 0, running: 1 });
    let detail = b.detail(number).await;
    assert_eq!(detail.row.status, JobStatus::Failed, "attempts are left, but its time is not");
    assert_eq!(detail.row.error_code.as_deref(), Some("ttl_expired"));
    let attempt = &detail.attempts[0];
    assert_eq!(
        (attempt.outcome, attempt.error_code.as_deref()),
        (AttemptOutcome::Failed, Some("ttl_expired"))
    );
    assert_eq!(b.kinds(number).await, ["job.created", "job.started", "job.failed"]);
    assert_counters_are_right(&b).await;
}

pub async fn a_retried_job_is_not_blamed_for_earlier_attempts(b: Bench, keeper: Keeper) {
    let job = b.running().await;
    b.wait(20);
    b.fail(&job.lease, "x").await;
    b.wait(50);
    let again = b.claim(1).await.remove(0);
    b.wait(20);
    let only_running = TtlRule { queued_for: None, ..rule(TtlAction::Fail) };
    assert_eq!(sweep(&keeper, &only_running).await, TtlCount::default(), "this attempt is 20 s old");
    assert_eq!(b.finish(&again.lease, Ending::Completed).await, FinishAnswer::Applied(JobStatus::Completed));
}

pub async fn an_ended_worker_is_fenced(b: Bench, keeper: Keeper) {
    let job = b.running().await;
    b.wait(31);
    sweep(&keeper, &rule(TtlAction::Cancel)).await;
    assert_eq!(b.store.renew(vec![renewal(&job.lease)]).await.unwrap(), [RenewAnswer::Lost]);
    assert_eq!(b.finish(&job.lease, Ending::Completed).await, FinishAnswer::Stale);
    b.wait(LEASE.as_secs());
    assert!(
        b.store.reclaim_expired(&leasehold_queue::transition::Rules::default(), 10).await.unwrap().is_empty()
    );
    assert_eq!(b.status(job.lease.number).await, JobStatus::Cancelled);
}

pub async fn a_sweep_is_bounded(b: Bench, keeper: Keeper) {
    b.create_many(b.a, 5).await;
    b.claim(2).await;
    b.wait(101);
    let (scope, rule) = (Scope::system("sweeper"), rule(TtlAction::Cancel));
    let mut ended = Vec::new();
    for _ in 0..3 {
        let count = keeper.sweep_ttl(&scope, &rule, 2).await.unwrap();
        ended.push(count.queued + count.running);
    }
    assert_eq!(ended, [2, 2, 1]);
    assert_eq!(b.card(b.a).await.cancelled, 5);
}

pub async fn a_sweep_obeys_its_rule(b: Bench, keeper: Keeper) {
    let plain = b.create(b.job(b.a)).await.number;
    let special = NewJob {
        domain: "decks".into(),
        queue: "low".into(),
        job_type: "export".into(),
        definition_id: None,
        ..b.job(b.a)
    };
    let special = b.create(special).await.number;
    b.wait(101);
    let base = rule(TtlAction::Cancel);
    for missed in [
        TtlRule { domain: Some("other".into()), ..base.clone() },
        TtlRule { queue: Some("other".into()), ..base.clone() },
        TtlRule { job_type: Some("other".into()), ..base.clone() },
    ] {
        assert_eq!(sweep(&keeper, &missed).await, TtlCount::default(), "{missed:?}");
    }
    let hit = TtlRule {
        domain: Some("decks".into()),
        queue: Some("low".into()),
        job_type: Some("export".into()),
        ..base
    };
    assert_eq!(sweep(&keeper, &hit).await.queued, 1);
    assert_eq!(statuses(&b, &[plain, special]).await, [JobStatus::Queued, JobStatus::Cancelled]);
}

pub async fn a_sweep_stays_within_its_tenant(b: Bench, keeper: Keeper) {
    let own = b.create(b.job(b.a)).await.number;
    let foreign = b.create(b.job(b.b)).await.number;
    b.wait(101);
    assert_eq!(keeper.sweep_ttl(&b.ann(), &rule(TtlAction::Cancel), 100).await.unwrap().queued, 1);
    assert_eq!(statuses(&b, &[own, foreign]).await, [JobStatus::Cancelled, JobStatus::Queued]);
}

pub async fn a_swept_job_releases_its_dedupe_key(b: Bench, keeper: Keeper) {
    let keyed = |key: &str| NewJob { dedupe_key: Some(key.into()), ..b.job(b.a) };
    b.create(keyed("running")).await;
    b.claim(1).await;
    b.create(keyed("waiting")).await;
    b.wait(101);
    assert_eq!(sweep(&keeper, &rule(TtlAction::Fail)).await, TtlCount { queued: 1, running: 1 });
    for key in ["running", "waiting"] {
        assert_eq!(b.create(keyed(key)).await.how, HowCreated::Inserted, "{key}");
    }
}
