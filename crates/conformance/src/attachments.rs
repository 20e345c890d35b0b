//! Files that jobs leave behind.

use super::bench::{Bench, LEASE, NOW, code_of, rules};
use leasehold_queue::{
    attachments::{MOST_PER_JOB, NewAttachment},
    bulk::{BulkAction, BulkRequest},
    engine::{Engine, EngineConfig},
    params::{ClaimedJob, Lease},
    scope::Scope,
    secrets::Redactor,
    signing::SigningKey,
    transition::Ending,
};
use leasehold_types::{
    AttachmentId, JobFilter, JobRef, LeaseId, WorkerId,
    view::{AttachmentView, BulkState},
};
use std::time::{Duration, Instant};
use uuid::Uuid;

impl Bench {
    async fn attach(&self, job: &ClaimedJob, name: &str, bytes: &[u8]) -> AttachmentView {
        self.store.attach(&job.lease, text(name, bytes)).await.unwrap()
    }

    async fn file_names(&self, number: i64) -> Vec<String> {
        let files = self.store.attachments(&self.ann(), JobRef::Number(number)).await.unwrap();
        files.into_iter().map(|file| file.name).collect()
    }

    async fn bytes(&self, id: AttachmentId) -> Option<Vec<u8>> {
        self.store.attachment(&self.ann(), id).await.unwrap().map(|file| file.bytes)
    }
}

fn text(name: &str, bytes: &[u8]) -> NewAttachment {
    NewAttachment::new(name, "text/plain", bytes.to_vec())
}

pub async fn a_file_comes_back_whole(b: Bench) {
    let job = b.running().await;
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let kept = b.attach(&job, "Łódź 🚀.bin", &bytes).await;
    assert_eq!((kept.number, kept.size, kept.attempt, kept.created_at), (job.lease.number, 300_000, 1, NOW));
    let found = b.store.attachment(&b.ann(), kept.id).await.unwrap().unwrap();
    assert_eq!((&found.view, found.bytes == bytes), (&kept, true));
    assert_eq!(found.view.sha256, text("x", &bytes).sha256);
    for name in [JobRef::Number(job.lease.number), JobRef::Id(job.id)] {
        assert_eq!(b.store.attachments(&b.ann(), name).await.unwrap(), std::slice::from_ref(&kept));
    }
}

pub async fn the_largest_file_is_kept(b: Bench) {
    let job = b.running().await;
    let engine = Engine::new(b.store.clone(), b.clock.clone(), EngineConfig::default());
    let bytes = vec![0xa5; engine.config().max_attachment_bytes];
    let kept = engine.attach(&job.lease, text("large", &bytes), &Redactor::default()).await.unwrap();
    assert!(b.bytes(kept.id).await.unwrap() == bytes);
}

pub async fn files_are_listed_by_name(b: Bench) {
    let job = b.running().await;
    for name in ["b.pdf", "a.txt", "B.pdf"] {
        b.attach(&job, name, b"x").await;
    }
    assert_eq!(b.file_names(job.lease.number).await, ["B.pdf", "a.txt", "b.pdf"]);
}

pub async fn the_same_name_replaces_the_file_and_keeps_its_id(b: Bench) {
    let job = b.running().await;
    let first = b.attach(&job, "deck.json", b"one").await;
    b.fail(&job.lease, "x").await;
    b.wait(100);
    let again = b.claim(1).await.remove(0);
    let second = b.attach(&again, "deck.json", b"two and more").await;
    assert_eq!((second.id, second.attempt, second.size), (first.id, 2, 12));
    assert!(second.created_at > first.created_at);
    assert_eq!(b.bytes(first.id).await.unwrap(), b"two and more");
    assert_eq!(b.file_names(job.lease.number).await, ["deck.json"]);
}

pub async fn a_file_needs_the_lease(b: Bench) {
    let job = b.running().await;
    let strangers = [
        Lease { lease_id: LeaseId(Uuid::new_v4()), ..job.lease.clone() },
        Lease { worker_id: WorkerId("w2".into()), ..job.lease.clone() },
        Lease { number: job.lease.number + 1, ..job.lease.clone() },
    ];
    for lease in strangers {
        assert_eq!(code_of(b.store.attach(&lease, text("a", b"x")).await), "STALE_LEASE");
    }
    b.finish(&job.lease, Ending::Completed).await;
    assert_eq!(code_of(b.store.attach(&job.lease, text("a", b"x")).await), "STALE_LEASE");
    assert!(b.file_names(job.lease.number).await.is_empty());
}

