//! What workers over HTTP need: the job they hold, and the keys they show.

use super::{
    administration::confined,
    bench::{Bench, LEASE, NOW, code_of, definition, new_job},
    secrets::held,
};
use leasehold_queue::{
    engine::{EngineConfig, RemoteClaim},
    params::{Heartbeat, NewDefinition, NewKey, REMOTE},
    scope::Scope,
    silence::Hold,
    transition::Ending,
};
use leasehold_types::{JobRef, JobStatus, KeyId, ProblemCode, TenantId, WorkerId};
use serde_json::json;
use uuid::Uuid;

fn key(tenant: TenantId, prefix: &str) -> NewKey {
    NewKey {
        id: KeyId(Uuid::now_v7()),
        tenant_id: Some(tenant),
        name: "a worker".into(),
        prefix: prefix.into(),
        secret_hash: "abc".into(),
        scopes: vec!["worker".into()],
        expires_at: None,
    }
}

pub async fn a_held_job_is_found_by_number_and_id(b: Bench) {
    let job = b.running_with(|job| job.payload = json!({"rows": 3})).await;
    for named in [JobRef::Number(job.lease.number), JobRef::Id(job.id)] {
        let held = b.store.held_job(&b.ann(), named, true).await.unwrap().unwrap();
        assert_eq!((held.number, held.attempt), (job.lease.number, 1));
        assert_eq!((held.definition_id, held.leased_until), (job.definition_id, Some(job.leased_until)));
        assert_eq!(held.payload, Some(json!({"rows": 3})));
        assert_eq!((held.lease, held.cancel_requested), (Some(job.lease.clone()), false));
        let held = b.store.held_job(&b.ann(), named, false).await.unwrap().unwrap();
        assert_eq!(held.payload, None);
    }
}

pub async fn another_tenants_job_is_not_held(b: Bench) {
    let job = b.running().await;
    for named in [JobRef::Number(job.lease.number), JobRef::Id(job.id), JobRef::Number(99_999)] {
        assert!(b.store.held_job(&b.bob(), named, true).await.unwrap().is_none());
    }
}

pub async fn the_hold_on_a_job_is_told(b: Bench) {
    let number = b.create(b.job(b.a)).await.number;
    assert_eq!(b.store.hold(number).await.unwrap(), None, "nobody holds what waits");
    let job = b.claim_as("w", 1).await.remove(0);
    let hold = b.store.hold(number).await.unwrap().unwrap();
    let unknown = Hold {
        last_seen_at: None,
        acquired_at: NOW,
        leased_until: job.leased_until,
        cancel_requested: false,
        attempts_used: 1,
        max_attempts: job.max_attempts,
    };
    assert_eq!(hold, unknown);
    b.wait(2);
    b.store.heartbeat(beat("w")).await.unwrap();
    b.store.cancel(&b.ann(), JobRef::Number(number), Some("why")).await.unwrap();
    let hold = b.store.hold(number).await.unwrap().unwrap();
    assert_eq!(hold, Hold { last_seen_at: Some(NOW.plus_secs(2)), cancel_requested: true, ..unknown });
}

pub async fn keys_are_listed_within_a_scope(b: Bench) {
    let system = Scope::system("test");
    b.store.create_key(&system, key(b.a, "p1")).await.unwrap();
    b.wait(1);
    b.store.create_key(&system, key(b.a, "p2")).await.unwrap();
    b.store.create_key(&system, key(b.b, "p3")).await.unwrap();
    let prefixes = async |scope: &Scope| {
        let keys = b.store.api_keys(scope).await.unwrap();
        keys.into_iter().map(|key| key.prefix).collect::<Vec<_>>()
    };
    assert_eq!(prefixes(&b.ann()).await, ["p2", "p1"]);
    assert_eq!(prefixes(&system).await, ["p2", "p3", "p1"]);
}

pub async fn a_revoked_key_says_since_when(b: Bench) {
    b.store.create_key(&b.ann(), key(b.a, "p1")).await.unwrap();
    assert_eq!(b.store.revoke_key(&b.ann(), "p1").await.unwrap().revoked_at, Some(NOW));
    b.wait(60);
    let again = b.store.revoke_key(&b.ann(), "p1").await.unwrap();
    assert_eq!(again.revoked_at, Some(NOW), "the first moment stays");
    let (found, _) = b.store.key_by_prefix("p1").await.unwrap().unwrap();
    assert_eq!(found, again);
}

pub async fn a_foreign_key_cannot_be_revoked(b: Bench) {
    b.store.create_key(&b.ann(), key(b.a, "p1")).await.unwrap();
    assert_eq!(code_of(b.store.revoke_key(&b.bob(), "p1").await), "NOT_FOUND");
    assert_eq!(code_of(b.store.revoke_key(&b.ann(), "p9").await), "NOT_FOUND");
    assert_eq!(b.store.key_by_prefix("p1").await.unwrap().unwrap().0.revoked_at, None);
}

pub async fn the_use_of_a_key_is_noted_once_a_minute(b: Bench) {
    let made = b.store.create_key(&b.ann(), key(b.a, "p1")).await.unwrap();
    let last_used = async || b.store.key_by_prefix("p1").await.unwrap().and_then(|(key, _)| key.last_used_at);
    assert_eq!(last_used().await, None);
    for (wait, noted) in [(0, NOW), (59, NOW), (1, NOW.plus_secs(60))] {
        b.wait(wait);
        b.store.key_used(made.id).await.unwrap();
        assert_eq!(last_used().await, Some(noted), "after {wait} more seconds");
    }
}

fn beat(worker: &str) -> Heartbeat {
    Heartbeat {
        worker_id: WorkerId(worker.into()),
        hostname: "away".into(),
        version: String::new(),
        queues: vec!["commands/*".into()],
        commands: vec!["import".into()],
        running_count: 0,
        metadata: json!({"kind": "remote"}),
        started_at: NOW,
    }
}

