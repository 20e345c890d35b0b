//! One suite, every store. A verb is done when both stores pass its cases here.
//!
//! A store's test file gives [`crate::conformance_suite!`] a function that makes a fresh, migrated store on a
//! frozen clock; the macro turns every case into a test of its own. Cases speak only in the store's verbs,
//! so they say what any store must do, and nothing about how.

pub mod administration;
pub mod attachments;
pub mod audit;
mod bench;
pub mod callers;
pub mod cancel_and_requeue;
pub mod claim;
pub mod claim_limits;
pub mod counters;
pub mod create;
pub mod definitions;
pub mod domains;
pub mod door;
pub mod door_limits;
pub mod fairness;
pub mod figures;
pub mod files_from_outside;
pub mod finish;
pub mod finish_cancelled;
pub mod gate_races;
pub mod gates;
pub mod keys;
pub mod limits;
pub mod limits_under_load;
pub mod lists;
pub mod logs;
pub mod members;
pub mod model;
pub mod outbox;
pub mod people;
pub mod queues_and_workers;
pub mod reclaim;
pub mod remote;
pub mod renew;
pub mod rights;
pub mod secrets;
pub mod sessions;
pub mod snooze;
pub mod throttle;
pub mod trigger_engine;
pub mod trigger_events;
pub mod trigger_races;
pub mod triggers;
pub mod unit_limits;
pub mod units;
pub mod upkeep;
pub mod views;

pub use bench::{Bench, NOW};
pub use leasehold_queue::Clock;

