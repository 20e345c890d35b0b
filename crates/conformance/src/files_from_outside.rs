//! Files from somebody who holds no lease.

use super::bench::{Bench, code_of};
use leasehold_queue::{
    attachments::{MOST_PER_JOB, NewAttachment},
    engine::{Engine, EngineConfig},
    params::NewJob,
    transition::Ending,
};
use leasehold_types::{JobRef, JobStatus};
use serde_json::json;

fn note(name: &str, text: &str) -> NewAttachment {
    NewAttachment::new(name, "text/plain", text.as_bytes().to_vec())
}

pub async fn a_file_may_come_from_outside(b: Bench) {
    let made = b.create(b.job(b.a)).await;
    let kept = b.store.keep_file(&b.ann(), JobRef::Id(made.id), note("note.txt", "hello")).await.unwrap();
    assert_eq!((kept.number, kept.attempt, kept.size), (made.number, 0, 5));
    let job = b.claim(1).await.remove(0);
    b.finish(&job.lease, Ending::Completed).await;
    let again =
        b.store.keep_file(&b.ann(), JobRef::Number(made.number), note("note.txt", "more")).await.unwrap();
    assert_eq!((again.id, again.attempt), (kept.id, 1), "the name is replaced, also after the end");
    let events = b.events().await;
    let event = &events.last().unwrap().event;
    assert_eq!((event.kind.as_str(), event.status), ("job.attachment", JobStatus::Completed));
    assert_eq!(event.message.as_deref(), Some("note.txt"));
    let trail = b.detail(made.number).await.trail;
    let attached: Vec<_> = trail.iter().filter(|entry| entry.action == "job.attach").collect();
    assert_eq!(attached.len(), 2);
    assert_eq!(
        (attached[0].actor.as_str(), attached[0].reason.as_deref()),
        ("ann@example.org", Some("note.txt"))
    );
}

pub async fn a_file_for_another_tenants_job_changes_nothing(b: Bench) {
    let made = b.create(b.job(b.a)).await;
    for job in [JobRef::Number(made.number), JobRef::Id(made.id), JobRef::Number(made.number + 1)] {
        assert_eq!(code_of(b.store.keep_file(&b.bob(), job, note("a", "x")).await), "NOT_FOUND");
    }
    assert!(b.store.attachments(&b.ann(), JobRef::Number(made.number)).await.unwrap().is_empty());
    assert_eq!(b.kinds(made.number).await, ["job.created"]);
}

pub async fn many_callers_leave_no_more_files_than_allowed(b: Bench) {
    let made = b.create(b.job(b.a)).await;
    let job = JobRef::Number(made.number);
    let mut callers = tokio::task::JoinSet::new();
    for n in 0..MOST_PER_JOB + 12 {
        let (store, ann) = (b.store.clone(), b.ann());
        callers.spawn(async move { store.keep_file(&ann, job, note(&n.to_string(), "x")).await.is_ok() });
    }
    let kept = callers.join_all().await.into_iter().filter(|kept| *kept).count() as i64;
    assert_eq!(kept, MOST_PER_JOB);
    assert_eq!(b.store.attachments(&b.ann(), job).await.unwrap().len() as i64, MOST_PER_JOB);
}

pub async fn text_in_a_file_from_outside_is_kept_without_secrets(b: Bench) {
    let engine = Engine::new(b.store.clone(), b.clock.clone(), EngineConfig::default());
    let made = b.create(NewJob { payload: json!({"token": "open-sesame"}), ..b.job(b.a) }).await;
    let job = JobRef::Number(made.number);
    let kept =
        engine.keep_file(&b.ann(), job, note("a.txt", "it was open-sesame\npassword=hush\n")).await.unwrap();
    let file = b.store.attachment(&b.ann(), kept.id).await.unwrap().unwrap();
    let text = String::from_utf8(file.bytes).unwrap();
    assert!(!text.contains("open-sesame") && !text.contains("hush") && text.ends_with('\n'), "{text}");
    let binary = NewAttachment::new("b.bin", "application/octet-stream", vec![0xff, 0, 1]);
    let kept = engine.keep_file(&b.ann(), job, binary).await.unwrap();
    assert_eq!(b.store.attachment(&b.ann(), kept.id).await.unwrap().unwrap().bytes, [0xff, 0, 1]);
}