pub async fn what_a_worker_tells_of_itself_is_shown(b: Bench) {
    b.store.heartbeat(beat("w")).await.unwrap();
    assert_eq!(b.store.workers(10).await.unwrap().workers[0].metadata, json!({"kind": "remote"}));
}

pub async fn a_worker_is_seen_without_saying_more(b: Bench) {
    for worker in ["w1", "w2"] {
        assert!(b.store.introduce_worker("key", beat(worker), 10).await.unwrap());
    }
    b.create_many(b.a, 2).await;
    b.claim_as("w1", 2).await;
    b.wait(20);
    let seen = ["w1", "stranger"].map(|worker| WorkerId(worker.into()));
    b.store.workers_seen(&seen).await.unwrap();
    let workers = b.store.workers(10).await.unwrap().workers;
    assert_eq!(workers.len(), 2, "whom nobody knows is not made up");
    let seen = &workers[0];
    assert_eq!((seen.worker_id.as_str(), seen.last_seen_at), ("w1", NOW.plus_secs(20)));
    assert_eq!((seen.running_count, seen.stale), (2, false), "its leases are counted");
    assert_eq!((seen.queues.as_slice(), seen.started_at), (&["commands/*".to_owned()][..], NOW));
    assert!(workers[1].stale);
}

pub async fn a_key_has_only_so_many_workers(b: Bench) {
    let introduce =
        async |key: &str, worker: &str| b.store.introduce_worker(key, beat(worker), 2).await.unwrap();
    assert!(introduce("k1", "w1").await && introduce("k1", "w2").await);
    assert!(!introduce("k1", "w3").await, "the third of two");
    assert!(introduce("k1", "w2").await, "who is known stays known");
    assert!(introduce("k2", "other").await, "another key has room of its own");
    b.create_many(b.a, 1).await;
    b.claim_as("w1", 1).await;
    b.wait(16);
    assert!(introduce("k1", "w3").await, "a silent one makes room");
    let ids: Vec<_> =
        b.store.workers(10).await.unwrap().workers.into_iter().map(|worker| worker.worker_id).collect();
    assert_eq!(ids, ["w3", "other", "w1"], "not the one that holds a job");
    b.store.workers_seen(&[WorkerId("w1".into())]).await.unwrap();
    assert!(!introduce("k1", "w4").await);
}

pub async fn introducing_again_says_what_it_runs_now(b: Bench) {
    assert!(b.store.introduce_worker("k1", beat("w"), 1).await.unwrap());
    b.wait(5);
    let again = Heartbeat { commands: vec!["export".into()], started_at: b.clock.now(), ..beat("w") };
    assert!(b.store.introduce_worker("k1", again, 1).await.unwrap());
    let worker = b.store.workers(10).await.unwrap().workers.remove(0);
    assert_eq!((worker.commands, worker.started_at), (vec!["export".to_owned()], NOW));
    assert_eq!(worker.last_seen_at, NOW.plus_secs(5));
}

pub async fn a_result_that_is_too_large_is_refused_and_the_lease_stays(b: Bench) {
    let engine = b.engine(EngineConfig { max_json_bytes: 100, ..EngineConfig::default() });
    let job = b.running().await;
    let (scope, held) = (b.ann(), held(&job));
    let complete = async |result: &str| {
        let result = Some(json!({"text": result}));
        engine.remote_finish(&scope, &held, Ending::Completed, result, None).await
    };
    let problem = complete(&"x".repeat(100)).await.unwrap_err();
    assert_eq!(problem.code, ProblemCode::PayloadTooLarge);
    assert_eq!(b.detail(job.lease.number).await.result, None);
    assert_eq!(complete("done").await.unwrap().status, JobStatus::Completed, "the worker may say less");
}

pub async fn a_claim_stays_within_the_keys_domains(b: Bench) {
    let engine = b.engine(EngineConfig::default());
    let mut numbers = Vec::new();
    for (key, domain) in [("resize", "media"), ("convert", "decks")] {
        let kind = NewDefinition { domain: domain.into(), executor: REMOTE.into(), ..definition(key) };
        let kind = b.store.ensure_definition(kind).await.unwrap();
        numbers.push(b.create(new_job(b.a, &kind)).await.number);
    }
    let pair = |a: &str, b: &str| vec![(a.to_owned(), b.to_owned())];
    let any =
        RemoteClaim { worker: WorkerId("w".into()), kinds: vec![], queues: vec![], limit: 10, lease: LEASE };
    let listed = confined(b.ann(), &["media"]);
    for foreign in [
        RemoteClaim { kinds: pair("decks", "convert"), ..any.clone() },
        RemoteClaim { kinds: pair("decks", "*"), ..any.clone() },
        RemoteClaim { queues: pair("decks", "default"), ..any.clone() },
    ] {
        assert_eq!(engine.remote_claim(&listed, &foreign).await.unwrap_err().code.as_str(), "FORBIDDEN");
    }
    let nowhere = engine.remote_claim(&confined(b.ann(), &[]), &any).await.unwrap_err();
    assert_eq!(nowhere.code.as_str(), "FORBIDDEN", "who may have nothing is told, and does not wait");
    let claimed = async |scope: &Scope| -> Vec<i64> {
        let jobs = engine.remote_claim(scope, &any).await.unwrap();
        jobs.into_iter().map(|job| job.lease.number).collect()
    };
    assert_eq!(claimed(&listed).await, [numbers[0]]);
    assert!(claimed(&listed).await.is_empty());
    assert_eq!(claimed(&b.ann()).await, [numbers[1]], "nobody else is confined by it");
}
