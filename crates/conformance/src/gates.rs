//! Gates: a job comes in only while there is room, and the count is exact.

use super::bench::Bench;
use leasehold_queue::{
    gate::{Counted, Extent, Gate, Measure, Refusal},
    params::{CreateAnswer, HowCreated, Idempotency, NewJob},
    scope::Scope,
    transition::Ending,
};
use leasehold_types::TenantId;

pub(super) fn gate(counted: Counted, extent: Extent, max: i64) -> Gate {
    let refusal = match extent {
        Extent::Key { .. } => Refusal::Concurrency,
        Extent::Queue { .. } => Refusal::Overload,
        _ => Refusal::Quota,
    };
    Gate { measure: Measure { counted, extent }, max, refusal }
}

impl Bench {
    pub(super) fn behind(&self, gates: &[Gate]) -> NewJob {
        NewJob { gates: gates.to_vec(), ..self.job(self.a) }
    }

    pub(super) fn key(&self, tenant: TenantId, key: &str) -> Extent {
        let (domain, job_type) = (self.definition.domain.clone(), self.definition.job_type.clone());
        Extent::Key { tenant, domain, job_type, key: key.into() }
    }

    async fn create_all(&self, jobs: Vec<NewJob>) -> Vec<CreateAnswer> {
        self.store.create_jobs(&Scope::system("test"), jobs).await.unwrap()
    }
}

fn codes(answers: &[CreateAnswer]) -> Vec<&'static str> {
    answers.iter().map(|a| a.as_ref().map_or_else(|p| p.code.as_str(), |_| "ok")).collect()
}

pub async fn only_so_many_may_wait(b: Bench) {
    let waiting = [gate(Counted::Queued, Extent::Tenant(b.a), 2)];
    b.create(b.behind(&waiting)).await;
    b.create(b.behind(&waiting)).await;
    let refused = b.try_create(b.behind(&waiting)).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "QUOTA_EXCEEDED");
    assert_eq!(refused.detail, "The tenant may have at most 2 jobs waiting. Nothing was enqueued.");
    assert!(refused.retry_after_seconds.is_some());
    b.claim(1).await;
    b.create(b.behind(&waiting)).await;
    assert_eq!(b.card(b.a).await.queued, 2);
}

/// For each extent: a job inside it that fills the only place, and one beside it that must not matter.
pub async fn an_extent_counts_its_own_jobs_only(b: Bench) {
    let owned = |owner: &str, domain: &str| NewJob {
        owner_user_id: Some(owner.into()),
        domain: domain.into(),
        definition_id: None,
        ..b.job(b.a)
    };
    let keyed = |key: &str, job: NewJob| NewJob { concurrency_key: Some(key.into()), ..job };
    let of_kind = |domain: &str, queue: &str| NewJob {
        domain: domain.into(),
        queue: queue.into(),
        definition_id: None,
        ..b.job(b.b)
    };
    let queue = Extent::Queue { domain: "x".into(), queue: "high".into() };
    let owner = |owner: &str, domain: Option<&str>| Extent::Owner {
        tenant: b.a,
        owner: owner.into(),
        domain: domain.map(Into::into),
    };
    let elsewhere = |owner: &str| NewJob { owner_user_id: Some(owner.into()), ..b.job(b.b) };
    let cases = [
        (Extent::Tenant(b.b), b.job(b.a), b.job(b.b)),
        (Extent::Domain("d".into()), of_kind("e", "default"), of_kind("d", "default")),
        (queue.clone(), of_kind("x", "low"), of_kind("x", "high")),
        (owner("u", Some("o")), owned("u", "p"), owned("u", "o")),
        (owner("v", None), owned("w", "p"), owned("v", "q")),
        (owner("x", None), elsewhere("x"), owned("x", "q")),
        (b.key(b.a, "doc"), keyed("other", b.job(b.a)), keyed("doc", b.job(b.a))),
        (b.key(b.b, "doc"), keyed("doc", b.job(b.a)), keyed("doc", b.job(b.b))),
    ];
    for (extent, beside, inside) in cases {
        let gates = [gate(Counted::Queued, extent.clone(), 1)];
        b.create(beside.clone()).await;
        b.create(NewJob { gates: gates.to_vec(), ..inside.clone() }).await;
        let refused = b.try_create(NewJob { id: b.job(b.a).id, gates: gates.to_vec(), ..inside }).await;
        assert!(refused.is_err(), "{extent:?} was full");
    }
    let everywhere = |max| [gate(Counted::Queued, Extent::Everywhere, max)];
    assert!(b.try_create(b.behind(&everywhere(16))).await.is_err(), "sixteen jobs wait");
    b.create(b.behind(&everywhere(17))).await;
}

pub async fn a_full_queue_is_overloaded_for_every_tenant(b: Bench) {
    let queue = Extent::Queue { domain: "commands".into(), queue: "default".into() };
    let watermark = [gate(Counted::Queued, queue, 2)];
    b.create_many(b.b, 2).await;
    let refused = b.try_create(b.behind(&watermark)).await.unwrap_err();
    assert_eq!((refused.code.as_str(), refused.code.status()), ("QUEUE_OVERLOADED", 503));
    assert!(refused.retry_after_seconds.is_some());
    b.create(NewJob { queue: "high".into(), ..b.job(b.a) }).await;
    b.claim(1).await;
    b.claim(1).await;
    b.create(b.behind(&watermark)).await;
}

