//! Keeping a lease alive, and progress.

use super::bench::{Bench, LEASE, NOW, renewal};
use leasehold_queue::{
    params::{Lease, Measured, RenewAnswer, Renewal},
    transition::Ending,
};
use leasehold_types::{JobRef, LeaseId, WorkerId};
use serde_json::json;
use std::time::Duration;
use uuid::Uuid;

const HELD: RenewAnswer = RenewAnswer::Held { cancel_requested: false };

impl Bench {
    async fn renew(&self, renewal: Renewal) -> RenewAnswer {
        self.store.renew(vec![renewal]).await.unwrap().remove(0)
    }

    async fn progress(&self, lease: &Lease, stage: Option<&str>, percent: i16, message: &str) -> RenewAnswer {
        let progress = Measured {
            stage: stage.map(Into::into),
            percent: Some(percent),
            message: (!message.is_empty()).then(|| message.into()),
            at: None,
        };
        self.renew(Renewal { progress: Some(progress), ..renewal(lease) }).await
    }
}

pub async fn a_renewal_extends_the_lease(b: Bench) {
    let job = b.running().await;
    b.wait(30);
    assert_eq!(b.renew(renewal(&job.lease)).await, HELD);
    assert_eq!(b.detail(job.lease.number).await.leased_until, Some(NOW.plus_secs(90)));
}

pub async fn a_renewal_never_shortens(b: Bench) {
    let job = b.running().await;
    b.renew(Renewal { extend_by: Duration::from_secs(1), ..renewal(&job.lease) }).await;
    assert_eq!(b.detail(job.lease.number).await.leased_until, Some(NOW.plus(LEASE)));
}

pub async fn a_renewal_is_capped(b: Bench) {
    let job = b.running().await;
    b.renew(Renewal { extend_by: Duration::from_secs(999_999), ..renewal(&job.lease) }).await;
    assert_eq!(b.detail(job.lease.number).await.leased_until, Some(NOW.plus_secs(3_600)));
}

pub async fn progress_is_recorded(b: Bench) {
    let job = b.running().await;
    assert_eq!(b.progress(&job.lease, Some("reading"), 30, "page 3").await, HELD);
    let row = b.detail(job.lease.number).await.row;
    assert_eq!((row.progress, row.stage.as_deref()), (30, Some("reading")));
    assert_eq!(row.progress_message.as_deref(), Some("page 3"));
}

/// Several stages of one job in one call, each with its own moment; the next attempt has its own.
pub async fn every_stage_keeps_its_moment(b: Bench) {
    let job = b.running().await;
    b.wait(10);
    let entered = |stage: &str, secs: i64| {
        let at = Some(NOW.plus_secs(secs));
        let progress = Measured { stage: Some(stage.into()), percent: Some(5), message: None, at };
        Renewal { progress: Some(progress), ..renewal(&job.lease) }
    };
    // The last lies in the future of the database's clock.
    let stages = vec![entered("load", 2), entered("check", 3), entered("check", 4), entered("work", 99)];
    assert_eq!(b.store.renew(stages).await.unwrap(), [HELD; 4]);
    let number = job.lease.number;
    let passed = async |attempt: usize| -> Vec<(String, i64)> {
        let attempts = b.detail(number).await.attempts;
        let marks = attempts[attempt].stages.iter();
        marks.map(|mark| (mark.stage.clone(), mark.at.seconds_since(NOW) as i64)).collect()
    };
    let expected = [("load", 2), ("check", 3), ("work", 10)].map(|(stage, at)| (stage.to_owned(), at));
    assert_eq!(passed(0).await, expected);
    let told = b.events().await;
    let progress: Vec<_> = told.iter().filter(|e| e.event.stage.is_some()).map(|e| e.event.at).collect();
    assert_eq!(progress, [2, 3, 10].map(|secs| NOW.plus_secs(secs)), "and so do its events");
    b.fail(&job.lease, "broke").await;
    b.wait(3_600);
    let again = b.claim(1).await.remove(0);
    b.progress(&again.lease, Some("load"), 5, "").await;
    assert_eq!((passed(0).await, passed(1).await.len()), (expected.to_vec(), 1));
}

pub async fn progress_never_falls(b: Bench) {
    let job = b.running().await;
    b.progress(&job.lease, Some("writing"), 80, "").await;
    b.progress(&job.lease, Some("reading"), 10, "back").await;
    let row = b.detail(job.lease.number).await.row;
    assert_eq!(
        (row.progress, row.stage.as_deref()),
        (80, Some("reading")),
        "the stage may go back, the bar may not"
    );
    b.fail(&job.lease, "x").await;
    b.wait(60);
    let again = b.claim(1).await.remove(0);
    assert_eq!(again.progress, 80);
    b.progress(&again.lease, None, 5, "").await;
    assert_eq!(b.detail(job.lease.number).await.row.progress, 80);
}

