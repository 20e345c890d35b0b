use super::{rules::*, *};
use crate::quota::Quotas;
use leasehold_types::{DefinitionLimits, KeyMode, TenantLimits};
use serde_json::json;
use uuid::Uuid;

const NOW: Timestamp = Timestamp::from_secs(1_780_000_012);

fn job() -> NewJob {
    NewJob::new(TenantId(Uuid::nil()), "decks", "convert", json!({}))
}

fn gates(change: impl FnOnce(&mut NewJob), quotas: &[(&str, i64)], limits: [i64; 4]) -> Vec<Gate> {
    let mut job = job();
    change(&mut job);
    let [max_queued, submits, per_key, high_watermark] = limits;
    let some = |n: i64| (n > 0).then_some(n);
    let tenant = TenantLimits {
        max_queued: some(max_queued),
        submits_per_minute: some(submits),
        ..TenantLimits::default()
    };
    let definition = DefinitionLimits {
        max_active_per_key: some(per_key),
        key_mode: KeyMode::Reject,
        ..DefinitionLimits::default()
    };
    let quotas = Quotas::new(quotas.iter().map(|(name, max)| ((*name).to_owned(), *max)));
    gates_of(&job, &Limits { quotas: &quotas, high_watermark, tenant: &tenant, definition: &definition })
}

#[test]
fn a_job_nobody_limits_meets_no_gate() {
    assert!(gates(|j| j.concurrency_key = Some("doc".into()), &[], [0; 4]).is_empty());
    assert!(gates(|_| {}, &[], [0, 0, 1, 0]).is_empty(), "no key, nothing to limit");
}

#[test]
fn gates_stand_in_the_order_of_the_checks_and_say_what_they_limit() {
    let quotas = [("JOBS_QUOTA_MAX_QUEUED_USER_U_1", 2), ("JOBS_QUOTA_SUBMITS_PER_MIN_DECKS", 3)];
    let named = |job: &mut NewJob| {
        job.concurrency_key = Some("doc-9".into());
        job.owner_user_id = Some("u-1".into());
    };
    let sentences: Vec<_> = gates(named, &quotas, [5, 6, 1, 7]).iter().map(Gate::sentence).collect();
    assert_eq!(
        sentences,
        [
            "The key “doc-9” may have at most 1 job waiting or running.",
            "The user u-1 may have at most 2 jobs waiting.",
            "The tenant may have at most 5 jobs waiting.",
            "The domain decks may submit at most 3 jobs per minute.",
            "The tenant may submit at most 6 jobs per minute.",
            "The queue decks/default may have at most 7 jobs waiting.",
        ]
    );
}

#[test]
fn a_key_in_wait_mode_is_no_gate() {
    let mut job = job();
    job.concurrency_key = Some("doc".into());
    let definition = DefinitionLimits { max_active_per_key: Some(1), ..DefinitionLimits::default() };
    let (quotas, tenant) = (Quotas::default(), TenantLimits::default());
    let limits = Limits { quotas: &quotas, high_watermark: 0, tenant: &tenant, definition: &definition };
    assert!(gates_of(&job, &limits).is_empty());
}

#[test]
fn jobs_of_one_call_count_against_each_other_and_a_refused_one_counts_nowhere() {
    let both = NewJob { gates: gates(|_| {}, &[], [2, 3, 0, 0]), ..job() };
    let rate_only = NewJob { gates: gates(|_| {}, &[], [0, 3, 0, 0]), ..job() };
    let mut turnstile = Turnstile::new(HashMap::new(), NOW);
    assert!(turnstile.admit(&both).is_ok());
    assert!(turnstile.admit(&both).is_ok());
    let refused = turnstile.admit(&both).unwrap_err();
    assert_eq!(refused.detail, "The tenant may have at most 2 jobs waiting. Nothing was enqueued.");
    assert!(turnstile.admit(&rate_only).is_ok(), "the refused job did not use up the rate");
    assert!(turnstile.admit(&rate_only).is_err());
}

#[test]
fn what_is_there_already_counts() {
    let limited = NewJob { gates: gates(|_| {}, &[], [2, 0, 0, 0]), ..job() };
    let counts = measures([&limited]).into_iter().map(|m| (m.clone(), 1)).collect();
    let mut turnstile = Turnstile::new(counts, NOW);
    assert!(turnstile.admit(&limited).is_ok());
    assert!(turnstile.admit(&limited).is_err());
}

#[test]
fn each_refusal_has_its_code_and_says_when_to_come_back() {
    let refused = |limits: [i64; 4]| {
        let gates = gates(|j| j.concurrency_key = Some("doc".into()), &[], limits);
        let counts = gates.iter().map(|g| (g.measure.clone(), 9)).collect();
        let problem = Turnstile::new(counts, NOW).admit(&NewJob { gates, ..job() }).unwrap_err();
        (problem.code.as_str(), problem.retry_after_seconds)
    };
    assert_eq!(refused([1, 0, 0, 0]), ("QUOTA_EXCEEDED", Some(5)));
    assert_eq!(NOW.secs() % 60, 52);
    assert_eq!(refused([0, 1, 0, 0]), ("QUOTA_EXCEEDED", Some(8)), "a rate is free with the next minute");
    assert_eq!(refused([0, 0, 1, 0]), ("CONCURRENCY_LIMIT", None));
    assert_eq!(refused([0, 0, 0, 1]), ("QUEUE_OVERLOADED", Some(5)));
}

#[test]
fn submits_are_summed_per_extent() {
    let limited =
        NewJob { gates: gates(|_| {}, &[("JOBS_QUOTA_SUBMITS_PER_MIN", 9)], [1, 5, 0, 0]), ..job() };
    let submits = submits([&limited, &limited]);
    assert_eq!(
        submits.into_values().collect::<Vec<_>>(),
        [2, 2],
        "one row per rate, none for the number waiting"
    );
}

#[test]
fn different_extents_have_different_names() {
    let queue = |domain: &str, queue: &str| Extent::Queue { domain: domain.into(), queue: queue.into() };
    assert_ne!(queue("a", "b").name(), queue("a\",\"queue\":\"b", "").name());
    assert_ne!(
        Extent::Domain("a".into()).name(),
        Extent::Owner { tenant: TenantId(Uuid::nil()), owner: "a".into(), domain: None }.name()
    );
    assert_eq!(queue("a", "b").name(), r#"{"queue":{"domain":"a","queue":"b"}}"#);
}
