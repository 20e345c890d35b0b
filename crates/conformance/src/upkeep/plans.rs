//! Plans: what they count, how they are applied, when they are refused.

use super::{
    Keeper, apply, apply_as, assert_counters_are_right, ended, exists, permanent, plan, request, statuses,
};
use crate::bench::{Bench, NOW, code_of};
use leasehold_queue::{bulk::BulkAction, params::NewJob, scope::Scope, transition::Ending};
use leasehold_types::{
    JobFilter, JobRef, JobStatus, PageRequest,
    view::{BulkGroup, BulkState},
};
use uuid::Uuid;

fn in_queue(queue: &str) -> JobFilter {
    JobFilter { queue: Some(queue.into()), ..JobFilter::default() }
}

pub async fn a_plan_counts_exactly_and_changes_nothing(b: Bench, keeper: Keeper) {
    let numbers = b.create_many(b.a, 12).await;
    b.create_many(b.b, 3).await;
    let events = b.events().await.len();
    let plan = plan(&b, &keeper, BulkAction::Cancel).await;
    assert_eq!((plan.planned, plan.state, plan.tenant_id), (12, BulkState::Planned, Some(b.a)));
    assert_eq!((plan.action.as_str(), plan.reason.as_str()), ("cancel", "spring cleaning"));
    assert_eq!(plan.actor, "ann@example.org");
    assert_eq!((&plan.sample[..], plan.highest_number), (&numbers[..10], numbers[11]));
    assert_eq!((plan.created_at, plan.expires_at), (NOW, NOW.plus_secs(600)));
    assert_eq!((plan.changed, plan.skipped, plan.finished_at), (0, 0, None));
    assert_eq!(statuses(&b, &numbers).await, [JobStatus::Queued; 12]);
    assert_eq!(b.events().await.len(), events);
    assert_counters_are_right(&b).await;
}

pub async fn a_plan_names_the_largest_groups(b: Bench, keeper: Keeper) {
    for (queue, jobs) in [("low", 2), ("default", 3), ("high", 1)] {
        for _ in 0..jobs {
            b.create(NewJob { queue: queue.into(), ..b.job(b.a) }).await;
        }
    }
    let mut asked = request(BulkAction::Cancel, JobFilter::default());
    asked.top_groups = 2;
    let plan = keeper.plan_bulk(&b.ann(), asked).await.unwrap();
    let group = |queue: &str, jobs| BulkGroup {
        domain: "commands".into(),
        queue: queue.into(),
        job_type: "import".into(),
        status: JobStatus::Queued,
        jobs,
    };
    assert_eq!((plan.planned, plan.groups), (6, vec![group("default", 3), group("low", 2)]));
}

pub async fn a_plan_obeys_the_filter(b: Bench, keeper: Keeper) {
    let others = b.create_many(b.a, 3).await;
    let low = b.create(NewJob { queue: "low".into(), ..b.job(b.a) }).await.number;
    let plan = keeper.plan_bulk(&b.ann(), request(BulkAction::Cancel, in_queue("low"))).await.unwrap();
    assert_eq!((plan.planned, &plan.sample[..], plan.highest_number), (1, &[low][..], low));
    assert_eq!(apply(&b, &plan).await.changed, 1);
    assert_eq!(b.status(low).await, JobStatus::Cancelled);
    assert_eq!(statuses(&b, &others).await, [JobStatus::Queued; 3]);
}

pub async fn an_action_reaches_only_its_states(b: Bench, keeper: Keeper) {
    b.quarantined().await;
    ended(&b, Ending::Completed).await;
    ended(&b, permanent("x")).await;
    ended(&b, Ending::Cancelled).await;
    b.running().await;
    b.create(b.job(b.a)).await;
    for (action, reached) in [
        (BulkAction::Cancel, 3),
        (BulkAction::Reschedule { at: None }, 1),
        (BulkAction::Retry, 2),
        (BulkAction::RequeueQuarantined, 1),
        (BulkAction::Prune { archive: false }, 4),
    ] {
        assert_eq!(plan(&b, &keeper, action.clone()).await.planned, reached, "{action:?}");
    }
    let running = JobFilter { statuses: vec![JobStatus::Processing], ..JobFilter::default() };
    let plan =
        keeper.plan_bulk(&b.ann(), request(BulkAction::Prune { archive: false }, running)).await.unwrap();
    assert_eq!((plan.planned, plan.highest_number, plan.sample.len()), (0, 0, 0));
}

