//! Limits at the engine's door, on a real store: of tenants, quotas, keys, and of one call.

use super::{
    bench::{Bench, person},
    door::{code, import, keyed, quotas},
};
use leasehold_queue::{
    engine::{EngineConfig, EnqueueRequest},
    scope::Scope,
    transition::Ending,
};
use leasehold_types::{DefinitionLimits, JobRef, KeyMode, Source, TenantLimits};
use serde_json::json;

pub async fn a_tenants_limits_are_obeyed_and_lifted(b: Bench) {
    let (engine, system) = (b.engine(EngineConfig::default()), Scope::system("test"));
    engine.enqueue(&b.ann(), b.a, keyed("k")).await.unwrap();
    let limits = TenantLimits { max_queued: Some(2), submits_per_minute: Some(3), ..TenantLimits::default() };
    engine.set_tenant_limits(&system, b.a, limits).await.unwrap();
    assert_eq!(code(&engine, &b, import(json!({}))).await, "ok");
    assert_eq!(code(&engine, &b, import(json!({}))).await, "QUOTA_EXCEEDED");
    assert_eq!(code(&engine, &b, keyed("k")).await, "ok", "a replay is no new job");
    engine.enqueue(&b.bob(), b.b, import(json!({}))).await.unwrap();
    b.claim(10).await;
    assert_eq!(code(&engine, &b, import(json!({}))).await, "ok");
    assert_eq!(code(&engine, &b, import(json!({}))).await, "ok");
    b.claim(10).await;
    assert_eq!(code(&engine, &b, import(json!({}))).await, "QUOTA_EXCEEDED", "three this minute");
    engine.set_tenant_limits(&system, b.a, TenantLimits::default()).await.unwrap();
    assert_eq!(code(&engine, &b, import(json!({}))).await, "ok");
}

pub async fn only_who_governs_changes_limits_and_only_to_numbers_that_make_sense(b: Bench) {
    let (engine, system) = (b.engine(EngineConfig::default()), Scope::system("test"));
    let one = TenantLimits { max_queued: Some(1), ..TenantLimits::default() };
    let refused = engine.set_tenant_limits(&person(b.a, "ann@example.org"), b.a, one).await;
    assert_eq!(refused.unwrap_err().code.as_str(), "FORBIDDEN");
    let refused = engine.set_definition_limits(&b.ann(), b.definition.id, DefinitionLimits::default()).await;
    assert_eq!(refused.unwrap_err().code.as_str(), "FORBIDDEN");
    for number in [0, -1] {
        let limits = TenantLimits { submits_per_minute: Some(number), ..TenantLimits::default() };
        let problem = engine.set_tenant_limits(&system, b.a, limits).await.unwrap_err();
        assert_eq!(
            (problem.code.as_str(), problem.errors[0].field.as_str()),
            ("INVALID_INPUT", "submits_per_minute")
        );
        let limits = DefinitionLimits { max_active_per_key: Some(number), ..DefinitionLimits::default() };
        let problem = engine.set_definition_limits(&system, b.definition.id, limits).await.unwrap_err();
        assert_eq!(problem.code.as_str(), "INVALID_INPUT");
    }
    assert_eq!(b.store.tenant(&system, b.a).await.unwrap().unwrap().limits, TenantLimits::default());
}

pub async fn quotas_count_whom_they_were_found_for(b: Bench) {
    let engine = b.engine(quotas(&[
        ("JOBS_QUOTA_MAX_QUEUED", 4),
        ("JOBS_QUOTA_MAX_QUEUED_USER_U_1", 1),
        ("JOBS_QUOTA_MAX_QUEUED_COMMANDS_USER_VIP", 0),
    ]));
    let of = |owner: &str| EnqueueRequest { owner_user_id: Some(owner.into()), ..import(json!({})) };
    assert_eq!(code(&engine, &b, of("u-1")).await, "ok");
    assert_eq!(code(&engine, &b, of("u-1")).await, "QUOTA_EXCEEDED");
    for _ in 0..3 {
        assert_eq!(code(&engine, &b, of("u-2")).await, "ok");
    }
    assert_eq!(code(&engine, &b, of("u-2")).await, "QUOTA_EXCEEDED", "the global quota counts everybody");
    assert_eq!(code(&engine, &b, import(json!({}))).await, "QUOTA_EXCEEDED");
    assert_eq!(code(&engine, &b, of("vip")).await, "ok", "0 lifts the limit");
}

/// The owner is whatever a caller says: a tenant cannot use up another's quota by naming its people.
pub async fn an_owners_quota_is_counted_within_the_tenant(b: Bench) {
    let settings = [("JOBS_QUOTA_MAX_QUEUED_USER_U_1", 1), ("JOBS_QUOTA_SUBMITS_PER_MIN_USER_U_1", 1)];
    let engine = b.engine(quotas(&settings));
    let of = || EnqueueRequest { owner_user_id: Some("u-1".into()), ..import(json!({})) };
    let theirs = engine.enqueue(&b.bob(), b.b, of()).await;
    assert!(theirs.is_ok(), "{theirs:?}");
    assert_eq!(code(&engine, &b, of()).await, "ok", "another tenant's u-1 is somebody else");
    assert_eq!(code(&engine, &b, of()).await, "QUOTA_EXCEEDED");
}

