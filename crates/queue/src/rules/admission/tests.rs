use super::*;
use leasehold_types::Timestamp;
use uuid::Uuid;

const DOMAIN: &str = "decks";

fn tenant(n: u128) -> TenantId {
    TenantId(Uuid::from_u128(n))
}

fn job(of: u128, owner: Option<&str>, key: Option<&str>) -> Contender {
    Contender {
        tenant: tenant(of),
        domain: DOMAIN.into(),
        job_type: "export".into(),
        owner: owner.map(Into::into),
        concurrency_key: key.map(Into::into),
    }
}

fn kind(limits: DefinitionLimits) -> Limits {
    Limits { kinds: [((DOMAIN.into(), "export".into()), limits)].into(), ..Limits::default() }
}

fn quotas(settings: &[(&str, i64)]) -> Limits {
    let named = settings.iter().map(|(name, max)| (format!("JOBS_QUOTA_MAX_INFLIGHT{name}"), *max));
    Limits { quotas: Arc::new(Quotas::new(named)), ..Limits::default() }
}

fn lane(of: u128, priority: i32) -> Lane {
    let word = |text: &str| text.to_owned();
    Lane {
        tenant: tenant(of),
        domain: word(DOMAIN),
        queue: word("default"),
        job_type: word("export"),
        priority,
    }
}

/// Fills a batch from waiting jobs as a store would; the numbers taken, and in how many passes.
fn fill(limits: Limits, running: &[(Contender, i64)], waiting: &[Contender], n: usize) -> (Vec<i64>, usize) {
    let lanes: HashSet<u128> = waiting.iter().map(|job| job.tenant.0.as_u128()).collect();
    let admission = Admission::new(limits, running.iter().cloned());
    let mut batch = Batch::new(admission, lanes.into_iter().map(|of| lane(of, 100)), n, 0);
    let mut passes = 0;
    while let Some(question) = batch.ask() {
        passes += 1;
        let mut found = Vec::new();
        for ask in &question.asks {
            let offered = (1_i64..).zip(waiting).filter(|(number, job)| {
                let left_out = |names: &[String], name: &Option<String>| {
                    name.as_ref().is_some_and(|name| names.contains(name))
                };
                job.tenant == ask.lane.tenant
                    && !question.except.contains(number)
                    && !left_out(&ask.full_keys, &job.concurrency_key)
                    && !left_out(&ask.full_owners, &job.owner)
                    && (!ask.owners_only || job.owner.is_some())
            });
            found.extend(offered.take(question.each).map(|(number, job)| Candidate {
                priority: 100,
                due: Timestamp::from_secs(0),
                number,
                job: job.clone(),
            }));
        }
        batch.hear(found);
    }
    (batch.numbers(), passes)
}

fn max(n: i64) -> Limits {
    let limits = TenantLimits { max_in_flight: Some(n), ..TenantLimits::default() };
    Limits { tenants: [(tenant(1), limits)].into(), ..Limits::default() }
}

#[test]
fn a_tenant_gets_no_more_than_its_limit_and_the_rest_goes_to_others() {
    let waiting: Vec<_> = (0..20).map(|i| job(1 + i % 2, None, None)).collect();
    let (numbers, _) = fill(max(3), &[(job(1, None, None), 1)], &waiting, 10);
    let of_first = numbers.iter().filter(|number| *number % 2 == 1).count();
    assert_eq!((numbers.len(), of_first), (10, 2));
}

#[test]
fn nothing_limited_is_shared_evenly() {
    let waiting: Vec<_> = (0..30).map(|i| job(1 + u128::from(i >= 20), None, None)).collect();
    let (numbers, passes) = fill(Limits::default(), &[], &waiting, 10);
    assert_eq!((numbers.iter().filter(|n| **n > 20).count(), numbers.len()), (5, 10));
    assert_eq!(passes, 1);
}

#[test]
fn a_kind_is_limited_over_all_tenants_and_in_each() {
    let waiting: Vec<_> = (0..20).map(|i| job(1 + i % 2, None, None)).collect();
    let all = kind(DefinitionLimits { max_in_flight: Some(5), ..DefinitionLimits::default() });
    assert_eq!(fill(all, &[(job(9, None, None), 1)], &waiting, 10).0.len(), 4);
    let each = kind(DefinitionLimits { max_in_flight_per_tenant: Some(3), ..DefinitionLimits::default() });
    assert_eq!(fill(each, &[(job(1, None, None), 1)], &waiting, 10).0.len(), 5);
}

