//! Limits at the claim: how many of a tenant, a kind, a key, an owner may run at a time.

use super::bench::{Bench, LEASE, code_of, definition, failed, in_flight, new_job, rules};
use leasehold_queue::{
    claim_gate::ClaimGate,
    params::{ClaimedJob, NewJob, Selector},
    scope::Scope,
    transition::Ending,
};
use leasehold_types::{DefinitionId, JobStatus, KeyMode, TenantId, WorkerId};
use uuid::Uuid;

impl Bench {
    fn with_key(&self, tenant: TenantId, key: &str) -> NewJob {
        NewJob { concurrency_key: Some(key.into()), ..self.job(tenant) }
    }

    async fn numbers_of(&self, jobs: Vec<NewJob>) -> Vec<i64> {
        let answers = self.store.create_jobs(&Scope::system("test"), jobs).await.unwrap();
        answers.into_iter().map(|answer| answer.unwrap().number).collect()
    }

    async fn select(&self, selector: Selector) -> Vec<i64> {
        let jobs = self.store.claim(&WorkerId("w1".into()), &selector, 10, LEASE).await.unwrap();
        jobs.into_iter().map(|j| j.lease.number).collect()
    }
}

fn of(jobs: &[ClaimedJob], tenant: TenantId) -> usize {
    jobs.iter().filter(|job| job.tenant_id == tenant).count()
}

fn owned(job: NewJob, owner: &str) -> NewJob {
    NewJob { owner_user_id: Some(owner.into()), ..job }
}

pub async fn a_tenant_has_no_more_running_than_its_limit(b: Bench) {
    b.limit_tenant(b.a, Some(3)).await;
    let numbers = b.create_many(b.a, 10).await;
    assert_eq!(b.claim_numbers(2).await, numbers[..2]);
    let third = b.claim(10).await;
    assert_eq!(third.len(), 1);
    assert!(b.claim(10).await.is_empty());
    b.finish(&third[0].lease, Ending::Completed).await;
    assert_eq!(b.claim_numbers(10).await, numbers[3..4]);
}

pub async fn a_kind_is_limited_over_all_tenants(b: Bench) {
    b.limit_kind(|limits| limits.max_in_flight = Some(4)).await;
    let other = b.store.ensure_definition(definition("export")).await.unwrap();
    b.create_many(b.a, 10).await;
    b.create_many(b.b, 10).await;
    assert_eq!(b.claim(3).await.len() + b.claim(10).await.len(), 4);
    let free = b.create(new_job(b.a, &other)).await.number;
    assert_eq!(b.claim_numbers(10).await, [free], "another kind is not concerned");
}

pub async fn a_kind_is_limited_in_each_tenant(b: Bench) {
    b.limit_kind(|limits| limits.max_in_flight_per_tenant = Some(2)).await;
    b.create_many(b.a, 10).await;
    b.create_many(b.b, 10).await;
    let jobs = b.claim(10).await;
    assert_eq!((of(&jobs, b.a), of(&jobs, b.b)), (2, 2));
    assert!(b.claim(10).await.is_empty());
}

pub async fn what_a_full_tenant_cannot_use_goes_to_others(b: Bench) {
    b.limit_tenant(b.a, Some(2)).await;
    b.create_many(b.a, 50).await;
    b.create_many(b.b, 50).await;
    let jobs = b.claim(20).await;
    assert_eq!((of(&jobs, b.a), of(&jobs, b.b)), (2, 18));
    for _ in 0..4 {
        assert_eq!(b.claim(1).await.len(), 1, "whoever's turn it is, no claim comes back empty");
    }
}

pub async fn shares_stay_even_beside_a_limited_tenant(b: Bench) {
    b.limit_tenant(b.a, Some(40)).await;
    b.create_many(b.a, 50).await;
    b.wait(1);
    b.create_many(b.b, 50).await;
    let jobs = b.claim(20).await;
    assert_eq!((of(&jobs, b.a), of(&jobs, b.b)), (10, 10));
    let mut ones = Vec::new();
    for _ in 0..4 {
        ones.extend(b.claim(1).await);
    }
    assert_eq!((of(&ones, b.a), of(&ones, b.b)), (2, 2), "also when one is asked for at a time");
}

pub async fn claim_order_goes_over_limited_and_free_lanes(b: Bench) {
    b.limit_kind(|limits| limits.max_in_flight = Some(2)).await;
    let free = b.store.ensure_definition(definition("export")).await.unwrap();
    let with = |priority, job: NewJob| NewJob { priority, ..job };
    let jobs = vec![
        with(3, b.job(b.a)),
        with(1, b.job(b.a)),
        with(2, new_job(b.a, &free)),
        with(2, b.job(b.a)),
        with(4, new_job(b.a, &free)),
    ];
    let n = b.numbers_of(jobs).await;
    assert_eq!(b.claim_numbers(10).await, [n[1], n[2], n[3], n[4]], "the third of its kind waits");
}