pub async fn a_full_key_is_refused_in_reject_mode_and_waits_in_wait_mode(b: Bench) {
    let (engine, system) = (b.engine(EngineConfig::default()), Scope::system("test"));
    let ask = |key: &str| EnqueueRequest { concurrency_key: Some(key.into()), ..import(json!({})) };
    let limits =
        |key_mode| DefinitionLimits { max_active_per_key: Some(1), key_mode, ..DefinitionLimits::default() };
    engine.set_definition_limits(&system, b.definition.id, limits(KeyMode::Reject)).await.unwrap();
    assert_eq!(code(&engine, &b, ask("doc")).await, "ok");
    assert_eq!(code(&engine, &b, ask("doc")).await, "CONCURRENCY_LIMIT");
    assert_eq!(code(&engine, &b, ask("other")).await, "ok");
    assert_eq!(code(&engine, &b, import(json!({}))).await, "ok", "no key, no limit");
    engine.set_definition_limits(&system, b.definition.id, limits(KeyMode::Wait)).await.unwrap();
    assert_eq!(code(&engine, &b, ask("doc")).await, "ok");
}

pub async fn many_requests_are_one_call_with_an_answer_each(b: Bench) {
    let engine = b.engine(EngineConfig::default());
    let limits = TenantLimits { max_queued: Some(3), ..TenantLimits::default() };
    engine.set_tenant_limits(&Scope::system("test"), b.a, limits).await.unwrap();
    let requests = vec![
        import(json!({})),
        EnqueueRequest { priority: Some(0), ..import(json!({})) },
        keyed("k"),
        EnqueueRequest::new("nothing", json!({}), Source::Api),
        keyed("k"),
        import(json!({})),
        import(json!({})),
    ];
    let answers = engine.enqueue_many(&b.ann(), b.a, requests).await.unwrap();
    let codes: Vec<_> =
        answers.iter().map(|a| a.as_ref().map_or_else(|p| p.code.as_str(), |_| "ok")).collect();
    assert_eq!(codes, ["ok", "INVALID_INPUT", "ok", "INVALID_INPUT", "ok", "ok", "QUOTA_EXCEEDED"]);
    let number = |i: usize| answers[i].as_ref().unwrap().job.number;
    assert_eq!(number(2), number(4));
    assert!(number(0) < number(2) && number(2) < number(5));
    assert_eq!(b.footprint().await, (3, 3, 3));
}

pub async fn ten_thousand_come_in_at_once_and_not_one_more(b: Bench) {
    let engine = b.engine(EngineConfig::default());
    let many = |n: usize| (0..n).map(|_| import(json!({}))).collect::<Vec<_>>();
    let refused = engine.enqueue_many(&b.ann(), b.a, many(10_001)).await.unwrap_err();
    assert_eq!((refused.code.as_str(), b.footprint().await), ("INVALID_INPUT", (0, 0, 0)));
    let limits = TenantLimits { max_queued: Some(9_990), ..TenantLimits::default() };
    engine.set_tenant_limits(&Scope::system("test"), b.a, limits).await.unwrap();
    let answers = engine.enqueue_many(&b.ann(), b.a, many(10_000)).await.unwrap();
    assert_eq!(answers.iter().filter(|a| a.is_ok()).count(), 9_990);
    assert!(engine.enqueue_many(&b.ann(), b.a, vec![]).await.unwrap().is_empty());
    assert_eq!(b.card(b.a).await.queued, 9_990);
}

pub async fn a_retry_comes_through_the_same_door(b: Bench) {
    let engine = b.engine(EngineConfig::default());
    let ended = engine.enqueue(&b.ann(), b.a, import(json!({}))).await.unwrap().job.number;
    let job = b.claim(1).await.remove(0);
    b.finish(&job.lease, Ending::Completed).await;
    engine.enqueue(&b.ann(), b.a, import(json!({}))).await.unwrap();
    let limits = TenantLimits { max_queued: Some(1), ..TenantLimits::default() };
    engine.set_tenant_limits(&Scope::system("test"), b.a, limits).await.unwrap();
    let before = b.footprint().await;
    let refused = engine.retry(&b.ann(), JobRef::Number(ended)).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "QUOTA_EXCEEDED");
    assert_eq!(b.footprint().await, before);
    engine.set_tenant_limits(&Scope::system("test"), b.a, TenantLimits::default()).await.unwrap();
    let retried = engine.retry(&b.ann(), JobRef::Number(ended)).await.unwrap();
    assert_eq!(b.detail(retried.number).await.parent.unwrap().number, ended);
}
