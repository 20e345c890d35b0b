//! Why a job is not running: every cause, from facts the store has gathered.

use super::{Keeper, bulk, ended};
use crate::{
    bench::{Bench, NOW, definition, in_flight, new_job},
    units::{provider, unit},
};
use leasehold_queue::{
    bulk::BulkAction,
    diagnosis::explain,
    params::{Heartbeat, NewJob},
    scope::Scope,
    steering::QueueAction,
    transition::{Ending, Snooze},
};
use leasehold_types::{
    JobRef, WorkerId,
    unit::UnitKind,
    view::{Diagnosis, DiagnosisFacts},
};
use serde_json::{Value, json};
use std::time::Duration;

fn sign(worker: &str, lane: &str, command: &str) -> Heartbeat {
    Heartbeat {
        worker_id: WorkerId(worker.into()),
        hostname: "h".into(),
        version: String::new(),
        queues: vec![lane.into()],
        commands: vec![command.into()],
        running_count: 0,
        metadata: json!({}),
        started_at: NOW,
    }
}

async fn beat(b: &Bench, worker: &str, lane: &str, command: &str) {
    b.store.heartbeat(sign(worker, lane, command)).await.unwrap();
}

async fn facts(b: &Bench, keeper: &Keeper, number: i64) -> DiagnosisFacts {
    facts_under(b, keeper, number, &[]).await
}

/// With these quotas for running jobs.
async fn facts_under(b: &Bench, keeper: &Keeper, number: i64, quotas: &[(&str, i64)]) -> DiagnosisFacts {
    let quotas = in_flight(quotas);
    keeper.diagnosis(&b.ann(), JobRef::Number(number), &quotas).await.unwrap().expect("the job is Ann's")
}

/// What stands in the job's way, given that a worker could run it.
async fn served(b: &Bench, keeper: &Keeper, number: i64) -> Diagnosis {
    beat(b, "able", "commands/*", "import").await;
    explain(&facts(b, keeper, number).await, None)
}

fn codes(diagnosis: &Diagnosis) -> Vec<&str> {
    diagnosis.causes.iter().map(|cause| cause.code.as_str()).collect()
}

pub async fn a_job_with_nothing_in_its_way_is_next(b: Bench, keeper: Keeper) {
    let made = b.create(b.job(b.a)).await;
    let diagnosis = served(&b, &keeper, made.number).await;
    assert!(diagnosis.causes.is_empty(), "{diagnosis:?}");
    let facts = facts(&b, &keeper, made.number).await;
    assert_eq!((facts.domain.as_str(), facts.queue.as_str()), ("commands", "default"));
    assert_eq!((facts.job_type.as_str(), facts.now), ("import", NOW));
    assert_eq!((facts.ahead, facts.ahead_capped, facts.capable_workers), (0, false, 1));
    let by_id = keeper.diagnosis(&b.ann(), JobRef::Id(made.id), &in_flight(&[])).await.unwrap();
    assert_eq!(by_id, Some(facts));
}

pub async fn a_scheduled_job_waits_for_its_time(b: Bench, keeper: Keeper) {
    let number = b.create(NewJob { available_at: Some(NOW.plus_secs(60)), ..b.job(b.a) }).await.number;
    assert_eq!(codes(&served(&b, &keeper, number).await), ["scheduled"]);
    b.wait(60);
    assert!(served(&b, &keeper, number).await.causes.is_empty());
}

pub async fn a_failed_attempt_waits_for_the_next(b: Bench, keeper: Keeper) {
    let job = b.running().await;
    b.fail(&job.lease, "x").await;
    assert_eq!(codes(&served(&b, &keeper, job.lease.number).await), ["retry_wait"]);
}

pub async fn a_wait_that_no_failure_caused_blames_none(b: Bench, keeper: Keeper) {
    let job = b.running().await;
    let wait = Duration::from_secs(30);
    let snooze = Snooze { error_code: "not_here".into(), message: "It belongs elsewhere.".into(), wait };
    b.finish(&job.lease, Ending::Snoozed(snooze)).await;
    let snoozed = served(&b, &keeper, job.lease.number).await;
    assert_eq!(codes(&snoozed), ["snoozed"]);
    assert!(snoozed.summary.contains("It belongs elsewhere."), "{snoozed:?}");
    let released = b.running().await.lease;
    b.finish(&released, Ending::Released).await;
    let failed = b.running_with(|job| job.priority = 2).await.lease;
    b.fail(&failed, "x").await;
    let requeued = b.quarantined_with(|job| job.priority = 1).await;
    b.store.requeue(&b.ann(), JobRef::Number(requeued), None).await.unwrap();
    let at = Some(b.clock.now().plus_secs(60));
    assert_eq!(bulk(&b, &keeper, BulkAction::Reschedule { at }).await.1, 0);
    for number in [released.number, failed.number, requeued] {
        assert_eq!(codes(&served(&b, &keeper, number).await), ["scheduled"]);
    }
}