pub async fn lists_know_error_codes_and_ends(b: Bench, keeper: Keeper) {
    let old = ended(&b, permanent("disk_full")).await;
    b.wait(100);
    let young = ended(&b, permanent("no_network")).await;
    b.create(b.job(b.a)).await;
    let by_code = JobFilter { error_code: Some("no_network".into()), ..JobFilter::default() };
    let by_end = JobFilter { completed_before: Some(NOW.plus_secs(50)), ..JobFilter::default() };
    for (filter, expected) in [(by_code, young), (by_end, old)] {
        let page = b.store.list(&b.ann(), &filter, PageRequest::default()).await.unwrap();
        assert_eq!(page.rows.iter().map(|r| r.number).collect::<Vec<_>>(), [expected]);
        let plan = keeper.plan_bulk(&b.ann(), request(BulkAction::Retry, filter)).await.unwrap();
        assert_eq!(plan.sample, [expected], "a plan counts what a list shows");
    }
}

pub async fn an_empty_plan_is_done_at_once(b: Bench, keeper: Keeper) {
    let plan = plan(&b, &keeper, BulkAction::Retry).await;
    assert_eq!((plan.planned, plan.highest_number), (0, 0));
    let done = b.apply_chunk(&b.ann(), plan.id, 10).await.unwrap();
    assert_eq!((done.state, done.changed, done.skipped), (BulkState::Done, 0, 0));
    assert_eq!(done.finished_at, Some(NOW));
}

pub async fn applying_touches_only_what_was_planned(b: Bench, keeper: Keeper) {
    let before = b.create_many(b.a, 4).await;
    let plan = plan(&b, &keeper, BulkAction::Cancel).await;
    let after = b.create_many(b.a, 4).await;
    let done = apply(&b, &plan).await;
    assert_eq!((done.changed, done.skipped, done.finished_at), (4, 0, Some(NOW)));
    assert_eq!(statuses(&b, &before).await, [JobStatus::Cancelled; 4]);
    assert_eq!(statuses(&b, &after).await, [JobStatus::Queued; 4]);
    assert_counters_are_right(&b).await;
}

pub async fn a_job_that_ended_after_the_plan_is_left_alone(b: Bench, keeper: Keeper) {
    b.create_many(b.a, 2).await;
    let jobs = b.claim(2).await;
    b.finish(&jobs[1].lease, Ending::Completed).await;
    let plan = plan(&b, &keeper, BulkAction::Prune { archive: false }).await;
    b.wait(1);
    b.finish(&jobs[0].lease, Ending::Completed).await;
    let done = apply(&b, &plan).await;
    assert_eq!((done.planned, done.changed, done.skipped), (1, 1, 0));
    assert!(exists(&b, jobs[0].lease.number).await, "nobody saw it in the plan");
}

pub async fn a_job_that_moved_on_is_skipped(b: Bench, keeper: Keeper) {
    let numbers = b.create_many(b.a, 3).await;
    let plan = plan(&b, &keeper, BulkAction::Cancel).await;
    b.store.cancel(&b.ann(), JobRef::Number(numbers[1]), Some("by hand")).await.unwrap();
    let done = apply(&b, &plan).await;
    assert_eq!((done.planned, done.changed, done.skipped), (3, 2, 1));
    assert_eq!(b.detail(numbers[1]).await.cancellation_reason.as_deref(), Some("by hand"));
}

pub async fn chunks_go_on_where_they_stopped(b: Bench, keeper: Keeper) {
    let numbers = b.create_many(b.a, 7).await;
    let plan = plan(&b, &keeper, BulkAction::Reschedule { at: Some(NOW.plus_secs(90)) }).await;
    let first = b.apply_chunk(&b.ann(), plan.id, 3).await.unwrap();
    assert_eq!((first.state, first.changed, first.finished_at), (BulkState::Applying, 3, None));
    // Whoever applied it is gone now; anybody goes on.
    assert_eq!(b.detail(numbers[2]).await.row.available_at, Some(NOW.plus_secs(90)));
    assert_eq!(b.detail(numbers[3]).await.row.available_at, None, "in the order of the numbers");
    let done = apply(&b, &plan).await;
    assert_eq!((done.changed, done.skipped), (7, 0));
    for number in numbers {
        assert_eq!(b.kinds(number).await, ["job.created", "job.rescheduled"], "once each");
    }
}

pub async fn an_unknown_or_foreign_plan_is_not_found(b: Bench, keeper: Keeper) {
    let number = b.create(b.job(b.a)).await.number;
    let plan = plan(&b, &keeper, BulkAction::Cancel).await;
    assert_eq!(code_of(b.apply_chunk(&b.bob(), plan.id, 10).await), "NOT_FOUND");
    assert_eq!(code_of(keeper.abort_bulk(&b.bob(), plan.id).await), "NOT_FOUND");
    assert_eq!(code_of(b.apply_chunk(&b.ann(), Uuid::now_v7(), 10).await), "NOT_FOUND");
    let everywhere = request(BulkAction::Cancel, JobFilter::default());
    let everywhere = keeper.plan_bulk(&Scope::system("test"), everywhere).await.unwrap();
    assert_eq!(code_of(b.apply_chunk(&b.ann(), everywhere.id, 10).await), "NOT_FOUND");
    assert_eq!(b.status(number).await, JobStatus::Queued);
}