pub async fn a_lost_worker_keeps_no_file(b: Bench) {
    let job = b.running().await;
    b.attach(&job, "a", b"while it was held").await;
    b.wait(LEASE.as_secs() + 1);
    b.store.reclaim_expired(&rules(), 10).await.unwrap();
    assert_eq!(code_of(b.store.attach(&job.lease, text("a", b"too late")).await), "STALE_LEASE");
    b.wait(100);
    let again = b.claim_as("w2", 1).await.remove(0);
    assert_eq!(code_of(b.store.attach(&job.lease, text("a", b"too late")).await), "STALE_LEASE");
    let files = b.store.attachments(&b.ann(), JobRef::Number(again.lease.number)).await.unwrap();
    assert_eq!(b.bytes(files[0].id).await.unwrap(), b"while it was held");
}

pub async fn another_tenants_files_do_not_exist(b: Bench) {
    let job = b.running().await;
    let kept = b.attach(&job, "a", b"secret").await;
    assert!(b.store.attachments(&b.bob(), JobRef::Number(job.lease.number)).await.unwrap().is_empty());
    assert!(b.store.attachments(&b.bob(), JobRef::Id(job.id)).await.unwrap().is_empty());
    assert_eq!(b.store.attachment(&b.bob(), kept.id).await.unwrap(), None);
    let unknown = AttachmentId(Uuid::new_v4());
    assert_eq!(b.store.attachment(&Scope::system("test"), unknown).await.unwrap(), None);
}

pub async fn a_job_keeps_only_so_many_files(b: Bench) {
    let job = b.running().await;
    for n in 0..MOST_PER_JOB {
        b.attach(&job, &format!("{n}"), b"x").await;
    }
    assert_eq!(code_of(b.store.attach(&job.lease, text("more", b"x")).await), "PAYLOAD_TOO_LARGE");
    b.attach(&job, "7", b"replaced").await;
    assert_eq!(b.file_names(job.lease.number).await.len() as i64, MOST_PER_JOB);
    assert_eq!(b.kinds(job.lease.number).await.len() as i64, 2 + MOST_PER_JOB + 1, "a refusal is no event");
}

pub async fn a_file_is_announced_with_its_name(b: Bench) {
    let job = b.running().await;
    b.attach(&job, "a.pdf", b"x").await;
    let events = b.events().await;
    let event = &events.last().unwrap().event;
    assert_eq!((event.kind.as_str(), event.message.as_deref()), ("job.attachment", Some("a.pdf")));
    assert_eq!((event.number, event.attempt), (job.lease.number, 1));
}

pub async fn pruning_a_job_removes_its_files(b: Bench) {
    let job = b.running().await;
    let kept = b.attach(&job, "a", b"x").await;
    b.finish(&job.lease, Ending::Completed).await;
    let request = BulkRequest {
        action: BulkAction::Prune { archive: false },
        filter: JobFilter::default(),
        reason: "old".into(),
        top_groups: 0,
    };
    let plan = b.store.plan_bulk(&b.ann(), request).await.unwrap();
    assert_eq!(b.apply_chunk(&b.ann(), plan.id, 10).await.unwrap().state, BulkState::Done);
    assert_eq!(b.store.attachment(&Scope::system("test"), kept.id).await.unwrap(), None);
}

pub async fn a_setting_that_is_ensured_is_made_once(b: Bench) {
    assert_eq!(b.store.ensure_setting("key", "first").await.unwrap(), "first");
    assert_eq!(b.store.ensure_setting("key", "second").await.unwrap(), "first");
    let both = tokio::join!(b.store.ensure_setting("other", "x"), b.store.ensure_setting("other", "y"));
    assert_eq!(both.0.unwrap(), both.1.unwrap());
}

