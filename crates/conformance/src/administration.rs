//! What those who run an installation do: kinds of jobs, domains, the archive, the database itself.

use super::bench::{Bench, definition};
use leasehold_queue::{
    administration::{DatabaseFacts, DefinitionChange, Difference},
    bulk::{BulkAction, BulkRequest},
    domains::DomainReach,
    params::NewDefinition,
    scope::Scope,
    store::StoreError,
    transition::Ending,
};
use leasehold_types::{
    DefinitionId, DefinitionLimits, JobFilter, JobRef, JobStatus, PageRequest, ProblemCode, view::BulkState,
};
use serde_json::json;
use std::sync::Arc;
use uuid::Uuid;

fn code_of(error: StoreError) -> ProblemCode {
    match error {
        StoreError::Problem(problem) => problem.code,
        other => panic!("{other}"),
    }
}

pub(super) fn confined(scope: Scope, domains: &[&str]) -> Scope {
    let allowed = domains.iter().map(|domain| (*domain).to_owned()).collect();
    Scope { domains: Some(Arc::new(DomainReach { allowed, filter_required: false })), ..scope }
}

pub async fn a_definition_is_made_once(b: Bench) {
    let made = b.store.create_definition(&b.ann(), definition("export"), true).await.unwrap();
    assert!(made.is_active);
    assert_eq!(b.store.definition(made.id).await.unwrap(), Some(made));
    let again = b.store.create_definition(&b.ann(), definition("export"), true).await.unwrap_err();
    assert_eq!(code_of(again), ProblemCode::AlreadyExists);
    let twin = NewDefinition { key: "twin".into(), ..definition("export") };
    let twin = b.store.create_definition(&b.ann(), twin, true).await.unwrap_err();
    assert_eq!(code_of(twin), ProblemCode::AlreadyExists, "domain and job type are taken");
    assert_eq!(b.store.definitions().await.unwrap().len(), 2);
}

pub async fn a_definition_can_be_made_switched_off(b: Bench) {
    let made = b.store.create_definition(&b.ann(), definition("export"), false).await.unwrap();
    assert!(!made.is_active);
    assert!(!b.store.definition(made.id).await.unwrap().unwrap().is_active);
}

pub async fn a_change_leaves_the_rest(b: Bench) {
    let limits = DefinitionLimits { max_in_flight: Some(7), ..DefinitionLimits::default() };
    let change = DefinitionChange {
        timeout_seconds: Some(5),
        arg_schema: Some(json!({"type": "object", "maxProperties": 1})),
        limits: Some(limits.clone()),
        is_active: Some(false),
        queue: Some("low".into()),
        ..DefinitionChange::default()
    };
    let changed = b.store.update_definition(&b.ann(), b.definition.id, change).await.unwrap();
    let expected = leasehold_types::view::Definition {
        timeout_seconds: 5,
        arg_schema: json!({"type": "object", "maxProperties": 1}),
        limits,
        is_active: false,
        queue: "low".into(),
        ..b.definition.clone()
    };
    assert_eq!(changed, expected);
    assert_eq!(b.store.definition(b.definition.id).await.unwrap(), Some(expected));
}

pub async fn what_a_file_says_otherwise_is_found_and_applied(b: Bench) {
    let made = b.store.create_definition(&b.ann(), definition("export"), true).await.unwrap();
    assert_eq!(
        Difference::between(&made, &definition("export")),
        None,
        "what was written comes back the same"
    );
    let limits = DefinitionLimits { max_in_flight: Some(7), ..DefinitionLimits::default() };
    let wanted = NewDefinition { timeout_seconds: 5, queue: "low".into(), limits, ..definition("export") };
    let difference = Difference::between(&made, &wanted).unwrap();
    let names: Vec<_> = difference.fields.iter().map(|(field, ..)| *field).collect();
    assert_eq!(names, ["queue", "timeout_seconds", "limits"]);
    let changed = b.store.update_definition(&b.ann(), difference.id, difference.change).await.unwrap();
    assert_eq!(Difference::between(&changed, &wanted), None);
    assert_eq!(b.store.definition(made.id).await.unwrap(), Some(changed));
}