/// Makes one `#[tokio::test]` per case. `$fresh` is an async function `fn(Clock) -> (Arc<dyn Store>, Guard)`;
/// the guard keeps whatever the store needs (a temporary folder, say) until the case ends.
#[macro_export]
macro_rules! conformance_suite {
    ($fresh:path) => {
        $crate::conformance_suite! { @all $fresh;
            people: a_tenant_is_found_by_its_slug, a_tenant_gets_another_name_and_time_zone, a_slug_is_taken_once, tenants_are_listed_by_name,
                a_scope_sees_only_its_tenant, a_user_is_found_with_the_password_hash, an_email_is_taken_once, nothing_is_made_for_an_unknown_tenant,
                memberships_name_tenant_and_role, the_first_admin_needs_the_token, what_is_done_on_the_terminal_leaves_a_trail, the_setup_token_works_once,
                an_expired_setup_token_is_refused, setup_is_over_once_a_user_exists, settings_are_replaced,
                a_key_is_found_by_its_prefix, only_who_reaches_every_tenant_makes_a_key_of_the_installation,
                a_key_for_a_foreign_tenant_is_not_found;
            members: somebody_new_is_invited, somebody_with_an_account_joins_by_the_link, who_governs_lets_nobody_in_without_the_link,
                each_invitation_leads_to_its_own_tenant,
                an_invitation_is_renewed_changed_and_taken_back, one_tenants_link_opens_no_other_tenant,
                an_admin_cannot_reset_a_password, foreign_members_are_not_found,
                the_last_admin_does_not_leave_by_accident, two_last_admins_cannot_both_leave,
                who_is_disabled_is_out_at_once, one_super_admin_always_stays, a_new_password_ends_the_other_sessions,
                an_ended_session_is_not_brought_back, a_job_outlives_its_owners_membership,
                links_are_followed_while_others_change_the_same_people;
            audit: an_act_says_who_what_when_and_from_where, every_kind_of_steering_keeps_its_origin,
                the_log_is_narrowed_and_paged, rows_are_chained_once_and_in_order,
                many_writers_and_chainers_make_one_chain, one_call_with_many_jobs_is_one_row,
                signing_in_and_being_refused_are_in_the_log;
            throttle: wrong_attempts_make_the_next_one_wait, a_hundred_at_once_get_the_free_attempts_and_no_more,
                a_braked_counter_keeps_the_others_from_counting, good_attempts_are_taken_back_and_proof_clears,
                attempts_are_swept_and_bounded;
            sessions: a_session_is_saved_and_replaced, an_expired_session_is_gone,
                a_deleted_session_is_gone, pruning_removes_only_expired_sessions;
            definitions: a_definition_is_created_once_and_kept, a_kind_has_one_definition, definitions_are_listed_by_key,
                a_definition_comes_back_whole, an_unknown_definition_is_none;
            administration: a_definition_is_made_once, a_definition_can_be_made_switched_off,
                a_change_leaves_the_rest, what_a_file_says_otherwise_is_found_and_applied, an_unknown_definition_cannot_be_changed, a_domain_that_is_not_listed_is_refused,
                a_list_shows_only_listed_domains, an_archived_job_is_known_in_its_tenant,
                an_examination_finds_nothing_wrong;
            domains: a_dedupe_hit_is_named_for_what_it_is, a_dedupe_key_held_in_a_hidden_domain_names_no_job,
                a_file_of_a_hidden_domain_is_not_read, an_event_names_no_trigger_of_a_hidden_domain;
            create: a_new_job_is_queued, numbers_grow_and_answers_keep_their_order, every_field_comes_back,
                a_batch_of_a_thousand_is_one_call, an_empty_batch_is_fine, a_foreign_tenant_is_not_found,
                creation_is_announced_in_the_outbox, creation_by_a_person_is_in_the_trail,
                creation_by_the_system_is_not_in_the_trail, creation_wakes_workers, text_in_any_script_survives,
                a_child_names_its_parent;
            keys: an_idempotent_replay_returns_the_first_job, another_payload_is_a_conflict,
                an_idempotency_key_is_scoped, an_expired_idempotency_key_is_free_again,
                a_replay_works_after_the_job_has_ended, replays_inside_one_batch,
                an_active_dedupe_key_returns_the_active_job, a_dedupe_key_is_free_after_the_end,
                dedupe_keys_of_tenants_are_apart, deduplication_inside_one_batch, one_bad_item_does_not_undo_the_rest,
                a_hundred_parallel_posts_of_one_key_make_one_job, a_hundred_parallel_dedupes_make_one_job;
            limits: a_tenant_has_no_limits_at_first, limits_of_a_tenant_are_read_wherever_it_is_read,
                limits_of_a_tenant_are_replaced_as_a_whole, a_strangers_limits_cannot_be_changed,
                a_definition_is_made_with_its_limits_and_keeps_what_was_changed,
                an_unknown_definition_has_no_limits_to_change;
            gates: only_so_many_may_wait, an_extent_counts_its_own_jobs_only,
                a_full_queue_is_overloaded_for_every_tenant, an_active_key_is_taken_until_its_job_has_ended,
                a_rate_begins_anew_with_the_next_minute, items_of_one_call_count_against_each_other,
                a_replay_passes_closed_gates_and_costs_nothing, replays_inside_one_call_count_once,
                a_refused_job_does_not_hold_its_keys, gates_of_a_missing_tenant_change_nothing,
                folding_changes_no_gate;
            door: bad_input_has_a_code_and_changes_nothing, the_checks_come_in_their_order,
                a_schema_saved_before_there_were_bounds_is_refused_when_it_is_used,
                allow_lists_of_everywhere_and_of_the_domain_unite, secrets_are_refused_or_never_stored,
                who_may_not_operate_may_not_enqueue;
            door_limits: a_tenants_limits_are_obeyed_and_lifted,
                only_who_governs_changes_limits_and_only_to_numbers_that_make_sense,
                quotas_count_whom_they_were_found_for, an_owners_quota_is_counted_within_the_tenant,
                a_full_key_is_refused_in_reject_mode_and_waits_in_wait_mode,
                many_requests_are_one_call_with_an_answer_each, ten_thousand_come_in_at_once_and_not_one_more,
                a_retry_comes_through_the_same_door;
            gate_races: seven_of_a_hundred_may_wait, seven_of_a_hundred_fit_into_the_minute,
                seven_of_a_hundred_may_hold_a_key, seven_of_a_hundred_jobs_of_one_owner_may_wait,
                seven_of_a_hundred_fit_below_the_watermark,
                a_hundred_posts_of_one_key_for_one_place_make_one_job_and_no_refusal,
                batches_with_gates_in_any_order_all_come_to_an_end;
            claim: a_claimed_job_is_processing_under_a_lease, a_claim_takes_at_most_what_is_asked,
                nothing_ready_means_an_empty_claim, priority_comes_first, age_decides_among_equals,
                the_number_decides_among_twins, a_retry_does_not_overtake_older_jobs, a_scheduled_job_waits_for_its_time,
                the_selector_limits_kinds, the_selector_limits_queues, the_selector_limits_the_tenant,
                a_paused_queue_gives_nothing, a_draining_queue_gives_nothing, an_inactive_definition_is_skipped,
                attempt_count_grows_at_claim, every_claim_has_a_fresh_lease, started_at_is_the_first_start,
                a_claim_is_announced, claimed_jobs_are_not_claimed_again, parallel_claimers_share_without_overlap,
                the_claimed_job_carries_what_a_worker_needs, an_unserved_type_does_not_block_others;
            fairness: a_backlog_does_not_delay_another_tenant, a_lonely_tenant_gets_the_whole_batch,
                shares_are_even_over_many_tenants, leftovers_go_to_who_has_work, priorities_rule_within_a_tenant_only;
            claim_limits: a_tenant_has_no_more_running_than_its_limit, a_kind_is_limited_over_all_tenants,
                a_kind_is_limited_in_each_tenant, what_a_full_tenant_cannot_use_goes_to_others,
                shares_stay_even_beside_a_limited_tenant, claim_order_goes_over_limited_and_free_lanes,
                a_key_in_wait_mode_runs_so_many_at_a_time, a_full_key_hides_nobody, keys_of_tenants_are_apart,
                a_key_in_reject_mode_does_not_wait, the_most_specific_quota_decides,
                an_owner_is_somebody_else_in_another_tenant, jobs_without_an_owner_have_no_user_quota, a_full_installation_leaves_owners_their_own_quota,
                every_end_frees_a_place, a_lost_worker_keeps_its_place_until_reclaimed, a_lifted_limit_takes_effect,
                a_limit_lowered_below_what_runs_lets_nothing_start, the_selector_limits_owner_and_project,
                limited_claims_leave_the_same_behind, limits_need_their_tenant_and_definition,
                a_shut_gate_gives_nothing;
            limits_under_load: many_claimers_never_pass_a_tenants_limit, many_claimers_never_pass_a_keys_limit,
                a_claim_overtaken_by_a_freeze_leaves_its_job_in_the_queue;
            renew: a_renewal_extends_the_lease, a_renewal_never_shortens, a_renewal_is_capped,
                progress_is_recorded, progress_never_falls, every_stage_keeps_its_moment, progress_is_announced, unchanged_progress_is_not_announced,
                a_wrong_lease_is_lost, a_wrong_worker_is_lost, a_finished_job_is_lost, an_expired_lease_is_still_the_holders,
                a_reclaimed_lease_is_lost, a_cancellation_is_told, a_checkpoint_reaches_the_next_attempt, the_pid_is_shown,
                an_unknown_job_is_lost, many_renewals_are_answered_in_order;
            finish: completion_ends_the_job, completion_sets_progress_to_a_hundred, the_lease_is_cleared,
                the_attempt_is_recorded, a_result_is_kept, a_retryable_failure_waits_in_the_queue,
                the_last_attempt_goes_to_the_dead_letter, a_permanent_failure_is_failed, the_same_code_again_is_quarantined,
                a_timeout_is_named, the_failure_timeline_keeps_ten, progress_survives_a_failure,
                a_stale_finish_is_refused, a_second_completion_is_refused, the_same_token_is_already_done,
                another_token_is_stale, a_failed_attempts_token_does_not_block_the_next,
                a_repeated_failure_with_its_token_counts_once, an_unknown_job_is_not_found,
                a_mixed_batch_is_answered_in_order, twins_in_one_batch_apply_once,
                a_stale_twin_does_not_shadow_the_holder, a_release_does_not_cost_an_attempt,
                a_released_job_keeps_its_time, an_internal_bug_raises_an_alert, errors_are_cleared_by_success, endings_are_announced,
                stale_finishes_change_nothing, queued_at_moves_with_a_retry, an_expired_lease_may_still_finish,
                dedupe_is_released_on_every_end;
            finish_cancelled: a_job_completed_in_spite_of_a_cancel_request_was_not_cancelled,
                a_cancel_request_wins_over_a_retry, completion_wins_over_a_late_cancel, an_acknowledged_cancel_is_cancelled;
            reclaim: a_live_lease_is_left_alone, an_expired_lease_is_taken_back, a_lost_attempt_is_recorded,
                the_last_lost_attempt_is_a_dead_letter, a_cancelled_lost_job_is_cancelled, reclaim_is_bounded,
                a_lost_worker_cannot_come_back, reclaiming_twice_does_nothing, attempt_numbers_go_on_after_a_loss;
            cancel_and_requeue: a_queued_job_is_cancelled_at_once, a_running_job_is_asked_to_stop,
                the_first_request_wins, a_finished_job_cannot_be_cancelled, a_foreign_job_cannot_be_cancelled,
                a_quarantined_job_can_be_given_up, a_cancellation_is_in_the_trail, a_worker_hears_of_its_own_only,
                cancel_works_by_id_too, a_quarantined_job_is_requeued, a_requeued_job_has_a_fresh_budget,
                only_quarantined_jobs_are_requeued, a_requeue_respects_dedupe, a_foreign_job_cannot_be_requeued;
            logs: lines_are_kept_in_order, lines_are_read_after_a_position, a_repeated_line_is_kept_once,
                lines_need_the_lease, lines_are_announced_once_per_call, foreign_lines_are_not_read,
                the_page_shows_the_newest_lines;
            attachments: a_file_comes_back_whole, the_largest_file_is_kept, files_are_listed_by_name,
                the_same_name_replaces_the_file_and_keeps_its_id, a_file_needs_the_lease, a_lost_worker_keeps_no_file,
                another_tenants_files_do_not_exist, a_job_keeps_only_so_many_files, a_file_is_announced_with_its_name,
                pruning_a_job_removes_its_files, a_setting_that_is_ensured_is_made_once, the_first_signing_key_is_made_once, a_signing_key_is_replaced_and_the_one_before_it_kept,
                links_survive_a_new_signing_key_in_every_process,
                a_link_made_by_one_process_is_followed_in_another, a_file_that_is_too_large_is_refused;
            queues_and_workers: a_queue_is_paused_and_resumed, pause_and_drain_leave_each_other_alone,
                two_who_control_a_queue_at_once_lose_nothing, controls_are_listed, a_heartbeat_is_shown,
                a_silent_worker_is_stale, a_worker_gone_for_an_hour_is_removed,
                a_long_list_of_workers_is_cut_and_counted, a_silent_worker_runs_what_it_still_holds, a_worker_says_good_bye,
                leadership_is_exclusive, leadership_is_kept_by_its_holder;
            remote: a_held_job_is_found_by_number_and_id, another_tenants_job_is_not_held,
                the_hold_on_a_job_is_told, keys_are_listed_within_a_scope, a_revoked_key_says_since_when,
                a_foreign_key_cannot_be_revoked, the_use_of_a_key_is_noted_once_a_minute,
                what_a_worker_tells_of_itself_is_shown, a_worker_is_seen_without_saying_more,
                a_key_has_only_so_many_workers, introducing_again_says_what_it_runs_now,
                a_result_that_is_too_large_is_refused_and_the_lease_stays,
                a_claim_stays_within_the_keys_domains;
            secrets: keys_with_secrets_are_kept_as_hashes_and_still_compare,
                what_a_worker_says_is_kept_without_secrets_in_every_mode,
                a_private_key_is_hidden_over_lines_and_requests, a_name_that_is_a_secret_is_refused,
                a_definition_is_kept_without_secrets_or_refused;
            lists: newest_first, pages_follow_each_other_without_gap, statuses_narrow_the_list, other_filters_narrow_the_list,
                text_finds_numbers_types_and_errors, lists_stay_within_the_tenant, a_system_scope_sees_all_tenants,
                times_narrow_the_list, the_count_matches_the_filter, wildcards_are_plain_text;
            callers: every_order_shows_every_job_once, jobs_are_skipped_and_counted, a_listed_job_says_whose_it_is,
                jobs_are_found_by_their_payload, kinds_are_counted_by_where_they_stand,
                a_retry_belongs_to_the_same_owner;
            files_from_outside: a_file_may_come_from_outside, a_file_for_another_tenants_job_changes_nothing,
                many_callers_leave_no_more_files_than_allowed, text_in_a_file_from_outside_is_kept_without_secrets;
            views: a_job_is_found_by_number_and_id, a_foreign_job_is_not_found, a_running_attempt_is_shown,
                attempts_are_listed_oldest_first, parents_and_children_are_linked, the_cursor_is_current,
                only_so_many_children_are_listed, only_the_newest_activity_is_listed,
                a_released_attempt_is_counted_but_not_used, a_requeued_job_tells_its_past,
                a_job_given_up_in_quarantine_tells_how_long_it_was_there, the_last_worker_stays_known;
            counters: counts_follow_every_move, ready_and_scheduled_are_told_apart,
                many_scheduled_jobs_do_not_swallow_the_ready_ones,
                where_counting_stops_it_is_said, the_oldest_waiting_job_is_known,
                an_unserved_queue_is_marked, a_paused_queue_is_marked, folding_changes_no_count, a_recount_finds_nothing_wrong,
                throughput_is_counted_in_slots, recent_failures_and_running_jobs_are_shown, tenants_are_counted_apart;
            snooze: a_snoozed_job_waits_and_costs_no_attempt;
            units: a_provider_is_made_once_and_takes_over_new_settings, senseless_limits_are_refused,
                a_provider_that_is_off_takes_nothing, first_units_are_added_once,
                a_claimed_unit_runs_with_its_provider, a_busy_provider_hides_no_unit_of_another,
                a_result_and_what_follows_are_written_together, a_unit_is_finished_once,
                a_failed_unit_keeps_its_error, a_retry_waits_for_its_time,
                an_unknown_provider_is_refused_at_once, every_write_needs_the_lease,
                the_next_holder_repeats_nothing_that_was_finished, a_renewal_leaves_the_state_alone,
                what_a_job_left_over_is_swept, units_of_a_waiting_job_wait_too, foreign_units_are_not_shown,
                only_the_first_units_are_listed_and_all_are_counted, a_pruned_job_takes_its_units_with_it;
            unit_limits: calls_begin_as_far_apart_as_the_rate_says, half_a_call_per_second_is_one_every_two,
                a_caller_gets_no_token_it_cannot_use, a_missed_start_costs_another_token,
                permits_are_counted_over_all_jobs, every_end_frees_a_permit,
                a_lost_worker_keeps_its_permit_until_its_job_is_taken_back, anybody_means_the_least_loaded,
                who_asked_in_vain_is_next, a_turn_nobody_takes_is_not_kept_for_ever,
                many_claimers_never_pass_the_rate_or_the_permits;
            triggers: a_trigger_comes_back_whole, triggers_are_listed_within_a_scope, a_foreign_trigger_does_not_exist, a_trigger_needs_its_definition,
                an_edit_of_what_has_changed_is_not_written, an_edit_keeps_the_time_due_unless_told,
                a_deleted_trigger_fires_no_more_and_its_firings_stay, only_what_is_due_is_found,
                a_firing_makes_its_job_and_moves_the_trigger_on, a_trigger_that_moved_on_does_not_fire_again,
                a_trigger_changed_meanwhile_does_not_fire, a_time_that_comes_again_does_not_fire_again,
                a_refusal_is_kept_and_stops_nobody, old_firings_and_events_are_forgotten;
            trigger_events: an_event_is_kept_with_its_job, the_same_event_again_is_answered_with_what_was,
                another_event_under_the_same_id_is_a_conflict, an_event_overtaken_by_an_edit_writes_nothing,
                the_same_payload_within_the_window_makes_no_second_job, tenants_have_their_own_event_ids,
                an_event_answers_for_every_trigger, an_event_with_a_secret_is_refused_or_blotted_out, a_refusal_does_not_tell_secrets,
                bad_events_are_refused_and_nothing_is_kept;
            trigger_races: many_schedulers_fire_each_time_once, many_posts_of_one_event_make_one_job,
                many_events_of_one_payload_make_one_job, two_schedulers_and_a_jumping_clock_lose_nothing;
            trigger_engine: the_printed_triggers_are_saved_or_refused_as_they_should,
                a_bad_trigger_is_refused_by_its_field, a_schedule_fires_on_time_and_moves_on,
                after_downtime_the_policy_decides, a_broken_trigger_stops_no_other, a_refused_firing_is_shown_and_clears,
                a_trigger_can_always_be_switched_off, an_edited_schedule_begins_anew, a_trigger_is_run_by_hand,
                an_inactive_definition_refuses_the_firing, a_preview_marks_clock_changes,
                another_process_helps_when_the_leader_does_not;
            outbox: events_come_in_order_and_once, the_tail_is_the_newest, a_limit_pages_the_outbox,
                events_are_replayed_within_a_scope, events_carry_what_a_page_needs, the_oldest_event_is_known,
                a_refused_write_leaves_no_event, wakes_follow_events;
            rights: sessions_are_answered_in_order_with_what_their_user_is, a_session_that_ended_has_no_rights,
                only_keys_that_still_open_are_live;
            figures: jobs_are_counted_by_kind_and_state, a_state_without_jobs_is_left_out,
                jobs_that_wait_for_a_time_are_counted_up_to_a_limit, running_jobs_tell_when_their_lease_ends,
                times_of_a_job_are_those_of_its_row, recent_runs_tell_how_long_jobs_waited_and_ran,
                a_failure_names_its_class_and_the_next_try, pools_are_never_fuller_than_they_may_be;
        }
    };
    (@all $fresh:path; $($module:ident: $($case:ident),+ $(,)?;)+) => {
        $(mod $module {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let clock = $crate::Clock::frozen($crate::NOW);
                    let (store, _guard) = $fresh(clock.clone()).await;
                    let bench = $crate::Bench::new(store, clock).await;
                    $crate::$module::$case(bench).await;
                }
            )+
        })+
    };
}
