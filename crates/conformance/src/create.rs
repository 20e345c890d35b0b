//! Creating jobs: one, many, with everything they carry.

use super::bench::{Bench, NOW, new_job};
use leasehold_queue::{
    params::{HowCreated, NewJob},
    scope::Scope,
};
use leasehold_types::{JobRef, JobStatus, LiveKind, Problem, Source};
use serde_json::json;
use std::time::Duration;

pub async fn a_new_job_is_queued(b: Bench) {
    let made = b.create(b.job(b.a)).await;
    assert_eq!((made.status, made.how, made.queued_at), (JobStatus::Queued, HowCreated::Inserted, NOW));
    let job = b.detail(made.number).await;
    assert_eq!((job.row.id, job.row.status, job.row.attempt_count), (made.id, JobStatus::Queued, 0));
    assert_eq!((job.row.created_at, job.queued_at, job.row.progress), (NOW, NOW, 0));
    assert_eq!((job.row.started_at, job.row.completed_at, job.leased_until), (None, None, None));
}

pub async fn numbers_grow_and_answers_keep_their_order(b: Bench) {
    let jobs: Vec<_> = (0..20).map(|_| b.job(b.a)).collect();
    let ids: Vec<_> = jobs.iter().map(|j| j.id).collect();
    let answers = b.store.create_jobs(&Scope::system("test"), jobs).await.unwrap();
    let made: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
    assert_eq!(made.iter().map(|m| m.id).collect::<Vec<_>>(), ids);
    assert!(made.windows(2).all(|w| w[0].number < w[1].number));
}

pub async fn every_field_comes_back(b: Bench) {
    let new = NewJob {
        owner_user_id: Some("u7".into()),
        source: Source::Event,
        source_ref: Some("evt-1".into()),
        priority: 7,
        payload: json!({"deep": [1, 2.5, null, {"x": "y"}]}),
        dedupe_key: Some("d".into()),
        concurrency_key: Some("doc-9".into()),
        correlation_id: Some("c".into()),
        request_id: Some("r".into()),
        trace_id: "t".into(),
        requested_by: "ann".into(),
        max_attempts: 9,
        available_at: Some(NOW.plus_secs(30)),
        ..b.job(b.a)
    };
    let number = b.create(new.clone()).await.number;
    let job = b.detail(number).await;
    assert_eq!((job.row.priority, job.row.max_attempts, job.row.source), (7, 9, Source::Event));
    assert_eq!((job.payload, job.row.available_at), (new.payload, new.available_at));
    assert_eq!(
        (job.source_ref, job.dedupe_key, job.concurrency_key),
        (new.source_ref, new.dedupe_key, new.concurrency_key)
    );
    assert_eq!(
        (job.correlation_id, job.request_id, job.trace_id),
        (new.correlation_id, new.request_id, new.trace_id)
    );
    assert_eq!((job.requested_by, job.definition_key), (new.requested_by, Some("import".into())));
    assert_eq!((job.tenant_id, job.stages.len()), (b.a, 2));
}

pub async fn a_batch_of_a_thousand_is_one_call(b: Bench) {
    let numbers = b.create_many(b.a, 1_000).await;
    assert_eq!(numbers.len(), 1_000);
    assert_eq!(b.card(b.a).await.queued, 1_000);
}

pub async fn an_empty_batch_is_fine(b: Bench) {
    assert!(b.store.create_jobs(&Scope::system("test"), vec![]).await.unwrap().is_empty());
    assert!(b.events().await.is_empty());
}

pub async fn a_foreign_tenant_is_not_found(b: Bench) {
    let answers = b.store.create_jobs(&b.ann(), vec![b.job(b.b), b.job(b.a)]).await.unwrap();
    let Err(Problem { code, .. }) = &answers[0] else { panic!("{answers:?}") };
    assert_eq!(code.as_str(), "NOT_FOUND");
    assert!(answers[1].is_ok());
    assert!(b.store.overview(&Scope::system("test"), b.b).await.unwrap().cards.is_empty());
}

pub async fn creation_is_announced_in_the_outbox(b: Bench) {
    let numbers = b.create_many(b.a, 3).await;
    let events = b.events().await;
    assert_eq!(events.iter().map(|e| e.event.number).collect::<Vec<_>>(), numbers);
    assert!(events.iter().all(|e| e.event.kind == LiveKind::Created && e.tenant_id == b.a));
    assert!(events.iter().all(|e| e.event.status == JobStatus::Queued && e.event.at == NOW));
}

pub async fn creation_by_a_person_is_in_the_trail(b: Bench) {
    let made = b.store.create_jobs(&b.ann(), vec![b.job(b.a)]).await.unwrap().remove(0).unwrap();
    let trail = b.detail(made.number).await.trail;
    assert_eq!(trail.len(), 1);
    assert_eq!(
        (trail[0].actor.as_str(), trail[0].action.as_str(), trail[0].at),
        ("ann@example.org", "job.create", NOW)
    );
}

pub async fn creation_by_the_system_is_not_in_the_trail(b: Bench) {
    let number = b.create(b.job(b.a)).await.number;
    assert!(b.detail(number).await.trail.is_empty());
}

pub async fn creation_wakes_workers(b: Bench) {
    let mut wakes = b.store.wakes();
    b.create(b.job(b.a)).await;
    let jobs = async { while !wakes.recv().await.unwrap().is_about_jobs() {} };
    tokio::time::timeout(Duration::from_secs(5), jobs).await.expect("workers were not woken");
}

pub async fn text_in_any_script_survives(b: Bench) {
    let payload = json!({"ключ": "значение", "emoji": "🏠", "quote": "a'b\"c\\d", "line": "x\ny\t"});
    let number = b.create(NewJob { payload: payload.clone(), ..b.job(b.a) }).await.number;
    assert_eq!(b.detail(number).await.payload, payload);
}

pub async fn a_child_names_its_parent(b: Bench) {
    let parent = b.create(b.job(b.a)).await.number;
    let child = NewJob { parent: Some(parent), ..new_job(b.a, &b.definition) };
    let child = b.create(child).await;
    assert_eq!(b.detail(child.number).await.parent.unwrap().number, parent);
    let found = b.store.job(&b.ann(), JobRef::Number(parent), 1).await.unwrap().unwrap();
    assert_eq!(found.children.iter().map(|c| c.number).collect::<Vec<_>>(), [child.number]);
}