#[test]
fn a_hill_of_one_key_hides_nobody() {
    let limits = kind(DefinitionLimits { max_active_per_key: Some(2), ..DefinitionLimits::default() });
    let mut waiting = vec![job(1, None, Some("hill")); 500];
    waiting.push(job(1, None, Some("other")));
    waiting.push(job(1, None, None));
    assert_eq!(fill(limits.clone(), &[], &waiting, 4).0, [1, 2, 501, 502]);
    assert_eq!(fill(limits, &[(job(1, None, Some("hill")), 2)], &waiting, 4).0, [501, 502]);
}

#[test]
fn keys_of_other_tenants_and_keys_that_reject_do_not_wait() {
    let limits = DefinitionLimits { max_active_per_key: Some(1), ..DefinitionLimits::default() };
    let running = [(job(2, None, Some("k")), 1)];
    let waiting = [job(1, None, Some("k")), job(1, None, Some("k"))];
    assert_eq!(fill(kind(limits.clone()), &running, &waiting, 4).0, [1]);
    let rejecting = DefinitionLimits { key_mode: KeyMode::Reject, ..limits };
    assert_eq!(fill(kind(rejecting), &running, &waiting, 4).0, [1, 2]);
}

#[test]
fn every_key_of_many_hills_gets_its_turn() {
    let limits = kind(DefinitionLimits { max_active_per_key: Some(1), ..DefinitionLimits::default() });
    let waiting: Vec<_> = (0..1_000).map(|i| job(1, None, Some(&format!("k{}", i / 50)))).collect();
    let (numbers, passes) = fill(limits, &[], &waiting, 20);
    assert_eq!(numbers, (0..20).map(|hill| 1 + hill * 50).collect::<Vec<_>>());
    assert!(passes <= 20, "{passes}");
}

#[test]
fn the_quota_found_first_decides_and_says_what_is_counted() {
    let limits = quotas(&[("", 2), ("_USER_ANN", 1), ("_DECKS_USER_BOB", 3), ("_USER_EVE", 0)]);
    let running = [(job(1, None, None), 2)];
    let waiting: Vec<_> =
        [None, Some("zoe"), Some("ann"), Some("ann"), Some("bob"), Some("eve"), Some("eve")]
            .map(|owner| job(1, owner, None))
            .into();
    assert_eq!(fill(limits.clone(), &running, &waiting, 9).0, [3, 5, 6, 7], "the quota for all is used up");
    let (numbers, _) = fill(limits, &[], &waiting, 9);
    assert_eq!(numbers, [1, 2, 3, 5, 6, 7], "jobs without an owner need no user's quota");
}

#[test]
fn a_quota_without_users_shuts_the_door_for_all() {
    let waiting = [job(1, Some("zoe"), None), job(1, None, None)];
    let (numbers, passes) = fill(quotas(&[("_DECKS", 1)]), &[(job(2, None, None), 1)], &waiting, 9);
    assert!(numbers.is_empty());
    assert_eq!(passes, 0, "nothing is read");
}

#[test]
fn many_tenants_without_room_do_not_hide_the_one_behind_them() {
    let limits = TenantLimits { max_in_flight: Some(1), ..TenantLimits::default() };
    let limits =
        Limits { tenants: (1..1_000).map(|n| (tenant(n), limits.clone())).collect(), ..Limits::default() };
    let running: Vec<_> = (1..1_000).map(|n| (job(n, None, None), 1)).collect();
    let waiting: Vec<_> = (1..=1_000).map(|n| job(n, None, None)).collect();
    assert_eq!(fill(limits, &running, &waiting, 1).0, [1_000]);
}

#[test]
fn what_is_reached_says_how_far() {
    let admission = Admission::new(max(2), [(job(1, None, None), 3)]);
    let expected = Reached { counter: Counter::Tenant(tenant(1)), used: 3, max: 2 };
    assert_eq!(admission.reached(&job(1, Some("ann"), Some("k"))), [expected]);
    assert!(admission.reached(&job(2, None, None)).is_empty());
}
