//! What workers over HTTP need: the job they hold, and the keys they show.

use super::bench::{Bench, NOW, code_of};
use crate::{
    params::{Heartbeat, NewKey},
    scope::Scope,
};
use leasehold_types::{JobRef, KeyId, TenantId, WorkerId};
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

pub async fn jobs_are_counted_per_worker(b: Bench) {
    b.create_many(b.a, 3).await;
    b.claim_as("w1", 2).await;
    b.claim_as("w2", 1).await;
    for (worker, jobs) in [("w1", 2), ("w2", 1), ("w3", 0)] {
        assert_eq!(b.store.held_count(&WorkerId(worker.into())).await.unwrap(), jobs, "{worker}");
    }
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
    assert_eq!(b.store.workers().await.unwrap()[0].metadata, json!({"kind": "remote"}));
}

pub async fn a_worker_is_seen_without_saying_more(b: Bench) {
    b.store.heartbeat(beat("w")).await.unwrap();
    b.create_many(b.a, 2).await;
    b.claim_as("w", 2).await;
    b.wait(20);
    for worker in ["w", "stranger"] {
        b.store.worker_seen(&WorkerId(worker.into())).await.unwrap();
    }
    let workers = b.store.workers().await.unwrap();
    assert_eq!(workers.len(), 1, "whom nobody knows is not made up");
    let seen = &workers[0];
    assert_eq!((seen.last_seen_at, seen.running_count, seen.stale), (NOW.plus_secs(20), 2, false));
    assert_eq!((seen.queues.as_slice(), seen.started_at), (&["commands/*".to_owned()][..], NOW));
}