pub async fn a_provider_nobody_knows_is_named(b: Bench, keeper: Keeper) {
    for name in ["near", "far"] {
        b.store.ensure_provider(provider(name, UnitKind::Ocr)).await.unwrap();
    }
    let job = b.running().await;
    let units = vec![unit("1").through("far"), unit("2")];
    b.store.add_units(&job.lease, units, json!({})).await.unwrap();
    b.finish(&job.lease, Ending::Released).await;
    let number = job.lease.number;
    let knowing = async |worker: &str, providers: Value| {
        let beat = Heartbeat { metadata: providers, ..sign(worker, "commands/*", "import") };
        b.store.heartbeat(beat).await.unwrap();
        explain(&facts(&b, &keeper, number).await, None)
    };
    let alone = knowing("w1", json!({"providers": ["near"]})).await;
    assert_eq!(codes(&alone), ["no_provider"]);
    assert!(alone.summary.contains("the provider “far”"), "{alone:?}");
    assert!(knowing("w2", json!({"providers": ["far"]})).await.causes.is_empty());
    b.wait(60);
    assert!(knowing("w3", json!({})).await.causes.is_empty(), "one that does not say may know it");
    b.wait(60);
    assert_eq!(codes(&knowing("w1", json!({"providers": []})).await), ["no_provider"; 2]);
}

pub async fn a_closed_queue_is_named(b: Bench, keeper: Keeper) {
    let number = b.create(b.job(b.a)).await.number;
    for (queue, action, expected) in [
        ("default", QueueAction::Pause, vec!["queue_paused"]),
        ("default", QueueAction::Resume, vec![]),
        ("default", QueueAction::Drain, vec!["queue_draining"]),
        ("default", QueueAction::Resume, vec![]),
        ("other", QueueAction::Pause, vec![]),
    ] {
        b.store.control_queue(&Scope::system("test"), "commands", queue, action, None).await.unwrap();
        assert_eq!(codes(&served(&b, &keeper, number).await), expected);
    }
}

pub async fn a_kind_that_is_off_is_named(b: Bench, keeper: Keeper) {
    let number = b.create(b.job(b.a)).await.number;
    b.switch_definition(b.definition.id, false).await;
    assert_eq!(codes(&served(&b, &keeper, number).await), ["definition_inactive"]);
}

pub async fn a_missing_worker_is_named(b: Bench, keeper: Keeper) {
    let number = b.create(b.job(b.a)).await.number;
    assert_eq!(codes(&explain(&facts(&b, &keeper, number).await, None)), ["no_worker"]);
}

pub async fn a_worker_must_be_live_and_able(b: Bench, keeper: Keeper) {
    let number = b.create(b.job(b.a)).await.number;
    for (worker, lane, command) in
        [("other queue", "commands/low", "import"), ("other type", "commands/default", "export")]
    {
        beat(&b, worker, lane, command).await;
        assert_eq!(facts(&b, &keeper, number).await.capable_workers, 0, "{worker}");
    }
    for (worker, lane, command) in
        [("exact", "commands/default", "import"), ("domain", "commands/*", "import"), ("any", "*/*", "*")]
    {
        beat(&b, worker, lane, command).await;
    }
    assert_eq!(facts(&b, &keeper, number).await.capable_workers, 3);
    b.wait(16);
    beat(&b, "exact", "commands/default", "import").await;
    assert_eq!(facts(&b, &keeper, number).await.capable_workers, 1, "silent workers run nothing");
}

pub async fn a_held_concurrency_key_is_named(b: Bench, keeper: Keeper) {
    let keyed = |key: &str| NewJob { concurrency_key: Some(key.into()), ..b.job(b.a) };
    let holder = b.create(keyed("k")).await.number;
    assert_eq!(b.claim_numbers(1).await, [holder]);
    let number = b.create(keyed("k")).await.number;
    assert_eq!(facts(&b, &keeper, number).await.concurrency_holder, None, "the key is not limited");
    b.limit_kind(|limits| limits.max_active_per_key = Some(1)).await;
    assert_eq!(codes(&served(&b, &keeper, number).await), ["concurrency_key"]);
    assert_eq!(facts(&b, &keeper, number).await.concurrency_holder, Some(holder));
    let other = b.create(keyed("other")).await.number;
    assert_eq!(facts(&b, &keeper, other).await.concurrency_holder, None);
    assert_eq!(facts(&b, &keeper, holder).await.concurrency_holder, None, "it does not wait for itself");
}

