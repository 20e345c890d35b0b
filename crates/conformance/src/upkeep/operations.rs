//! Bulk operations as whole things: through the door, in the audit log, carried on by whoever leads, forgotten.

use super::{Keeper, apply, assert_counters_are_right, bulk, ended, permanent, plan, request, statuses};
use crate::{
    administration::confined,
    bench::{Bench, code_of},
};
use leasehold_queue::{
    Engine, EngineConfig,
    administration::DefinitionChange,
    bulk::BulkAction,
    params::NewJob,
    scope::{Actor, Scope},
    verbs::bulk::Applied,
};
use leasehold_types::{
    JobFilter, JobStatus, PageRequest, TenantLimits, UserId,
    people::AuditFilter,
    view::{BulkOperation, BulkState},
};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use uuid::Uuid;

fn engine(b: &Bench) -> Engine {
    Engine::new(b.store.clone(), b.clock.clone(), EngineConfig::default())
}

/// Who did what, oldest first.
async fn log(b: &Bench) -> Vec<(String, String, Option<String>)> {
    let (scope, all) = (Scope::system("test"), AuditFilter::default());
    let page = b.store.audit_entries(&scope, &all, PageRequest::default()).await.unwrap();
    page.items.into_iter().rev().map(|entry| (entry.action, entry.actor, entry.reason)).collect()
}

async fn now(b: &Bench, operation: &BulkOperation) -> BulkOperation {
    b.store.bulk_operation(&Scope::system("test"), operation.id).await.unwrap()
}

pub async fn an_operation_leaves_one_entry_for_each_step(b: Bench, keeper: Keeper) {
    b.create_many(b.a, 7).await;
    let plan = plan(&b, &keeper, BulkAction::Cancel).await;
    for _ in 0..3 {
        b.apply_chunk(&b.ann(), plan.id, 3).await.unwrap();
    }
    let ann = "ann@example.org".to_owned();
    let entry = |action: &str, why: &str| (action.to_owned(), ann.clone(), Some(why.to_owned()));
    assert_eq!(
        log(&b).await,
        [
            entry("bulk.plan", "spring cleaning"),
            entry("bulk.apply", "spring cleaning"),
            entry("bulk.finish", "cancel: 7 changed, 0 skipped of 7"),
        ]
    );
    ended(&b, permanent("x")).await;
    let retry = bulk(&b, &keeper, BulkAction::Retry).await;
    assert_eq!(retry.0, 8);
    assert_eq!(log(&b).await.len(), 6, "the new jobs leave none of their own");
    let aborted = super::plan(&b, &keeper, BulkAction::Cancel).await;
    keeper.abort_bulk(&b.ann(), aborted.id).await.unwrap();
    assert_eq!(log(&b).await.last(), Some(&entry("bulk.abort", "cancel: 0 changed, 0 skipped of 8")));
}

pub async fn a_job_says_who_changed_it_in_bulk(b: Bench, keeper: Keeper) {
    let parked = b.quarantined().await;
    let waiting = b.create(b.job(b.a)).await.number;
    bulk(&b, &keeper, BulkAction::RequeueQuarantined).await;
    b.wait(1);
    bulk(&b, &keeper, BulkAction::Reschedule { at: None }).await;
    let acts = async |number| {
        let trail = b.detail(number).await.trail;
        assert!(trail.iter().all(|entry| entry.actor == "ann@example.org"), "{trail:?}");
        assert!(trail.iter().all(|entry| entry.reason.as_deref() == Some("spring cleaning")));
        trail.into_iter().map(|entry| entry.action).collect::<Vec<_>>()
    };
    assert_eq!(acts(parked).await, ["job.requeue", "job.reschedule"]);
    assert_eq!(acts(waiting).await, ["job.reschedule"]);
}

pub async fn a_retry_passes_the_same_door_as_an_enqueue(b: Bench, keeper: Keeper) {
    let fits = b.running_with(|job| job.payload = json!({"n": 1})).await;
    b.finish(&fits.lease, permanent("x")).await;
    let unfit = b.running_with(|job| job.payload = json!({"n": "one"})).await;
    b.finish(&unfit.lease, permanent("x")).await;
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let change = DefinitionChange { arg_schema: Some(schema), ..DefinitionChange::default() };
    b.store.update_definition(&Scope::system("test"), b.definition.id, change).await.unwrap();
    let plan = plan(&b, &keeper, BulkAction::Retry).await;
    let done = apply(&b, &plan).await;
    assert_eq!((done.changed, done.skipped), (1, 1));
    assert_eq!((done.skips[0].code.as_str(), done.skips[0].jobs), ("INVALID_PAYLOAD", 1));
    assert_eq!(done.skips[0].first, unfit.lease.number);
    assert_eq!(b.detail(fits.lease.number).await.children.len(), 1);
    assert!(b.detail(unfit.lease.number).await.children.is_empty());
}

