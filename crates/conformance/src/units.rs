//! Work units: written before they run, finished with what follows from them, never repeated once finished.

use super::bench::{Bench, code_of, finish, renewal};
use leasehold_queue::{
    bulk::{BulkAction, BulkRequest},
    params::ClaimedJob,
    scope::Scope,
    transition::Ending,
    units::{
        ClaimedUnit, ClaimedUnits, ProviderSpec, UnitAnswer, UnitClaim, UnitError, UnitFinish, UnitOutcome,
        WorkUnit,
    },
};
use leasehold_types::{
    ErrorClass, JobFilter, JobRef, JobStatus,
    unit::{UnitKind, UnitState, UnitsView},
};
use serde_json::{Value, json};
use std::time::Duration;

pub fn provider(name: &str, kind: UnitKind) -> ProviderSpec {
    ProviderSpec {
        name: name.into(),
        kind,
        is_local: true,
        requests_per_second: 1_000.0,
        max_concurrency: 10,
        max_retries: 2,
        retry_delay: Duration::from_secs(1),
    }
}

pub fn unit(name: &str) -> WorkUnit {
    WorkUnit::new(UnitKind::Ocr, name, json!({"page": name}))
}

pub fn busy() -> UnitError {
    UnitError::passing("busy", ErrorClass::ModelOverloaded, "Too many at once.")
}

impl Bench {
    /// A running job with these units, and one provider of each kind.
    pub async fn composite(&self, units: Vec<WorkUnit>) -> ClaimedJob {
        self.store.ensure_provider(provider("reader", UnitKind::Ocr)).await.unwrap();
        self.store.ensure_provider(provider("writer", UnitKind::Llm)).await.unwrap();
        let job = self.running().await;
        let added = self.store.add_units(&job.lease, units, json!({"step": 0})).await.unwrap();
        assert_eq!(added, UnitAnswer::Applied);
        job
    }

    pub async fn try_claim_units(&self, job: &ClaimedJob, at_most: u32) -> Option<ClaimedUnits> {
        let callable = self.store.providers().await.unwrap().into_iter().map(|p| p.name).collect();
        let claim = UnitClaim { lease: job.lease.clone(), callable, at_most, lead: Duration::ZERO };
        self.store.claim_units(&claim).await.unwrap()
    }

    pub async fn claim_units(&self, job: &ClaimedJob, at_most: u32) -> ClaimedUnits {
        self.try_claim_units(job, at_most).await.expect("the lease is held")
    }

    pub async fn end_unit(
        &self,
        job: &ClaimedJob,
        claimed: &ClaimedUnit,
        outcome: UnitOutcome,
        follow_ups: Vec<WorkUnit>,
        state: Value,
    ) -> UnitAnswer {
        let (lease, unit) = (job.lease.clone(), claimed.unit.id);
        self.store.finish_unit(UnitFinish { lease, unit, outcome, follow_ups, state }).await.unwrap()
    }

    pub async fn units(&self, number: i64) -> UnitsView {
        self.store.units(&self.ann(), JobRef::Number(number), 50).await.unwrap()
    }

    /// The worker is not heard of again; the job is taken back and claimed by another.
    pub async fn change_hands(&self) -> ClaimedJob {
        self.wait(120);
        assert_eq!(self.store.reclaim_expired(&super::bench::rules(), 10).await.unwrap().len(), 1);
        self.wait(10);
        self.claim_as("w2", 1).await.remove(0)
    }
}

fn names(claimed: &ClaimedUnits) -> Vec<&str> {
    claimed.units.iter().map(|claimed| claimed.unit.name.as_str()).collect()
}

pub async fn a_provider_is_made_once_and_takes_over_new_settings(b: Bench) {
    b.store.ensure_provider(provider("reader", UnitKind::Ocr)).await.unwrap();
    let faster =
        ProviderSpec { requests_per_second: 0.5, max_concurrency: 3, ..provider("reader", UnitKind::Ocr) };
    b.store.ensure_provider(faster).await.unwrap();
    let all = b.store.providers().await.unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].requests_per_second, all[0].max_concurrency, all[0].running), (0.5, 3, 0));
    assert!(all[0].is_local && all[0].is_active && all[0].last_used_at.is_none());
}

