//! Bulk operations, sweeps and diagnoses: what every store must do.
//!
//! A store's test file gives [`crate::upkeep_suite!`] a function that makes a fresh, migrated store on a frozen
//! clock and hands it out twice: to the bench, and to who puts it in order.

pub mod actions;
pub mod diagnosis;
pub mod operations;
pub mod plans;
pub mod sweeps;
pub mod ttl;

use super::bench::Bench;
use leasehold_queue::{
    Store,
    bulk::{BulkAction, BulkRequest},
    scope::Scope,
    transition::{Ending, Failure},
};
use leasehold_types::{
    JobFilter, JobRef, JobStatus,
    view::{BulkOperation, BulkState},
};
use std::sync::Arc;

/// Makes one `#[tokio::test]` per case. `$fresh` is an async function
/// `fn(Clock) -> (Arc<dyn Store>, Arc<dyn Store>, Guard)`; the guard lives until the case ends.
#[macro_export]
macro_rules! upkeep_suite {
    ($fresh:path) => {
        $crate::upkeep_suite! { @all $fresh;
            plans: a_plan_counts_exactly_and_changes_nothing, a_plan_names_the_largest_groups,
                a_plan_obeys_the_filter, an_action_reaches_only_its_states, lists_know_error_codes_and_ends,
                an_empty_plan_is_done_at_once, applying_touches_only_what_was_planned,
                a_job_that_ended_after_the_plan_is_left_alone, a_job_that_moved_on_is_skipped,
                chunks_go_on_where_they_stopped, an_unknown_or_foreign_plan_is_not_found,
                an_expired_plan_is_refused, a_plan_under_way_does_not_expire, a_plan_is_applied_once,
                an_aborted_plan_stays_where_it_stands, plans_are_listed_newest_first_within_a_scope,
                a_plan_stays_within_its_tenant, a_plan_without_a_tenant_reaches_all;
            actions: cancelling_ends_the_waiting_and_asks_the_running, a_second_request_to_stop_is_skipped,
                cancelling_releases_dedupe_keys, rescheduling_moves_the_moment,
                rescheduling_to_now_makes_jobs_ready, retrying_makes_new_jobs_with_parents,
                a_retry_has_no_dedupe_key, a_retry_of_a_kind_that_is_off_is_skipped,
                requeueing_brings_quarantined_jobs_back, a_requeue_blocked_by_a_dedupe_key_is_skipped,
                twins_in_quarantine_come_back_one_at_a_time, pruning_removes_attempts_and_logs_too,
                pruning_frees_idempotency_keys, pruning_never_touches_active_jobs,
                pruning_by_age_spares_the_young, pruning_into_the_archive_removes_jobs_too,
                bulk_changes_are_in_the_trail, bulk_changes_wake_workers;
            operations: an_operation_leaves_one_entry_for_each_step, a_job_says_who_changed_it_in_bulk,
                a_retry_passes_the_same_door_as_an_enqueue, a_retry_that_a_gate_refuses_is_skipped_with_its_reason,
                a_chunk_of_retries_that_was_made_meanwhile_is_not_made_again, what_was_begun_is_carried_on,
                what_was_left_in_the_middle_is_carried_on, what_was_aborted_is_not_carried_on,
                who_carries_on_at_once_does_each_job_once, old_operations_are_forgotten,
                operations_are_listed_page_by_page, others_operations_do_not_shorten_a_list, a_job_that_is_named_is_meant_alone;
            ttl: a_job_that_waited_too_long_is_cancelled, a_job_that_waited_too_long_fails,
                a_young_job_is_left_alone, a_job_that_ran_too_long_is_cancelled, a_job_that_ran_too_long_fails,
                a_retried_job_is_not_blamed_for_earlier_attempts, an_ended_worker_is_fenced,
                a_sweep_is_bounded, a_sweep_obeys_its_rule, a_sweep_stays_within_its_tenant,
                a_swept_job_releases_its_dedupe_key;
            sweeps: a_sound_queue_needs_no_mending, expired_leases_are_counted_and_left_alone,
                expired_leases_are_mended, a_sweep_mends_only_its_place_and_tenant, old_events_of_ended_jobs_are_removed,
                only_a_beginning_is_forgotten, the_newest_event_stays,
                removing_events_is_bounded;
            diagnosis: a_job_with_nothing_in_its_way_is_next, a_scheduled_job_waits_for_its_time,
                a_failed_attempt_waits_for_the_next, a_wait_that_no_failure_caused_blames_none,
                a_provider_nobody_knows_is_named, a_closed_queue_is_named, a_kind_that_is_off_is_named,
                a_missing_worker_is_named, a_worker_must_be_live_and_able, a_held_concurrency_key_is_named,
                every_limit_that_is_reached_is_named,
                jobs_ahead_are_counted_in_claim_order, only_claimable_jobs_are_ahead,
                the_count_ahead_is_capped, a_job_that_is_not_waiting_has_no_causes,
                a_foreign_job_is_not_explained;
        }
    };
    (@all $fresh:path; $($module:ident: $($case:ident),+ $(,)?;)+) => {
        $(mod $module {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let clock = $crate::Clock::frozen($crate::NOW);
                    let (store, upkeep, _guard) = $fresh(clock.clone()).await;
                    let bench = $crate::Bench::new(store, clock).await;
                    $crate::upkeep::$module::$case(bench, upkeep).await;
                }
            )+
        })+
    };
}

/// The store again, as who puts it in order sees it.
pub type Keeper = Arc<dyn Store>;

fn request(action: BulkAction, filter: JobFilter) -> BulkRequest {
    BulkRequest { action, filter, reason: "spring cleaning".into(), top_groups: 5 }
}

/// Ann's plan for everything the action reaches.
async fn plan(b: &Bench, keeper: &Keeper, action: BulkAction) -> BulkOperation {
    keeper.plan_bulk(&b.ann(), request(action, JobFilter::default())).await.unwrap()
}

/// Applies all of a plan of tenant A.
async fn apply(b: &Bench, plan: &BulkOperation) -> BulkOperation {
    apply_as(b, &b.ann(), plan).await
}

async fn apply_as(b: &Bench, scope: &Scope, plan: &BulkOperation) -> BulkOperation {
    for _ in 0..1_000 {
        let operation = b.apply_chunk(scope, plan.id, 100).await.unwrap();
        if operation.state == BulkState::Done {
            return operation;
        }
    }
    panic!("the plan does not end")
}

/// Plans and applies; how many were changed and skipped.
async fn bulk(b: &Bench, keeper: &Keeper, action: BulkAction) -> (i64, i64) {
    let plan = plan(b, keeper, action).await;
    let done = apply(b, &plan).await;
    (done.changed, done.skipped)
}

fn permanent(code: &str) -> Ending {
    let failure = Failure { error_code: Some(code.into()), retryable: Some(false), ..Failure::default() };
    Ending::Failed(failure)
}

/// A job of tenant A that has ended this way.
async fn ended(b: &Bench, ending: Ending) -> i64 {
    let job = b.running().await;
    b.finish(&job.lease, ending).await;
    job.lease.number
}

async fn exists(b: &Bench, number: i64) -> bool {
    b.store.job(&Scope::system("test"), JobRef::Number(number), 1).await.unwrap().is_some()
}

async fn statuses(b: &Bench, numbers: &[i64]) -> Vec<JobStatus> {
    let mut found = Vec::new();
    for number in numbers {
        found.push(b.status(*number).await);
    }
    found
}

async fn assert_counters_are_right(b: &Bench) {
    assert_eq!(b.store.recount().await.unwrap(), 0, "the counters differ from a recount");
}