pub async fn a_link_made_by_one_process_is_followed_in_another(b: Bench) {
    let job = b.running().await;
    let engine = || Engine::new(b.store.clone(), b.clock.clone(), EngineConfig::default());
    let (here, there) = (engine(), engine());
    here.attach(&job.lease, text("a.txt", b"hello"), &Redactor::default()).await.unwrap();
    let linked = here.attachments(&b.ann(), JobRef::Number(job.lease.number)).await.unwrap().remove(0);
    let (expires, signature) =
        linked.path.split_once("?expires=").unwrap().1.split_once("&signature=").unwrap();
    let expires: i64 = expires.parse().unwrap();
    assert_eq!(linked.expires_at.secs(), expires);
    let file = there.follow_link(linked.file.id, expires, signature).await.unwrap();
    assert_eq!((file.view.name.as_str(), file.bytes.as_slice()), ("a.txt", b"hello".as_slice()));
    b.wait(3_700);
    assert_eq!(
        there.follow_link(linked.file.id, expires, signature).await.unwrap_err().code.as_str(),
        "FORBIDDEN"
    );
}

pub async fn the_first_signing_key_is_made_once(b: Bench) {
    assert_eq!(b.store.signing_keys().await.unwrap(), []);
    let both = tokio::join!(b.store.ensure_signing_key("x"), b.store.ensure_signing_key("y"));
    let first = both.0.unwrap();
    assert_eq!(first, both.1.unwrap());
    assert_eq!((first.len(), first[0].created_at), (1, NOW));
    assert_eq!(b.store.ensure_signing_key("z").await.unwrap(), first);
}

pub async fn a_signing_key_is_replaced_and_the_one_before_it_kept(b: Bench) {
    let secrets = |keys: Vec<SigningKey>| keys.into_iter().map(|key| key.secret).collect::<Vec<_>>();
    b.store.ensure_signing_key("first").await.unwrap();
    b.wait(60);
    let keys = b.store.rotate_signing_key(&b.ann(), "second", true).await.unwrap();
    assert_eq!(keys[0].created_at, NOW.plus_secs(60));
    assert_eq!(secrets(keys), ["second", "first"]);
    b.store.rotate_signing_key(&b.ann(), "third", true).await.unwrap();
    assert_eq!(secrets(b.store.signing_keys().await.unwrap()), ["third", "second"]);
    b.store.rotate_signing_key(&b.ann(), "fourth", false).await.unwrap();
    assert_eq!(secrets(b.store.signing_keys().await.unwrap()), ["fourth"]);
}

/// The other process has remembered the old key when the new one is made.
pub async fn links_survive_a_new_signing_key_in_every_process(b: Bench) {
    let job = b.running().await;
    let engine = || Engine::new(b.store.clone(), b.clock.clone(), EngineConfig::default());
    let (here, there) = (engine(), engine());
    here.attach(&job.lease, text("a.txt", b"hello"), &Redactor::default()).await.unwrap();
    let link = async || {
        let linked = here.attachments(&b.ann(), JobRef::Number(job.lease.number)).await.unwrap().remove(0);
        let (_, query) = linked.path.split_once("?expires=").unwrap();
        let (expires, signature) = query.split_once("&signature=").unwrap();
        (linked.file.id, expires.parse::<i64>().unwrap(), signature.to_owned())
    };
    let old = link().await;
    there.follow_link(old.0, old.1, &old.2).await.unwrap();
    here.rotate_signing_key(&Scope::system("test"), true).await.unwrap();
    let new = link().await;
    assert_ne!(old.2, new.2, "the new key signs");
    let until = Instant::now() + Duration::from_secs(20);
    while there.follow_link(new.0, new.1, &new.2).await.is_err() {
        assert!(Instant::now() < until, "the other process never noticed the new key");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    there.follow_link(old.0, old.1, &old.2).await.unwrap();
    here.rotate_signing_key(&Scope::system("test"), false).await.unwrap();
    assert!(here.follow_link(new.0, new.1, &new.2).await.is_err(), "the old ones were revoked");
}

pub async fn a_file_that_is_too_large_is_refused(b: Bench) {
    let job = b.running().await;
    let config = EngineConfig { max_attachment_bytes: 3, ..EngineConfig::default() };
    let engine = Engine::new(b.store.clone(), b.clock.clone(), config);
    assert_eq!(
        code_of(engine.attach(&job.lease, text("a", b"four"), &Redactor::default()).await),
        "PAYLOAD_TOO_LARGE"
    );
    engine.attach(&job.lease, text("a", b"abc"), &Redactor::default()).await.unwrap();
}