pub async fn senseless_limits_are_refused(b: Bench) {
    let plain = || provider("p", UnitKind::Llm);
    let wrong = [
        ProviderSpec { requests_per_second: 0.0, ..plain() },
        ProviderSpec { requests_per_second: -1.0, ..plain() },
        ProviderSpec { requests_per_second: f64::NAN, ..plain() },
        ProviderSpec { requests_per_second: f64::INFINITY, ..plain() },
        ProviderSpec { max_concurrency: 0, ..plain() },
        ProviderSpec { max_retries: -1, ..plain() },
        ProviderSpec { name: "no spaces".into(), ..plain() },
    ];
    for spec in wrong {
        assert_eq!(code_of(b.store.ensure_provider(spec.clone()).await), "INVALID_INPUT", "{spec:?}");
    }
    assert!(b.store.providers().await.unwrap().is_empty());
}

pub async fn a_provider_that_is_off_takes_nothing(b: Bench) {
    let job = b.composite(vec![unit("1"), unit("2").through("reader")]).await;
    let scope = Scope::system("test");
    b.store.set_provider_active(&scope, "reader", false).await.unwrap();
    b.store.ensure_provider(provider("reader", UnitKind::Ocr)).await.unwrap();
    let claimed = b.claim_units(&job, 9).await;
    let codes: Vec<_> = claimed.units.iter().map(|c| c.turn.clone().unwrap_err().code).collect();
    assert_eq!(codes, ["provider_inactive", "provider_inactive"]);
    assert_eq!(code_of(b.store.set_provider_active(&scope, "ghost", true).await), "NOT_FOUND");
}

pub async fn first_units_are_added_once(b: Bench) {
    let job = b.composite(vec![unit("1"), unit("2")]).await;
    let again = b.store.add_units(&job.lease, vec![unit("3")], json!({"step": 9})).await.unwrap();
    assert_eq!(again, UnitAnswer::AlreadyDone);
    assert_eq!(b.units(job.lease.number).await.total(), 2);
    assert_eq!(b.change_hands().await.checkpoint, Some(json!({"step": 0})));
}

pub async fn a_claimed_unit_runs_with_its_provider(b: Bench) {
    let job = b.composite(vec![unit("1"), WorkUnit::new(UnitKind::Llm, "2", json!({})), unit("3")]).await;
    let claimed = b.claim_units(&job, 2).await;
    assert_eq!(names(&claimed), ["1", "2"]);
    let with: Vec<_> = claimed.units.iter().map(|c| c.turn.clone().unwrap().provider).collect();
    assert_eq!(with, ["reader", "writer"]);
    assert_eq!((claimed.standing.queued, claimed.standing.running, claimed.standing.finished), (1, 2, 0));
    assert_eq!(claimed.units[0].attempts, 1);
    assert_eq!(claimed.units[0].unit.request, json!({"page": "1"}));
    let view = b.units(job.lease.number).await;
    assert_eq!(view.counts, [(UnitState::Queued, 1), (UnitState::Running, 2)]);
    assert_eq!((view.rows[0].provider.as_deref(), view.rows[0].is_local), (Some("reader"), true));
    assert_eq!((view.rows[2].provider.as_deref(), view.rows[2].is_local), (None, false));
    let reader = &b.store.providers().await.unwrap()[0];
    assert_eq!((reader.running, reader.last_used_at), (1, view.rows[0].started_at));
}

pub async fn a_busy_provider_hides_no_unit_of_another(b: Bench) {
    let mut units: Vec<_> = (0..50).map(|n| unit(&n.to_string())).collect();
    units.push(WorkUnit::new(UnitKind::Llm, "last", json!({})));
    let job = b.composite(units).await;
    let narrow = ProviderSpec { max_concurrency: 1, ..provider("reader", UnitKind::Ocr) };
    b.store.ensure_provider(narrow).await.unwrap();
    assert_eq!(names(&b.claim_units(&job, 5).await), ["0", "last"]);
}