pub async fn a_retry_that_a_gate_refuses_is_skipped_with_its_reason(b: Bench, keeper: Keeper) {
    b.create_many(b.a, 5).await;
    for job in b.claim(5).await {
        b.finish(&job.lease, permanent("x")).await;
    }
    let limits = TenantLimits { max_queued: Some(3), ..TenantLimits::default() };
    b.store.set_tenant_limits(&Scope::system("test"), b.a, limits).await.unwrap();
    let plan = plan(&b, &keeper, BulkAction::Retry).await;
    let done = apply(&b, &plan).await;
    assert_eq!((done.changed, done.skipped), (3, 2), "the rest goes on");
    assert_eq!((done.skips[0].code.as_str(), done.skips[0].jobs), ("QUOTA_EXCEEDED", 2));
    assert!(!done.skips[0].reason.is_empty());
    assert_eq!(b.claim(10).await.len(), 3);
    assert_counters_are_right(&b).await;
}

/// Two have read the same chunk; the second to write finds that the plan has moved on.
pub async fn a_chunk_of_retries_that_was_made_meanwhile_is_not_made_again(b: Bench, keeper: Keeper) {
    let parent = ended(&b, permanent("x")).await;
    let plan = plan(&b, &keeper, BulkAction::Retry).await;
    let Applied::ToRetry(chunk) = keeper.apply_bulk(&b.ann(), plan.id, 10).await.unwrap() else {
        panic!("nothing to retry")
    };
    assert_eq!(chunk.numbers, [parent]);
    let new = || vec![(parent, Ok(NewJob { parent: Some(parent), ..b.job(b.a) }))];
    for _ in 0..2 {
        let done = keeper.retry_chunk(&b.ann(), &chunk, new()).await.unwrap();
        assert_eq!((done.state, done.changed), (BulkState::Done, 1));
    }
    assert_eq!(b.detail(parent).await.children.len(), 1);
}

pub async fn what_was_begun_is_carried_on(b: Bench, keeper: Keeper) {
    let numbers = b.create_many(b.a, 5).await;
    let plan = plan(&b, &keeper, BulkAction::Cancel).await;
    let engine = engine(&b);
    assert_eq!(engine.carry_on_operations("p1").await.unwrap(), 0, "a plan alone is not applied");
    let begun = engine.begin_bulk(&b.ann(), plan.id).await.unwrap();
    assert_eq!((begun.state, begun.changed), (BulkState::Applying, 0));
    assert_eq!(engine.carry_on_operations("p1").await.unwrap(), 1);
    let done = now(&b, &plan).await;
    assert_eq!((done.state, done.changed), (BulkState::Done, 5));
    assert_eq!(done.applied_by.as_deref(), Some("ann@example.org"));
    let detail = b.detail(numbers[0]).await;
    assert_eq!(
        detail.cancelled_by.as_deref(),
        Some("ann@example.org"),
        "who had it applied, not who did the work"
    );
    let last = log(&b).await.pop().unwrap();
    assert_eq!((last.0.as_str(), last.1.as_str()), ("bulk.finish", "ann@example.org"));
    assert_eq!(engine.carry_on_operations("p1").await.unwrap(), 0);
}

pub async fn what_was_left_in_the_middle_is_carried_on(b: Bench, keeper: Keeper) {
    b.create_many(b.a, 3).await;
    for job in b.claim(3).await {
        b.finish(&job.lease, permanent("x")).await;
    }
    let plan = plan(&b, &keeper, BulkAction::Retry).await;
    b.apply_chunk(&b.ann(), plan.id, 2).await.unwrap();
    assert_eq!(now(&b, &plan).await.state, BulkState::Applying);
    engine(&b).carry_on_operations("p2").await.unwrap();
    let done = now(&b, &plan).await;
    assert_eq!((done.state, done.changed, done.skipped), (BulkState::Done, 3, 0));
    let new = b.claim(10).await;
    assert_eq!(new.len(), 3);
    assert_eq!(b.detail(new[2].lease.number).await.requested_by, "ann@example.org");
}

pub async fn what_was_aborted_is_not_carried_on(b: Bench, keeper: Keeper) {
    let numbers = b.create_many(b.a, 5).await;
    let plan = plan(&b, &keeper, BulkAction::Cancel).await;
    b.apply_chunk(&b.ann(), plan.id, 2).await.unwrap();
    keeper.abort_bulk(&b.ann(), plan.id).await.unwrap();
    assert_eq!(engine(&b).carry_on_operations("p1").await.unwrap(), 0);
    assert_eq!(code_of(b.store.begin_bulk(&b.ann(), plan.id).await), "WRONG_STATE");
    assert_eq!(statuses(&b, &numbers[2..]).await, [JobStatus::Queued; 3]);
}