pub async fn a_key_in_wait_mode_runs_so_many_at_a_time(b: Bench) {
    b.limit_kind(|limits| limits.max_active_per_key = Some(2)).await;
    let numbers = b.numbers_of((0..5).map(|_| b.with_key(b.a, "doc")).collect()).await;
    let first = b.claim(10).await;
    assert_eq!(first.iter().map(|j| j.lease.number).collect::<Vec<_>>(), numbers[..2]);
    assert!(b.claim(10).await.is_empty());
    b.finish(&first[1].lease, Ending::Completed).await;
    assert_eq!(b.claim_numbers(10).await, numbers[2..3]);
}

pub async fn a_full_key_hides_nobody(b: Bench) {
    b.limit_kind(|limits| limits.max_active_per_key = Some(1)).await;
    let hill = b.numbers_of((0..2_000).map(|_| b.with_key(b.a, "hill")).collect()).await;
    let other = b.create(b.with_key(b.a, "other")).await.number;
    let without = b.create(b.job(b.a)).await.number;
    assert_eq!(b.claim_numbers(10).await, [hill[0], other, without]);
    let late = b.create(b.with_key(b.a, "late")).await.number;
    assert_eq!(b.claim_numbers(1).await, [late]);
}

pub async fn keys_of_tenants_are_apart(b: Bench) {
    b.limit_kind(|limits| limits.max_active_per_key = Some(1)).await;
    for tenant in [b.a, b.b, b.a, b.b] {
        b.create(b.with_key(tenant, "doc")).await;
    }
    let jobs = b.claim(10).await;
    assert_eq!((of(&jobs, b.a), of(&jobs, b.b)), (1, 1));
}

pub async fn a_key_in_reject_mode_does_not_wait(b: Bench) {
    let numbers = b.numbers_of((0..3).map(|_| b.with_key(b.a, "doc")).collect()).await;
    b.limit_kind(|limits| (limits.max_active_per_key, limits.key_mode) = (Some(1), KeyMode::Reject)).await;
    assert_eq!(b.claim_numbers(10).await, numbers);
}

pub async fn the_most_specific_quota_decides(b: Bench) {
    let quotas = [("", 1), ("_COMMANDS", 2), ("_USER_ANN", 3), ("_COMMANDS_USER_U_1", 4)];
    let jobs = ["ann", "u-1", "zoe"].map(|owner| (0..6).map(|_| owned(b.job(b.a), owner)).collect());
    let mut numbers = Vec::new();
    for jobs in jobs {
        numbers.push(b.numbers_of(jobs).await);
    }
    let taken = b.claim_under(&quotas, 30).await;
    let count = |numbers: &[i64]| numbers.iter().filter(|number| taken.contains(number)).count();
    assert_eq!((count(&numbers[0]), count(&numbers[1])), (3, 4), "ann by user, u-1 by domain and user");
    assert_eq!(count(&numbers[2]), 0, "zoe by domain, where ann's and u-1's jobs count too");
    assert!(b.claim_under(&quotas, 30).await.is_empty());
}

pub async fn an_owner_is_somebody_else_in_another_tenant(b: Bench) {
    let ours = b.numbers_of((0..2).map(|_| owned(b.job(b.a), "ann")).collect()).await;
    let theirs = b.numbers_of((0..2).map(|_| owned(b.job(b.b), "ann")).collect()).await;
    let mut taken = b.claim_under(&[("_USER_ANN", 1)], 10).await;
    taken.sort_unstable();
    assert_eq!(taken, [ours[0], theirs[0]], "one each, whatever the other tenant runs");
}

pub async fn jobs_without_an_owner_have_no_user_quota(b: Bench) {
    let free = b.create_many(b.a, 3).await;
    let anns = b.numbers_of((0..3).map(|_| owned(b.job(b.a), "ann")).collect()).await;
    let mut expected = free.clone();
    expected.push(anns[0]);
    assert_eq!(b.claim_under(&[("_USER_ANN", 1)], 10).await, expected);
}

pub async fn a_full_installation_leaves_owners_their_own_quota(b: Bench) {
    let quotas = [("", 2), ("_USER_ANN", 1), ("_USER_EVE", 0)];
    let free = b.create_many(b.a, 300).await;
    let zoes = b.numbers_of((0..300).map(|_| owned(b.job(b.a), "zoe")).collect()).await;
    let anns = b.numbers_of((0..2).map(|_| owned(b.job(b.a), "ann")).collect()).await;
    let eves = b.numbers_of((0..2).map(|_| owned(b.job(b.b), "Eve")).collect()).await;
    let mut taken = b.claim_under(&quotas, 50).await;
    taken.sort_unstable();
    // The tenants take turns, so one place of everybody's two goes to Eve, whose jobs count there too.
    assert_eq!(taken, [free[0], anns[0], eves[0], eves[1]], "behind {} others", zoes.len());
}

pub async fn every_end_frees_a_place(b: Bench) {
    b.limit_tenant(b.a, Some(1)).await;
    b.create_many(b.a, 10).await;
    for ending in [Ending::Completed, failed(None), Ending::Cancelled, Ending::Released] {
        let job = b.claim(5).await.remove(0);
        assert!(b.claim(5).await.is_empty());
        b.finish(&job.lease, ending).await;
    }
    assert_eq!(b.claim(5).await.len(), 1);
}