pub async fn a_result_and_what_follows_are_written_together(b: Bench) {
    let job = b.composite(vec![unit("1")]).await;
    let claimed = b.claim_units(&job, 9).await.units.remove(0);
    let next = WorkUnit::new(UnitKind::Llm, "1, corrected", json!({"text": "a"}));
    let answer = b.end_unit(&job, &claimed, Ok(json!({"text": "a"})), vec![next], json!({"step": 1})).await;
    assert_eq!(answer, UnitAnswer::Applied);
    let view = b.units(job.lease.number).await;
    assert_eq!(view.counts, [(UnitState::Queued, 1), (UnitState::Succeeded, 1)]);
    assert_eq!((view.rows[1].name.as_str(), view.rows[1].seq), ("1, corrected", 2));
    assert!(view.rows[0].finished_at.is_some());
    assert_eq!(b.change_hands().await.checkpoint, Some(json!({"step": 1})));
}

pub async fn a_unit_is_finished_once(b: Bench) {
    let job = b.composite(vec![unit("1")]).await;
    let claimed = b.claim_units(&job, 9).await.units.remove(0);
    b.end_unit(&job, &claimed, Ok(json!(1)), vec![], json!({"step": 1})).await;
    let again = b.end_unit(&job, &claimed, Err(busy()), vec![unit("2")], json!({"step": 2})).await;
    assert_eq!(again, UnitAnswer::AlreadyDone);
    let view = b.units(job.lease.number).await;
    assert_eq!(view.counts, [(UnitState::Succeeded, 1)]);
    assert_eq!(b.change_hands().await.checkpoint, Some(json!({"step": 1})));
}

pub async fn a_failed_unit_keeps_its_error(b: Bench) {
    let job = b.composite(vec![unit("1")]).await;
    let claimed = b.claim_units(&job, 9).await.units.remove(0);
    b.end_unit(&job, &claimed, Err(busy()), vec![], json!({})).await;
    let row = b.units(job.lease.number).await.rows.remove(0);
    assert_eq!((row.state, row.error_code.as_deref()), (UnitState::Failed, Some("busy")));
}

pub async fn a_retry_waits_for_its_time(b: Bench) {
    let job = b.composite(vec![unit("1")]).await;
    let claimed = b.claim_units(&job, 9).await.units.remove(0);
    let retried = b.store.retry_unit(&job.lease, claimed.unit.id, &busy(), Duration::from_secs(7)).await;
    assert!(retried.unwrap());
    let nothing = b.claim_units(&job, 9).await;
    assert!(nothing.units.is_empty());
    assert_eq!(nothing.ask_again_at, Some(b.clock.now().plus_secs(7)));
    let row = b.units(job.lease.number).await.rows.remove(0);
    assert_eq!((row.state, row.error_code.as_deref()), (UnitState::Queued, Some("busy")));
    b.wait(7);
    assert_eq!(b.claim_units(&job, 9).await.units[0].attempts, 2);
}

pub async fn an_unknown_provider_is_refused_at_once(b: Bench) {
    let job = b.composite(vec![unit("1").through("ghost"), unit("2").through("writer"), unit("3")]).await;
    let claimed = b.claim_units(&job, 9).await;
    let codes: Vec<_> =
        claimed.units.iter().map(|c| c.turn.as_ref().map_or_else(|e| e.code.as_str(), |_| "")).collect();
    assert_eq!(codes, ["unknown_provider", "unknown_provider", ""]);
    let refused = claimed.units[0].turn.clone().unwrap_err();
    assert_eq!(
        b.end_unit(&job, &claimed.units[0], Err(refused), vec![], json!({})).await,
        UnitAnswer::Applied
    );
}

pub async fn every_write_needs_the_lease(b: Bench) {
    let job = b.composite(vec![unit("1")]).await;
    let claimed = b.claim_units(&job, 9).await.units.remove(0);
    let id = claimed.unit.id;
    b.change_hands().await;
    assert_eq!(b.store.add_units(&job.lease, vec![unit("2")], json!({})).await.unwrap(), UnitAnswer::Lost);
    assert_eq!(b.try_claim_units(&job, 9).await, None);
    assert_eq!(b.store.delay_unit(&job.lease, id, Duration::ZERO).await.unwrap(), None);
    assert!(!b.store.retry_unit(&job.lease, id, &busy(), Duration::ZERO).await.unwrap());
    let answer = b.end_unit(&job, &claimed, Ok(json!(1)), vec![unit("2")], json!({"step": 9})).await;
    assert_eq!(answer, UnitAnswer::Lost);
    assert_eq!(b.units(job.lease.number).await.total(), 1);
    assert_eq!(b.detail(job.lease.number).await.row.status, JobStatus::Processing);
}