pub async fn every_limit_that_is_reached_is_named(b: Bench, keeper: Keeper) {
    let of_ann = || NewJob { owner_user_id: Some("ann".into()), ..b.job(b.a) };
    b.create(of_ann()).await;
    assert_eq!(b.claim(1).await.len(), 1);
    let number = b.create(of_ann()).await.number;
    b.limit_tenant(b.a, Some(1)).await;
    b.limit_kind(|limits| (limits.max_in_flight, limits.max_in_flight_per_tenant) = (Some(1), Some(1))).await;
    assert!(b.claim(1).await.is_empty());
    let named = |facts: DiagnosisFacts| -> Vec<_> {
        facts.limits_reached.into_iter().map(|limit| (limit.what, limit.used, limit.max)).collect()
    };
    let reached = |what: &str| (what.to_owned(), 1, 1);
    let stored = [reached("This tenant"), reached("“import”"), reached("“import” in this tenant")];
    assert_eq!(named(facts(&b, &keeper, number).await), stored);
    assert_eq!(codes(&served(&b, &keeper, number).await), ["limit_reached"; 3]);
    b.limit_tenant(b.a, None).await;
    b.limit_kind(|_| {}).await;
    assert!(named(facts(&b, &keeper, number).await).is_empty());
    for (quota, what) in [
        ("", "This installation"),
        ("_COMMANDS", "The domain “commands”"),
        ("_USER_ANN", "The owner “ann”"),
        ("_COMMANDS_USER_ANN", "The owner “ann” in “commands”"),
    ] {
        assert_eq!(named(facts_under(&b, &keeper, number, &[(quota, 1)]).await), [reached(what)]);
        assert!(b.claim_under(&[(quota, 1)], 1).await.is_empty(), "a claim agrees about {what}");
    }
    assert_eq!(b.claim_under(&[("_USER_ANN", 2)], 1).await, [number]);
}

pub async fn jobs_ahead_are_counted_in_claim_order(b: Bench, keeper: Keeper) {
    let with_priority = |priority| NewJob { priority, ..b.job(b.a) };
    b.create(with_priority(50)).await;
    b.create(with_priority(200)).await;
    b.create_many(b.a, 2).await;
    let number = b.create(b.job(b.a)).await.number;
    b.create_many(b.a, 2).await;
    assert_eq!(facts(&b, &keeper, number).await.ahead, 3);
    assert_eq!(codes(&served(&b, &keeper, number).await), ["behind_others"]);
    b.wait(1);
    let urgent = b.create(with_priority(60)).await.number;
    assert_eq!(facts(&b, &keeper, number).await.ahead, 4, "priority comes before time");
    assert_eq!(facts(&b, &keeper, urgent).await.ahead, 1);
}

pub async fn only_claimable_jobs_are_ahead(b: Bench, keeper: Keeper) {
    b.running().await;
    b.create(NewJob { priority: 1, available_at: Some(NOW.plus_secs(60)), ..b.job(b.a) }).await;
    b.create(NewJob { queue: "low".into(), ..b.job(b.a) }).await;
    b.create(b.job(b.b)).await;
    let off = b.store.ensure_definition(definition("export")).await.unwrap();
    b.create(new_job(b.a, &off)).await;
    b.switch_definition(off.id, false).await;
    let number = b.create(b.job(b.a)).await.number;
    assert_eq!(facts(&b, &keeper, number).await.ahead, 0);
}

pub async fn the_count_ahead_is_capped(b: Bench, keeper: Keeper) {
    let numbers = b.create_many(b.a, 1_002).await;
    let ahead = |facts: DiagnosisFacts| (facts.ahead, facts.ahead_capped);
    assert_eq!(ahead(facts(&b, &keeper, numbers[1_000]).await), (1_000, false));
    assert_eq!(ahead(facts(&b, &keeper, numbers[1_001]).await), (1_000, true));
}

pub async fn a_job_that_is_not_waiting_has_no_causes(b: Bench, keeper: Keeper) {
    let completed = ended(&b, Ending::Completed).await;
    let running = b.running().await.lease.number;
    for number in [completed, running] {
        let facts = facts(&b, &keeper, number).await;
        assert_eq!(facts.ahead, 0);
        assert!(explain(&facts, None).causes.is_empty());
    }
}

pub async fn a_foreign_job_is_not_explained(b: Bench, keeper: Keeper) {
    let number = b.create(b.job(b.a)).await.number;
    assert_eq!(keeper.diagnosis(&b.bob(), JobRef::Number(number), &in_flight(&[])).await.unwrap(), None);
    assert_eq!(keeper.diagnosis(&b.ann(), JobRef::Number(999_999), &in_flight(&[])).await.unwrap(), None);
}