pub async fn an_unknown_definition_cannot_be_changed(b: Bench) {
    let change = DefinitionChange { timeout_seconds: Some(5), ..DefinitionChange::default() };
    let nobody = DefinitionId(Uuid::now_v7());
    let refused = b.store.update_definition(&b.ann(), nobody, change).await.unwrap_err();
    assert_eq!(code_of(refused), ProblemCode::NotFound);
}

pub async fn a_domain_that_is_not_listed_is_refused(b: Bench) {
    let number = b.create(b.job(b.a)).await.number;
    let job = JobRef::Number(number);
    let own = confined(b.ann(), &[&b.definition.domain]);
    let other = confined(b.ann(), &["elsewhere"]);
    assert!(b.store.job(&own, job, 1).await.unwrap().is_some());
    assert_eq!(code_of(b.store.job(&other, job, 1).await.unwrap_err()), ProblemCode::Forbidden);
    assert_eq!(code_of(b.store.logs(&other, job, 1, 0, 1).await.unwrap_err()), ProblemCode::Forbidden);
    assert_eq!(code_of(b.store.attachments(&other, job).await.unwrap_err()), ProblemCode::Forbidden);
    assert_eq!(code_of(b.store.cancel(&other, job, None).await.unwrap_err()), ProblemCode::Forbidden);
    assert_eq!(b.status(number).await, JobStatus::Queued);
    let stranger = confined(b.bob(), &["elsewhere"]);
    assert_eq!(b.store.job(&stranger, job, 1).await.unwrap(), None, "another tenant's does not exist");
}

pub async fn a_list_shows_only_listed_domains(b: Bench) {
    let number = b.create(b.job(b.a)).await.number;
    let list = async |domains: &[&str], q: Option<&str>| {
        let domains = domains.iter().map(|domain| (*domain).to_owned()).collect();
        let filter = JobFilter { domains, q: q.map(str::to_owned), ..JobFilter::default() };
        let scope = confined(b.ann(), &["elsewhere"]);
        let page = b.store.list(&scope, &filter, PageRequest::default()).await.unwrap();
        (page.rows.len(), page.matching.count)
    };
    let own = b.definition.domain.as_str();
    assert_eq!(list(&["elsewhere", own], None).await, (1, 1));
    assert_eq!(list(&["elsewhere"], None).await, (0, 0));
    assert_eq!(list(&["elsewhere"], Some(&number.to_string())).await, (0, 0), "nor by its number");
}

pub async fn an_archived_job_is_known_in_its_tenant(b: Bench) {
    let job = b.running().await;
    b.finish(&job.lease, Ending::Completed).await;
    let number = JobRef::Number(job.lease.number);
    assert_eq!(b.store.archived_job(&b.ann(), number).await.unwrap(), None);
    let request = BulkRequest {
        action: BulkAction::Prune { archive: true },
        filter: JobFilter::default(),
        reason: "old".into(),
        top_groups: 0,
    };
    let plan = b.store.plan_bulk(&b.ann(), request).await.unwrap();
    assert_eq!(b.apply_chunk(&b.ann(), plan.id, 10).await.unwrap().state, BulkState::Done);
    for job in [number, JobRef::Id(job.id)] {
        let kept = b.store.archived_job(&b.ann(), job).await.unwrap().unwrap();
        assert_eq!((kept.status, kept.has_payload, kept.has_result), (JobStatus::Completed, true, false));
        assert_eq!(b.store.archived_job(&b.bob(), job).await.unwrap(), None);
    }
    let other = confined(b.ann(), &["elsewhere"]);
    assert_eq!(code_of(b.store.archived_job(&other, number).await.unwrap_err()), ProblemCode::Forbidden);
}

pub async fn an_examination_finds_nothing_wrong(b: Bench) {
    b.create_many(b.a, 3).await;
    let found = b.store.examine().await.unwrap();
    assert_eq!((found.wrong_counters, found.events >= 3), (0, true));
    assert!(found.oldest_event_at.is_some());
    match found.database {
        DatabaseFacts::Sqlite { journal_mode, synchronous, foreign_keys, sound, .. } => {
            assert_eq!((journal_mode.as_str(), synchronous, foreign_keys), ("wal", 2, true));
            assert_eq!(sound, "ok");
        }
        DatabaseFacts::Postgres { version, max_connections, connections, read_only, may_create, .. } => {
            assert!(version > 120_000 && max_connections > connections && connections > 0);
            assert!(!read_only && may_create);
        }
    }
}