pub async fn the_next_holder_repeats_nothing_that_was_finished(b: Bench) {
    let job = b.composite(vec![unit("1"), unit("2"), unit("3")]).await;
    let claimed = b.claim_units(&job, 2).await;
    b.end_unit(&job, &claimed.units[0], Ok(json!(1)), vec![], json!({"step": 1})).await;
    let next = b.change_hands().await;
    assert_eq!(
        b.store.add_units(&next.lease, vec![unit("x")], json!({})).await.unwrap(),
        UnitAnswer::AlreadyDone
    );
    let again = b.claim_units(&next, 9).await;
    assert_eq!(names(&again), ["2", "3"]);
    // The attempt nobody heard the end of does not count.
    assert_eq!(again.units[0].attempts, 1);
    assert_eq!(again.standing.finished, 1);
}

pub async fn a_renewal_leaves_the_state_alone(b: Bench) {
    let job = b.composite(vec![unit("1")]).await;
    b.store.renew(vec![renewal(&job.lease)]).await.unwrap();
    assert_eq!(b.change_hands().await.checkpoint, Some(json!({"step": 0})));
}

pub async fn what_a_job_left_over_is_swept(b: Bench) {
    let job = b.composite(vec![unit("1"), unit("2"), unit("3")]).await;
    let claimed = b.claim_units(&job, 2).await;
    b.end_unit(&job, &claimed.units[0], Ok(json!(1)), vec![], json!({})).await;
    assert_eq!(b.store.sweep_units(100).await.unwrap(), 0);
    b.finish_item(finish(&job.lease, Ending::Cancelled)).await;
    assert_eq!(b.try_claim_units(&job, 9).await, None);
    assert_eq!(b.store.sweep_units(100).await.unwrap(), 2);
    let view = b.units(job.lease.number).await;
    assert_eq!(view.counts, [(UnitState::Succeeded, 1), (UnitState::Dropped, 2)]);
    assert_eq!(b.store.sweep_units(100).await.unwrap(), 0);
}

pub async fn units_of_a_waiting_job_wait_too(b: Bench) {
    let job = b.composite(vec![unit("1"), unit("2")]).await;
    b.claim_units(&job, 1).await;
    b.finish(&job.lease, Ending::Released).await;
    assert_eq!(b.store.providers().await.unwrap()[0].running, 0);
    assert_eq!(b.store.sweep_units(100).await.unwrap(), 1);
    assert_eq!(b.units(job.lease.number).await.counts, [(UnitState::Queued, 2)]);
}

pub async fn foreign_units_are_not_shown(b: Bench) {
    let job = b.composite(vec![unit("1")]).await;
    let theirs = b.store.units(&b.bob(), JobRef::Number(job.lease.number), 50).await.unwrap();
    assert_eq!(theirs, UnitsView::default());
}

pub async fn only_the_first_units_are_listed_and_all_are_counted(b: Bench) {
    let job = b.composite((0..60).map(|n| unit(&n.to_string())).collect()).await;
    let view = b.units(job.lease.number).await;
    assert_eq!((view.rows.len(), view.total()), (50, 60));
    assert_eq!((view.rows[0].name.as_str(), view.rows[49].name.as_str()), ("0", "49"));
}

/// A unit that is still there keeps its id to itself; so one that comes in again shows that it was gone.
pub async fn a_pruned_job_takes_its_units_with_it(b: Bench) {
    let one = unit("1");
    let job = b.composite(vec![one.clone()]).await;
    b.finish(&job.lease, Ending::Completed).await;
    let kept = b.running().await;
    b.store.add_units(&kept.lease, vec![one.clone()], json!({})).await.unwrap();
    assert_eq!(b.units(kept.lease.number).await.total(), 0);
    let request = BulkRequest {
        action: BulkAction::Prune { archive: true },
        filter: JobFilter::default(),
        reason: "old".into(),
        top_groups: 1,
    };
    let plan = b.store.plan_bulk(&b.ann(), request).await.unwrap();
    assert_eq!(b.apply_chunk(&b.ann(), plan.id, 100).await.unwrap().changed, 1);
    b.store.add_units(&kept.lease, vec![one], json!({})).await.unwrap();
    assert_eq!(b.units(kept.lease.number).await.total(), 1);
}