pub async fn a_lost_worker_keeps_its_place_until_reclaimed(b: Bench) {
    b.limit_tenant(b.a, Some(1)).await;
    b.create_many(b.a, 2).await;
    assert_eq!(b.claim(5).await.len(), 1);
    b.wait(100);
    assert!(b.claim(5).await.is_empty(), "it may still be at work");
    assert_eq!(b.store.reclaim_expired(&rules(), 10).await.unwrap().len(), 1);
    assert_eq!(b.claim(5).await.len(), 1);
}

pub async fn a_lifted_limit_takes_effect(b: Bench) {
    b.create_many(b.a, 10).await;
    b.limit_tenant(b.a, Some(1)).await;
    assert_eq!(b.claim(10).await.len(), 1);
    b.limit_tenant(b.a, Some(3)).await;
    assert_eq!(b.claim(10).await.len(), 2);
    b.limit_tenant(b.a, None).await;
    b.limit_kind(|limits| limits.max_in_flight = Some(4)).await;
    assert_eq!(b.claim(10).await.len(), 1);
    b.limit_kind(|_| {}).await;
    assert_eq!(b.claim(10).await.len(), 6);
}

pub async fn a_limit_lowered_below_what_runs_lets_nothing_start(b: Bench) {
    b.create_many(b.a, 10).await;
    let jobs = b.claim(4).await;
    b.limit_tenant(b.a, Some(2)).await;
    assert!(b.claim(10).await.is_empty());
    for job in &jobs[..3] {
        b.finish(&job.lease, Ending::Completed).await;
    }
    assert_eq!(b.claim(10).await.len(), 1);
}

pub async fn the_selector_limits_owner_and_project(b: Bench) {
    b.create_many(b.a, 50).await;
    let anns = b.create(owned(b.job(b.a), "ann")).await.number;
    let project = b.create(NewJob { project_id: Some(7), ..b.job(b.b) }).await.number;
    let owner = Some("ann".to_owned());
    assert_eq!(b.select(Selector { owner: owner.clone(), ..Selector::default() }).await, [anns]);
    assert_eq!(b.select(Selector { project: Some(7), ..Selector::default() }).await, [project]);
    let both = Selector { owner, project: Some(7), ..Selector::default() };
    assert!(b.select(both).await.is_empty());
}

pub async fn limited_claims_leave_the_same_behind(b: Bench) {
    b.limit_tenant(b.a, Some(1)).await;
    let number = b.create(b.job(b.a)).await.number;
    b.wait(5);
    let job = b.claim_as("host:1:boot", 1).await.remove(0);
    assert_eq!((job.lease.number, job.attempt, job.tenant_slug.as_str()), (number, 1, "acme"));
    assert_eq!(job.leased_until, b.clock.now().plus(LEASE));
    let detail = b.detail(number).await;
    assert_eq!((detail.row.status, detail.row.attempt_count), (JobStatus::Processing, 1));
    assert_eq!((detail.row.started_at, detail.row.acquired_at), (Some(b.clock.now()), Some(b.clock.now())));
    assert_eq!(detail.row.worker_id.as_deref(), Some("host:1:boot"));
    assert_eq!(b.kinds(number).await, ["job.created", "job.started"]);
    assert_eq!(b.store.recount().await.unwrap(), 0, "the counters moved with it");
    b.fail(&job.lease, "x").await;
    b.wait(60);
    let again = b.claim(1).await.remove(0);
    assert_eq!((again.lease.number, again.attempt), (number, 2));
    assert_ne!(again.lease.lease_id, job.lease.lease_id);
    let row = b.detail(number).await.row;
    assert_eq!((row.started_at, row.error_code), (detail.row.started_at, None));
}

pub async fn limits_need_their_tenant_and_definition(b: Bench) {
    let (nobody, nothing) = (TenantId(Uuid::now_v7()), DefinitionId(Uuid::now_v7()));
    let scope = Scope::system("test");
    assert_eq!(code_of(b.store.set_tenant_limits(&scope, nobody, Default::default()).await), "NOT_FOUND");
    assert_eq!(
        code_of(b.store.set_definition_limits(&scope, nothing, Default::default()).await),
        "NOT_FOUND"
    );
    assert_eq!(code_of(b.store.set_tenant_limits(&b.bob(), b.a, Default::default()).await), "NOT_FOUND");
}

pub async fn a_shut_gate_gives_nothing(b: Bench) {
    b.create_many(b.a, 2).await;
    let gate = ClaimGate::default();
    let selector = Selector { gate: gate.clone(), ..Selector::default() };
    let limited = Selector { quotas: in_flight(&[("", 5)]), ..selector.clone() };
    gate.shut();
    assert!(b.select(selector).await.is_empty() && b.select(limited).await.is_empty());
    assert_eq!(b.claim(10).await.len(), 2, "another gate is open");
}