/// Two processes that both believe they lead.
pub async fn who_carries_on_at_once_does_each_job_once(b: Bench, keeper: Keeper) {
    b.create_many(b.a, 60).await;
    for job in b.claim(60).await {
        b.finish(&job.lease, permanent("x")).await;
    }
    let plan = plan(&b, &keeper, BulkAction::Retry).await;
    let (b, scope) = (Arc::new(b), Scope::system("operations"));
    let appliers: Vec<_> = (0..3)
        .map(|_| {
            let (b, scope) = (b.clone(), scope.clone());
            tokio::spawn(async move { while b.apply_chunk(&scope, plan.id, 7).await.is_ok() {} })
        })
        .collect();
    for applier in appliers {
        applier.await.unwrap();
    }
    let done = now(&b, &plan).await;
    assert_eq!((done.state, done.changed, done.skipped), (BulkState::Done, 60, 0));
    assert_eq!(b.claim(100).await.len(), 60);
    assert_counters_are_right(&b).await;
}

pub async fn old_operations_are_forgotten(b: Bench, keeper: Keeper) {
    b.create_many(b.a, 2).await;
    let done = plan(&b, &keeper, BulkAction::Cancel).await;
    apply(&b, &done).await;
    b.create_many(b.a, 2).await;
    let under_way = plan(&b, &keeper, BulkAction::Reschedule { at: None }).await;
    b.apply_chunk(&b.ann(), under_way.id, 1).await.unwrap();
    let unapplied = plan(&b, &keeper, BulkAction::Cancel).await;
    let ids = async || {
        let found = keeper.bulk_operations(&b.ann(), None, 10).await.unwrap();
        found.into_iter().map(|operation| operation.id).collect::<Vec<_>>()
    };
    engine(&b).prune_operations().await.unwrap();
    assert_eq!(ids().await.len(), 3, "a plan may still be applied");
    b.wait(601);
    engine(&b).prune_operations().await.unwrap();
    assert!(!ids().await.contains(&unapplied.id));
    assert_eq!(ids().await.len(), 2);
    b.wait(30 * 86_400);
    let for_ever = EngineConfig { operations_kept: Duration::ZERO, ..EngineConfig::default() };
    Engine::new(b.store.clone(), b.clock.clone(), for_ever).prune_operations().await.unwrap();
    assert_eq!(ids().await.len(), 2);
    engine(&b).prune_operations().await.unwrap();
    assert_eq!(ids().await, [under_way.id], "what is under way stays however old it is");
}

pub async fn operations_are_listed_page_by_page(b: Bench, keeper: Keeper) {
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(plan(&b, &keeper, BulkAction::Cancel).await);
        b.wait(1);
    }
    made.reverse();
    let first = keeper.bulk_operations(&b.ann(), None, 2).await.unwrap();
    assert_eq!(first, made[..2]);
    let rest = keeper.bulk_operations(&b.ann(), Some(first[1].id), 10).await.unwrap();
    assert_eq!(rest, made[2..]);
    assert_eq!(keeper.bulk_operation(&b.ann(), made[4].id).await.unwrap(), made[4]);
    assert_eq!(code_of(keeper.bulk_operation(&b.bob(), made[4].id).await), "NOT_FOUND");
}

/// Who is kept to some domains sees only operations of their own, and all of them.
pub async fn others_operations_do_not_shorten_a_list(b: Bench, keeper: Keeper) {
    let mine = plan(&b, &keeper, BulkAction::Cancel).await;
    let eve = Actor::User { id: UserId(Uuid::now_v7()), email: "eve@example.org".into() };
    let eve = Scope { actor: eve, ..b.ann() };
    for _ in 0..5 {
        b.wait(1);
        keeper.plan_bulk(&eve, request(BulkAction::Cancel, JobFilter::default())).await.unwrap();
    }
    let ann = confined(b.ann(), &[&b.definition.domain]);
    assert_eq!(engine(&b).bulk_operations(&ann, None, 2).await.unwrap(), [mine]);
}

/// A number in the filter's text is that job, in lists and in plans alike, and no text that others contain.
pub async fn a_job_that_is_named_is_meant_alone(b: Bench, keeper: Keeper) {
    let meant = b.create(b.job(b.a)).await.number;
    let text = meant.to_string();
    let other = NewJob { correlation_id: Some(format!("x{text}x")), ..b.job(b.a) };
    b.create(other).await;
    let filter = JobFilter { q: Some(text), ..JobFilter::default() };
    let page = b.store.list(&b.ann(), &filter, PageRequest::default()).await.unwrap();
    assert_eq!(page.rows.iter().map(|row| row.number).collect::<Vec<_>>(), [meant]);
    assert_eq!(page.matching.count, 1);
    let plan = keeper.plan_bulk(&b.ann(), request(BulkAction::Cancel, filter)).await.unwrap();
    assert_eq!((plan.planned, plan.sample), (1, vec![meant]));
}