pub async fn an_active_key_is_taken_until_its_job_has_ended(b: Bench) {
    let gates = [gate(Counted::Active, b.key(b.a, "doc"), 1)];
    let convert = || NewJob { concurrency_key: Some("doc".into()), ..b.behind(&gates) };
    b.create(convert()).await;
    let refused = b.try_create(convert()).await.unwrap_err();
    assert_eq!((refused.code.as_str(), refused.retry_after_seconds), ("CONCURRENCY_LIMIT", None));
    let running = b.claim(1).await.remove(0);
    assert!(b.try_create(convert()).await.is_err(), "running counts as well");
    b.finish(&running.lease, Ending::Completed).await;
    b.create(convert()).await;
}

pub async fn a_rate_begins_anew_with_the_next_minute(b: Bench) {
    let rate = [gate(Counted::SubmittedThisMinute, Extent::Tenant(b.a), 2)];
    b.create(b.behind(&rate)).await;
    b.claim(1).await;
    b.create(b.behind(&rate)).await;
    let refused = b.try_create(b.behind(&rate)).await.unwrap_err();
    let left = 60 - b.clock.now().secs().rem_euclid(60);
    assert_eq!((refused.code.as_str(), refused.retry_after_seconds), ("QUOTA_EXCEEDED", Some(left as u32)));
    b.wait(left as u64 - 1);
    assert!(b.try_create(b.behind(&rate)).await.is_err(), "it is still the same minute");
    b.wait(1);
    b.create(b.behind(&rate)).await;
    b.create(b.behind(&rate)).await;
    assert!(b.try_create(b.behind(&rate)).await.is_err(), "refused submits did not count, accepted ones do");
    b.wait(180);
    b.create(b.behind(&rate)).await;
}

pub async fn items_of_one_call_count_against_each_other(b: Bench) {
    let gates = [gate(Counted::Queued, Extent::Tenant(b.a), 2)];
    let mut jobs: Vec<_> = (0..4).map(|_| b.behind(&gates)).collect();
    jobs.push(b.job(b.a));
    jobs.push(b.job(b.b));
    let answers = b.create_all(jobs).await;
    assert_eq!(codes(&answers), ["ok", "ok", "QUOTA_EXCEEDED", "QUOTA_EXCEEDED", "ok", "ok"]);
    assert_eq!(b.card(b.a).await.queued, 3);
    assert_eq!(b.events().await.len(), 4, "a refused job is not announced");
}

fn once(key: &str, job: NewJob) -> NewJob {
    let key = Idempotency { key: key.into(), payload_hash: "h".into(), expires_at: None };
    NewJob { idempotency: Some(key), ..job }
}

pub async fn a_replay_passes_closed_gates_and_costs_nothing(b: Bench) {
    let queue = Extent::Queue { domain: "commands".into(), queue: "default".into() };
    let gates = [
        gate(Counted::Queued, Extent::Tenant(b.a), 1),
        gate(Counted::SubmittedThisMinute, Extent::Tenant(b.a), 2),
        gate(Counted::Queued, queue, 1),
    ];
    let posted = || once("k", NewJob { dedupe_key: Some("d".into()), ..b.behind(&gates) });
    let first = b.create(posted()).await;
    for _ in 0..5 {
        let again = b.create(posted()).await;
        assert_eq!((again.number, again.how), (first.number, HowCreated::Replayed));
    }
    let deduplicated = b.create(NewJob { dedupe_key: Some("d".into()), ..b.behind(&gates) }).await;
    assert_eq!((deduplicated.number, deduplicated.how), (first.number, HowCreated::Deduplicated));
    b.claim(1).await;
    b.create(b.behind(&gates)).await;
    b.claim(1).await;
    assert!(
        b.try_create(b.behind(&gates)).await.is_err(),
        "two submits this minute, the replays not counted"
    );
}

pub async fn replays_inside_one_call_count_once(b: Bench) {
    let gates = [gate(Counted::Queued, Extent::Tenant(b.a), 1)];
    let posted = || once("k", b.behind(&gates));
    let answers = b.create_all(vec![posted(), posted(), b.behind(&gates)]).await;
    assert_eq!(codes(&answers), ["ok", "ok", "QUOTA_EXCEEDED"]);
    assert_eq!(answers[0].as_ref().unwrap().number, answers[1].as_ref().unwrap().number);
}

pub async fn a_refused_job_does_not_hold_its_keys(b: Bench) {
    b.create_many(b.a, 1).await;
    let full = [gate(Counted::Queued, Extent::Tenant(b.a), 1)];
    let keyed = |gates: &[Gate]| once("k", NewJob { dedupe_key: Some("d".into()), ..b.behind(gates) });
    let answers = b.create_all(vec![keyed(&full), keyed(&[])]).await;
    assert_eq!(codes(&answers), ["QUOTA_EXCEEDED", "ok"]);
    assert_eq!(answers[1].as_ref().unwrap().how, HowCreated::Inserted);
}

pub async fn gates_of_a_missing_tenant_change_nothing(b: Bench) {
    let nobody = TenantId(uuid::Uuid::now_v7());
    let gates = [gate(Counted::SubmittedThisMinute, Extent::Everywhere, 1)];
    let refused = b.try_create(NewJob { tenant_id: nobody, ..b.behind(&gates) }).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "NOT_FOUND");
    b.create(b.behind(&gates)).await;
}

pub async fn folding_changes_no_gate(b: Bench) {
    let gates = [gate(Counted::Queued, Extent::Tenant(b.a), 3)];
    b.create(b.behind(&gates)).await;
    b.store.fold_counters().await.unwrap();
    b.create(b.behind(&gates)).await;
    b.create(b.behind(&gates)).await;
    b.store.fold_counters().await.unwrap();
    assert!(b.try_create(b.behind(&gates)).await.is_err());
}