pub async fn progress_is_announced(b: Bench) {
    let job = b.running().await;
    b.progress(&job.lease, Some("reading"), 30, "page 3").await;
    let event = b.events().await.pop().unwrap().event;
    assert_eq!(
        (event.kind.as_str(), event.progress, event.stage.as_deref()),
        ("job.progress", 30, Some("reading"))
    );
    assert_eq!(event.message.as_deref(), Some("page 3"));
}

pub async fn unchanged_progress_is_not_announced(b: Bench) {
    let job = b.running().await;
    b.progress(&job.lease, Some("reading"), 30, "page 3").await;
    b.progress(&job.lease, Some("reading"), 30, "page 3").await;
    b.renew(renewal(&job.lease)).await;
    let kinds = b.kinds(job.lease.number).await;
    assert_eq!(kinds, ["job.created", "job.started", "job.progress"]);
}

pub async fn a_wrong_lease_is_lost(b: Bench) {
    let job = b.running().await;
    let wrong = Lease { lease_id: LeaseId(Uuid::new_v4()), ..job.lease };
    assert_eq!(b.progress(&wrong, None, 50, "").await, RenewAnswer::Lost);
    assert_eq!(b.detail(wrong.number).await.row.progress, 0);
}

pub async fn a_wrong_worker_is_lost(b: Bench) {
    let job = b.running().await;
    let wrong = Lease { worker_id: WorkerId("w2".into()), ..job.lease };
    assert_eq!(b.renew(renewal(&wrong)).await, RenewAnswer::Lost);
}

pub async fn a_finished_job_is_lost(b: Bench) {
    let job = b.running().await;
    b.finish(&job.lease, Ending::Completed).await;
    assert_eq!(b.renew(renewal(&job.lease)).await, RenewAnswer::Lost);
}

pub async fn an_expired_lease_is_still_the_holders(b: Bench) {
    let job = b.running().await;
    b.wait(61);
    assert_eq!(b.renew(renewal(&job.lease)).await, HELD);
}

pub async fn a_reclaimed_lease_is_lost(b: Bench) {
    let job = b.running().await;
    b.wait(61);
    b.store.reclaim_expired(&super::bench::rules(), 10).await.unwrap();
    assert_eq!(b.progress(&job.lease, None, 50, "late").await, RenewAnswer::Lost);
    assert_eq!(b.detail(job.lease.number).await.row.progress, 0);
}

pub async fn a_cancellation_is_told(b: Bench) {
    let job = b.running().await;
    b.store.cancel(&b.ann(), JobRef::Number(job.lease.number), Some("why")).await.unwrap();
    assert_eq!(b.renew(renewal(&job.lease)).await, RenewAnswer::Held { cancel_requested: true });
}

pub async fn a_checkpoint_reaches_the_next_attempt(b: Bench) {
    let job = b.running().await;
    b.renew(Renewal { checkpoint: Some(json!({"page": 3})), ..renewal(&job.lease) }).await;
    b.renew(renewal(&job.lease)).await;
    b.fail(&job.lease, "x").await;
    b.wait(60);
    assert_eq!(b.claim(1).await[0].checkpoint, Some(json!({"page": 3})));
}

pub async fn the_pid_is_shown(b: Bench) {
    let job = b.running().await;
    b.renew(Renewal { pid: Some(4711), ..renewal(&job.lease) }).await;
    b.renew(renewal(&job.lease)).await;
    assert_eq!(b.detail(job.lease.number).await.attempts[0].pid, Some(4711));
}

pub async fn an_unknown_job_is_lost(b: Bench) {
    let job = b.running().await;
    assert_eq!(b.renew(renewal(&Lease { number: 999_999, ..job.lease })).await, RenewAnswer::Lost);
}

pub async fn many_renewals_are_answered_in_order(b: Bench) {
    b.create_many(b.a, 4).await;
    let jobs = b.claim(4).await;
    b.finish(&jobs[1].lease, Ending::Completed).await;
    b.wait(10);
    let renewals = jobs.iter().rev().map(|j| renewal(&j.lease)).collect();
    assert_eq!(b.store.renew(renewals).await.unwrap(), [HELD, HELD, RenewAnswer::Lost, HELD]);
    assert_eq!(b.detail(jobs[3].lease.number).await.leased_until, Some(NOW.plus_secs(70)));
}