pub async fn an_expired_plan_is_refused(b: Bench, keeper: Keeper) {
    let number = b.create(b.job(b.a)).await.number;
    let plan = plan(&b, &keeper, BulkAction::Cancel).await;
    b.wait(601);
    assert_eq!(code_of(b.apply_chunk(&b.ann(), plan.id, 10).await), "WRONG_STATE");
    assert_eq!(b.status(number).await, JobStatus::Queued);
}

pub async fn a_plan_under_way_does_not_expire(b: Bench, keeper: Keeper) {
    b.create_many(b.a, 3).await;
    let plan = plan(&b, &keeper, BulkAction::Cancel).await;
    b.apply_chunk(&b.ann(), plan.id, 1).await.unwrap();
    b.wait(601);
    assert_eq!(apply(&b, &plan).await.changed, 3);
}

pub async fn a_plan_is_applied_once(b: Bench, keeper: Keeper) {
    b.create_many(b.a, 2).await;
    let plan = plan(&b, &keeper, BulkAction::Cancel).await;
    apply(&b, &plan).await;
    assert_eq!(code_of(b.apply_chunk(&b.ann(), plan.id, 10).await), "WRONG_STATE");
    assert_eq!(code_of(keeper.abort_bulk(&b.ann(), plan.id).await), "WRONG_STATE");
}

pub async fn an_aborted_plan_stays_where_it_stands(b: Bench, keeper: Keeper) {
    let numbers = b.create_many(b.a, 5).await;
    let plan = plan(&b, &keeper, BulkAction::Cancel).await;
    b.apply_chunk(&b.ann(), plan.id, 2).await.unwrap();
    let stopped = keeper.abort_bulk(&b.ann(), plan.id).await.unwrap();
    assert_eq!((stopped.state, stopped.changed, stopped.finished_at), (BulkState::Aborted, 2, Some(NOW)));
    assert_eq!(code_of(b.apply_chunk(&b.ann(), plan.id, 2).await), "WRONG_STATE");
    assert_eq!(code_of(keeper.abort_bulk(&b.ann(), plan.id).await), "WRONG_STATE");
    assert_eq!(statuses(&b, &numbers[2..]).await, [JobStatus::Queued; 3]);
    assert_counters_are_right(&b).await;
}

pub async fn plans_are_listed_newest_first_within_a_scope(b: Bench, keeper: Keeper) {
    let first = plan(&b, &keeper, BulkAction::Cancel).await;
    b.wait(1);
    let second = plan(&b, &keeper, BulkAction::Prune { archive: true }).await;
    b.wait(1);
    let foreign = request(BulkAction::Retry, JobFilter::default());
    let foreign = keeper.plan_bulk(&b.bob(), foreign).await.unwrap();
    assert_eq!(keeper.bulk_operations(&b.ann(), None, 10).await.unwrap(), [second.clone(), first.clone()]);
    assert_eq!(keeper.bulk_operations(&b.ann(), None, 1).await.unwrap(), std::slice::from_ref(&second));
    let all = keeper.bulk_operations(&Scope::system("test"), None, 10).await.unwrap();
    assert_eq!(all, [foreign, second, first]);
}

pub async fn a_plan_stays_within_its_tenant(b: Bench, keeper: Keeper) {
    let (own, foreign) = (b.create_many(b.a, 2).await, b.create_many(b.b, 2).await);
    b.create_many(b.a, 1).await;
    let plan = plan(&b, &keeper, BulkAction::Cancel).await;
    // An administrator who applies it gives it no wider reach than it was planned with.
    assert_eq!(apply_as(&b, &Scope::system("test"), &plan).await.changed, 3);
    assert_eq!(statuses(&b, &own).await, [JobStatus::Cancelled; 2]);
    assert_eq!(statuses(&b, &foreign).await, [JobStatus::Queued; 2]);
}

pub async fn a_plan_without_a_tenant_reaches_all(b: Bench, keeper: Keeper) {
    let numbers = [b.create_many(b.a, 2).await, b.create_many(b.b, 3).await].concat();
    let scope = Scope::system("test");
    let plan = keeper.plan_bulk(&scope, request(BulkAction::Cancel, JobFilter::default())).await.unwrap();
    assert_eq!((plan.planned, plan.tenant_id), (5, None));
    assert_eq!(apply_as(&b, &scope, &plan).await.changed, 5);
    assert_eq!(statuses(&b, &numbers).await, [JobStatus::Cancelled; 5]);
    assert_counters_are_right(&b).await;
}
