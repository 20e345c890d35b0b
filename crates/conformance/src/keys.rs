//! Idempotency and dedupe keys.

use super::bench::{Bench, NOW};
use leasehold_queue::{
    params::{HowCreated, Idempotency, NewJob},
    scope::Scope,
    transition::Ending,
};
use leasehold_types::{JobId, JobStatus, TenantId};
use std::{collections::HashSet, sync::Arc};
use uuid::Uuid;

impl Bench {
    fn keyed(&self, key: &str, hash: &str) -> NewJob {
        let idempotency =
            Idempotency { key: key.into(), payload_hash: hash.into(), expires_at: Some(NOW.plus_secs(100)) };
        NewJob { idempotency: Some(idempotency), ..self.job(self.a) }
    }

    fn deduped(&self, tenant: TenantId, key: &str) -> NewJob {
        NewJob { dedupe_key: Some(key.into()), ..self.job(tenant) }
    }
}

pub async fn an_idempotent_replay_returns_the_first_job(b: Bench) {
    let first = b.create(b.keyed("k", "h")).await;
    let again = b.create(b.keyed("k", "h")).await;
    assert_eq!((again.number, again.id, again.how), (first.number, first.id, HowCreated::Replayed));
    assert_eq!(b.events().await.len(), 1, "a replay is no event");
}

pub async fn another_payload_is_a_conflict(b: Bench) {
    b.create(b.keyed("k", "h")).await;
    let problem = b.try_create(b.keyed("k", "other")).await.unwrap_err();
    assert_eq!(problem.code.as_str(), "IDEMPOTENCY_CONFLICT");
}

pub async fn an_idempotency_key_is_scoped(b: Bench) {
    let first = b.create(b.keyed("k", "h")).await;
    for other in [
        NewJob { tenant_id: b.b, ..b.keyed("k", "h") },
        NewJob { queue: "high".into(), ..b.keyed("k", "h") },
        NewJob { domain: "decks".into(), ..b.keyed("k", "h") },
        NewJob { job_type: "else".into(), ..b.keyed("k", "h") },
    ] {
        let made = b.create(NewJob { id: JobId(Uuid::now_v7()), ..other }).await;
        assert_eq!(made.how, HowCreated::Inserted);
        assert_ne!(made.number, first.number);
    }
}

pub async fn an_expired_idempotency_key_is_free_again(b: Bench) {
    let first = b.create(b.keyed("k", "h")).await;
    b.wait(100);
    let again = b.create(b.keyed("k", "other")).await;
    assert_eq!(again.how, HowCreated::Inserted);
    assert_ne!(first.number, again.number);
}

pub async fn a_replay_works_after_the_job_has_ended(b: Bench) {
    let first = b.create(b.keyed("k", "h")).await;
    let job = b.claim(1).await.remove(0);
    b.finish(&job.lease, Ending::Completed).await;
    let again = b.create(b.keyed("k", "h")).await;
    assert_eq!(
        (again.number, again.how, again.status),
        (first.number, HowCreated::Replayed, JobStatus::Completed)
    );
}

pub async fn replays_inside_one_batch(b: Bench) {
    let jobs = vec![b.keyed("k", "h"), b.keyed("k", "h"), b.keyed("k", "other"), b.keyed("l", "h")];
    let answers = b.store.create_jobs(&Scope::system("test"), jobs).await.unwrap();
    let first = answers[0].as_ref().unwrap();
    let second = answers[1].as_ref().unwrap();
    assert_eq!((second.number, second.how), (first.number, HowCreated::Replayed));
    assert_eq!(answers[2].as_ref().unwrap_err().code.as_str(), "IDEMPOTENCY_CONFLICT");
    assert_eq!(answers[3].as_ref().unwrap().how, HowCreated::Inserted);
}

pub async fn an_active_dedupe_key_returns_the_active_job(b: Bench) {
    let first = b.create(b.deduped(b.a, "d")).await;
    let queued = b.create(b.deduped(b.a, "d")).await;
    assert_eq!((queued.number, queued.how), (first.number, HowCreated::Deduplicated));
    b.claim(1).await;
    let running = b.create(b.deduped(b.a, "d")).await;
    assert_eq!((running.number, running.status), (first.number, JobStatus::Processing));
}

pub async fn a_dedupe_key_is_free_after_the_end(b: Bench) {
    let first = b.create(b.deduped(b.a, "d")).await;
    let job = b.claim(1).await.remove(0);
    b.finish(&job.lease, Ending::Completed).await;
    let second = b.create(b.deduped(b.a, "d")).await;
    assert_eq!(second.how, HowCreated::Inserted);
    assert_ne!(second.number, first.number);
}

pub async fn dedupe_keys_of_tenants_are_apart(b: Bench) {
    b.create(b.deduped(b.a, "d")).await;
    assert_eq!(b.create(b.deduped(b.b, "d")).await.how, HowCreated::Inserted);
}

pub async fn deduplication_inside_one_batch(b: Bench) {
    let jobs = vec![b.deduped(b.a, "d"), b.job(b.a), b.deduped(b.a, "d")];
    let answers = b.store.create_jobs(&Scope::system("test"), jobs).await.unwrap();
    let numbers: Vec<_> = answers.iter().map(|a| a.as_ref().unwrap().number).collect();
    assert_eq!(numbers[0], numbers[2]);
    assert_eq!(b.card(b.a).await.queued, 2);
}

pub async fn one_bad_item_does_not_undo_the_rest(b: Bench) {
    b.create(b.keyed("k", "h")).await;
    let jobs = vec![b.job(b.a), b.keyed("k", "other"), b.job(b.a)];
    let answers = b.store.create_jobs(&Scope::system("test"), jobs).await.unwrap();
    assert_eq!(answers.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(b.card(b.a).await.queued, 3);
}

async fn race(b: Bench, make: impl Fn(&Bench) -> NewJob) {
    let b = Arc::new(b);
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let (b, job) = (b.clone(), make(&b));
            tokio::spawn(async move { b.try_create(job).await.unwrap() })
        })
        .collect();
    let mut numbers = HashSet::new();
    let mut inserted = 0;
    for task in tasks {
        let made = task.await.unwrap();
        numbers.insert(made.number);
        inserted += usize::from(made.how == HowCreated::Inserted);
    }
    assert_eq!((numbers.len(), inserted), (1, 1));
    assert_eq!(b.card(b.a).await.queued, 1);
}

pub async fn a_hundred_parallel_posts_of_one_key_make_one_job(b: Bench) {
    race(b, |b| b.keyed("k", "h")).await;
}

pub async fn a_hundred_parallel_dedupes_make_one_job(b: Bench) {
    race(b, |b| b.deduped(b.a, "d")).await;
}
