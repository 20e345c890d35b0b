//! How attempts end: fenced, once, and with everything the row must say afterwards.

use super::bench::{Bench, NOW, failed, finish, rules};
use leasehold_queue::{
    params::{AttemptFacts, ClaimedJob, Finish, FinishAnswer, HowCreated, Lease, NewJob},
    transition::{Ending, Failure, Rules},
};
use leasehold_types::{AttemptOutcome, ErrorClass, JobRef, JobStatus, LeaseId, WorkerId};
use serde_json::json;
use uuid::Uuid;

fn permanent(class: ErrorClass) -> Ending {
    Ending::Failed(Failure {
        error_code: Some("bad".into()),
        error_class: Some(class),
        message: "no use".into(),
        stack: Some("at line 1".into()),
        ..Failure::default()
    })
}

fn with_token(lease: &Lease, ending: Ending, token: &str) -> Finish {
    Finish { token: Some(token.into()), ..finish(lease, ending) }
}

impl Bench {
    /// Claims the job again once its retry is due.
    async fn next_attempt(&self, number: i64) -> ClaimedJob {
        self.wait(100);
        let job = self.claim(1).await.remove(0);
        assert_eq!(job.lease.number, number);
        job
    }
}

pub async fn completion_ends_the_job(b: Bench) {
    let job = b.running().await;
    b.wait(5);
    assert_eq!(b.finish(&job.lease, Ending::Completed).await, FinishAnswer::Applied(JobStatus::Completed));
    let row = b.detail(job.lease.number).await.row;
    assert_eq!((row.status, row.completed_at), (JobStatus::Completed, Some(NOW.plus_secs(5))));
}

pub async fn completion_sets_progress_to_a_hundred(b: Bench) {
    let job = b.running().await;
    b.finish(&job.lease, Ending::Completed).await;
    assert_eq!(b.detail(job.lease.number).await.row.progress, 100);
}

pub async fn the_lease_is_cleared(b: Bench) {
    for ending in [
        Ending::Completed,
        failed(Some("x")),
        permanent(ErrorClass::ValidationError),
        Ending::Cancelled,
        Ending::Released,
    ] {
        let job = b.running().await;
        b.finish(&job.lease, ending).await;
        let detail = b.detail(job.lease.number).await;
        assert_eq!((detail.row.worker_id, detail.leased_until), (None, None));
        let _ = b.store.cancel(&b.ann(), JobRef::Number(job.lease.number), Some("out of the way")).await;
    }
}

pub async fn the_attempt_is_recorded(b: Bench) {
    let job = b.running().await;
    b.wait(3);
    let facts = AttemptFacts {
        pid: Some(77),
        exit_code: Some(0),
        stdout_tail: Some("out".into()),
        stderr_tail: Some("err".into()),
    };
    b.finish_item(Finish { facts, ..finish(&job.lease, Ending::Completed) }).await;
    let attempts = b.detail(job.lease.number).await.attempts;
    assert_eq!(attempts.len(), 1);
    let a = &attempts[0];
    assert_eq!((a.attempt, a.outcome, a.worker_id.as_str()), (1, AttemptOutcome::Succeeded, "w1"));
    assert_eq!((a.started_at, a.finished_at), (NOW, Some(NOW.plus_secs(3))));
    assert_eq!((a.pid, a.exit_code), (Some(77), Some(0)));
    assert_eq!((a.stdout_tail.as_deref(), a.stderr_tail.as_deref()), (Some("out"), Some("err")));
}

pub async fn a_result_is_kept(b: Bench) {
    let job = b.running().await;
    b.finish_item(Finish { result: Some(json!({"rows": 3})), ..finish(&job.lease, Ending::Completed) }).await;
    assert_eq!(b.detail(job.lease.number).await.result, Some(json!({"rows": 3})));
}

pub async fn a_retryable_failure_waits_in_the_queue(b: Bench) {
    let job = b.running().await;
    assert_eq!(b.fail(&job.lease, "x").await, FinishAnswer::Applied(JobStatus::Queued));
    let detail = b.detail(job.lease.number).await;
    assert_eq!((detail.row.status, detail.row.available_at), (JobStatus::Queued, Some(NOW.plus_secs(2))));
    assert_eq!(
        (detail.row.error_code.as_deref(), detail.error_message.as_deref()),
        (Some("x"), Some("it broke"))
    );
    assert_eq!(detail.row.completed_at, None);
    assert_eq!(detail.attempts[0].outcome, AttemptOutcome::Failed);
    assert_eq!(detail.attempts[0].error_text.as_deref(), Some("it broke"));
}

pub async fn the_last_attempt_goes_to_the_dead_letter(b: Bench) {
    let number = b.create(NewJob { max_attempts: 2, ..b.job(b.a) }).await.number;
    let first = b.claim(1).await.remove(0);
    b.fail(&first.lease, "x").await;
    let second = b.next_attempt(number).await;
    assert_eq!(b.fail(&second.lease, "y").await, FinishAnswer::Applied(JobStatus::DeadLetter));
    let detail = b.detail(number).await;
    assert_eq!((detail.row.status, detail.row.completed_at), (JobStatus::DeadLetter, Some(b.clock.now())));
    assert_eq!(detail.attempts.len(), 2);
}

pub async fn a_permanent_failure_is_failed(b: Bench) {
    let job = b.running().await;
    let answer = b.finish(&job.lease, permanent(ErrorClass::ValidationError)).await;
    assert_eq!(answer, FinishAnswer::Applied(JobStatus::Failed));
    let detail = b.detail(job.lease.number).await;
    assert_eq!((detail.row.status, detail.row.completed_at), (JobStatus::Failed, Some(NOW)));
    assert_eq!(
        (detail.error_class.as_deref(), detail.error_stack.as_deref()),
        (Some("validation_error"), Some("at line 1"))
    );
}

pub async fn the_same_code_again_is_quarantined(b: Bench) {
    let number = b.quarantined().await;
    let detail = b.detail(number).await;
    assert_eq!(detail.quarantined_at, Some(b.clock.now()));
    assert_eq!(detail.row.completed_at, Some(b.clock.now()));
    assert!(b.claim(1).await.is_empty(), "it never goes back by itself");
}

pub async fn a_timeout_is_named(b: Bench) {
    let job = b.running().await;
    let ending = Ending::Failed(Failure {
        timed_out: true,
        error_code: Some("timeout".into()),
        error_class: Some(ErrorClass::Timeout),
        message: "took too long".into(),
        ..Failure::default()
    });
    b.finish(&job.lease, ending).await;
    assert_eq!(b.detail(job.lease.number).await.attempts[0].outcome, AttemptOutcome::Timeout);
}

pub async fn the_failure_timeline_keeps_ten(b: Bench) {
    let number = b.create(NewJob { max_attempts: 100, ..b.job(b.a) }).await.number;
    for i in 0..12 {
        let job = b.next_attempt(number).await;
        b.fail(&job.lease, &format!("e{i}")).await;
    }
    let timeline = b.detail(number).await.failure_timeline;
    let codes: Vec<_> = timeline.iter().map(|m| m.error_code.clone().unwrap()).collect();
    assert_eq!(codes, ["e2", "e3", "e4", "e5", "e6", "e7", "e8", "e9", "e10", "e11"]);
    assert_eq!(timeline[9].retry_backoff, Some(30.0));
    assert_eq!(timeline[9].ts, b.clock.now());
}

pub async fn progress_survives_a_failure(b: Bench) {
    let job = b.running().await;
    let progress = leasehold_queue::params::Measured { percent: Some(40), ..Default::default() };
    let renewal =
        leasehold_queue::params::Renewal { progress: Some(progress), ..super::bench::renewal(&job.lease) };
    b.store.renew(vec![renewal]).await.unwrap();
    b.finish(&job.lease, permanent(ErrorClass::ValidationError)).await;
    assert_eq!(b.detail(job.lease.number).await.row.progress, 40);
}

pub async fn a_stale_finish_is_refused(b: Bench) {
    let job = b.running().await;
    for lease in [
        Lease { lease_id: LeaseId(Uuid::new_v4()), ..job.lease.clone() },
        Lease { worker_id: WorkerId("w2".into()), ..job.lease.clone() },
    ] {
        assert_eq!(b.finish(&lease, Ending::Completed).await, FinishAnswer::Stale);
        assert_eq!(b.finish(&lease, failed(Some("x"))).await, FinishAnswer::Stale);
    }
    assert_eq!(b.status(job.lease.number).await, JobStatus::Processing);
}

pub async fn a_second_completion_is_refused(b: Bench) {
    let job = b.running().await;
    b.finish(&job.lease, Ending::Completed).await;
    assert_eq!(b.finish(&job.lease, Ending::Completed).await, FinishAnswer::Stale);
    assert_eq!(b.finish(&job.lease, failed(None)).await, FinishAnswer::Stale);
    assert_eq!(b.detail(job.lease.number).await.attempts.len(), 1);
}

pub async fn the_same_token_is_already_done(b: Bench) {
    let job = b.running().await;
    let item = with_token(&job.lease, Ending::Completed, "t1");
    assert_eq!(b.finish_item(item.clone()).await, FinishAnswer::Applied(JobStatus::Completed));
    assert_eq!(b.finish_item(item).await, FinishAnswer::AlreadyDone(JobStatus::Completed));
    assert_eq!(b.kinds(job.lease.number).await, ["job.created", "job.started", "job.completed"]);
}

pub async fn another_token_is_stale(b: Bench) {
    let job = b.running().await;
    b.finish_item(with_token(&job.lease, Ending::Completed, "t1")).await;
    assert_eq!(b.finish_item(with_token(&job.lease, Ending::Completed, "t2")).await, FinishAnswer::Stale);
}

pub async fn a_failed_attempts_token_does_not_block_the_next(b: Bench) {
    let job = b.running().await;
    b.finish_item(with_token(&job.lease, failed(Some("x")), "t1")).await;
    let next = b.next_attempt(job.lease.number).await;
    let answer = b.finish_item(with_token(&next.lease, Ending::Completed, "t2")).await;
    assert_eq!(answer, FinishAnswer::Applied(JobStatus::Completed));
}

pub async fn a_repeated_failure_with_its_token_counts_once(b: Bench) {
    let job = b.running().await;
    let item = with_token(&job.lease, failed(Some("x")), "t1");
    b.finish_item(item.clone()).await;
    assert_eq!(b.finish_item(item).await, FinishAnswer::AlreadyDone(JobStatus::Queued));
    let detail = b.detail(job.lease.number).await;
    assert_eq!((detail.attempts.len(), detail.failure_timeline.len()), (1, 1));
}

pub async fn an_unknown_job_is_not_found(b: Bench) {
    let job = b.running().await;
    let unknown = Lease { number: 999_999, ..job.lease };
    assert_eq!(b.finish(&unknown, Ending::Completed).await, FinishAnswer::NotFound);
    assert_eq!(b.finish(&unknown, failed(None)).await, FinishAnswer::NotFound);
}

pub async fn a_mixed_batch_is_answered_in_order(b: Bench) {
    b.create_many(b.a, 4).await;
    let jobs = b.claim(4).await;
    let stale = Lease { lease_id: LeaseId(Uuid::new_v4()), ..jobs[3].lease.clone() };
    let answers = b
        .finish_all(vec![
            finish(&jobs[2].lease, permanent(ErrorClass::ValidationError)),
            finish(&stale, Ending::Completed),
            finish(&jobs[0].lease, Ending::Completed),
            finish(&jobs[1].lease, failed(Some("x"))),
        ])
        .await;
    assert_eq!(
        answers,
        [
            FinishAnswer::Applied(JobStatus::Failed),
            FinishAnswer::Stale,
            FinishAnswer::Applied(JobStatus::Completed),
            FinishAnswer::Applied(JobStatus::Queued),
        ]
    );
    assert_eq!(b.status(jobs[3].lease.number).await, JobStatus::Processing);
}

pub async fn twins_in_one_batch_apply_once(b: Bench) {
    let job = b.running().await;
    let item = finish(&job.lease, Ending::Completed);
    let answers = b.finish_all(vec![item.clone(), item]).await;
    assert_eq!(answers, [FinishAnswer::Applied(JobStatus::Completed), FinishAnswer::Stale]);
    assert_eq!(b.card(b.a).await.completed, 1);
    assert_eq!(b.detail(job.lease.number).await.attempts.len(), 1);
}

pub async fn a_stale_twin_does_not_shadow_the_holder(b: Bench) {
    for ending in [Ending::Completed, permanent(ErrorClass::ValidationError)] {
        let job = b.running().await;
        let other_lease = Lease { lease_id: LeaseId(Uuid::new_v4()), ..job.lease.clone() };
        let other_worker = Lease { worker_id: WorkerId("stranger".into()), ..job.lease.clone() };
        let answers = b
            .finish_all(vec![
                finish(&other_lease, Ending::Completed),
                finish(&other_worker, failed(Some("x"))),
                finish(&job.lease, ending),
                finish(&other_lease, Ending::Cancelled),
            ])
            .await;
        let status = b.status(job.lease.number).await;
        assert!(status.is_terminal(), "{status}");
        let (stale, applied) = (FinishAnswer::Stale, FinishAnswer::Applied(status));
        assert_eq!(answers, [stale, stale, applied, stale]);
        assert_eq!(b.detail(job.lease.number).await.attempts.len(), 1);
    }
}

pub async fn a_release_does_not_cost_an_attempt(b: Bench) {
    let number = b.create(NewJob { max_attempts: 1, ..b.job(b.a) }).await.number;
    let job = b.claim(1).await.remove(0);
    assert_eq!(b.finish(&job.lease, Ending::Released).await, FinishAnswer::Applied(JobStatus::Queued));
    let again = b.claim(1).await.remove(0);
    assert_eq!((again.lease.number, again.attempt), (number, 2), "numbers go on, the budget does not shrink");
    assert_eq!(b.fail(&again.lease, "x").await, FinishAnswer::Applied(JobStatus::DeadLetter));
    let outcomes: Vec<_> = b.detail(number).await.attempts.iter().map(|a| a.outcome).collect();
    assert_eq!(outcomes, [AttemptOutcome::Released, AttemptOutcome::Failed]);
}

/// Else it would stand among those that came while it was waiting for its time.
pub async fn a_released_job_keeps_its_time(b: Bench) {
    let due = NOW.plus_secs(10);
    let number = b.create(NewJob { available_at: Some(due), ..b.job(b.a) }).await.number;
    let before = b.create_many(b.a, 1).await.remove(0);
    b.wait(10);
    let claimed = b.claim(2).await;
    for job in &claimed {
        b.finish(&job.lease, Ending::Released).await;
    }
    assert_eq!(b.detail(number).await.row.available_at, Some(due));
    assert_eq!(b.detail(before).await.row.available_at, None);
    assert_eq!(b.claim_numbers(2).await, [before, number], "the order is that of before");
}

pub async fn an_internal_bug_raises_an_alert(b: Bench) {
    let job = b.running().await;
    b.finish(&job.lease, permanent(ErrorClass::InternalBug)).await;
    let kinds = b.kinds(job.lease.number).await;
    assert!(kinds.contains(&"job.failed") && kinds.contains(&"job.alert"), "{kinds:?}");
}

pub async fn errors_are_cleared_by_success(b: Bench) {
    let job = b.running().await;
    b.fail(&job.lease, "x").await;
    let next = b.next_attempt(job.lease.number).await;
    b.finish(&next.lease, Ending::Completed).await;
    let detail = b.detail(job.lease.number).await;
    assert_eq!((detail.row.error_code, detail.error_message, detail.error_class), (None, None, None));
    assert_eq!(detail.failure_timeline.len(), 1, "history stays");
}

pub async fn endings_are_announced(b: Bench) {
    for (ending, kind) in [
        (Ending::Completed, "job.completed"),
        (failed(Some("x")), "job.retrying"),
        (permanent(ErrorClass::ValidationError), "job.failed"),
        (Ending::Cancelled, "job.cancelled"),
    ] {
        let job = b.running().await;
        b.finish(&job.lease, ending).await;
        let events = b.events().await;
        let last = &events.last().unwrap().event;
        assert_eq!((last.kind.as_str(), last.number, last.attempt), (kind, job.lease.number, 1));
        let _ = b.store.cancel(&b.ann(), JobRef::Number(job.lease.number), Some("out of the way")).await;
    }
}

pub async fn stale_finishes_change_nothing(b: Bench) {
    let job = b.running().await;
    b.wait(61);
    b.store.reclaim_expired(&rules(), 10).await.unwrap();
    let before = (b.detail(job.lease.number).await, b.events().await.len(), b.card(b.a).await);
    assert_eq!(b.finish(&job.lease, Ending::Completed).await, FinishAnswer::Stale);
    assert_eq!(b.fail(&job.lease, "late").await, FinishAnswer::Stale);
    let after = (b.detail(job.lease.number).await, b.events().await.len(), b.card(b.a).await);
    assert_eq!(before, after);
}

pub async fn queued_at_moves_with_a_retry(b: Bench) {
    let job = b.running().await;
    b.wait(9);
    b.fail(&job.lease, "x").await;
    let detail = b.detail(job.lease.number).await;
    assert_eq!((detail.queued_at, detail.row.created_at), (NOW.plus_secs(9), NOW));
}

pub async fn an_expired_lease_may_still_finish(b: Bench) {
    let job = b.running().await;
    b.wait(3_000);
    assert_eq!(b.finish(&job.lease, Ending::Completed).await, FinishAnswer::Applied(JobStatus::Completed));
}

pub async fn dedupe_is_released_on_every_end(b: Bench) {
    let rules = Rules { quarantine_threshold: 1, ..rules() };
    for ending in
        [Ending::Completed, permanent(ErrorClass::ValidationError), Ending::Cancelled, failed(Some("x"))]
    {
        let job = b.running_with(|j| j.dedupe_key = Some("d".into())).await;
        b.store.finish(&rules, vec![finish(&job.lease, ending)]).await.unwrap();
        assert!(b.status(job.lease.number).await.is_finished());
    }
    let last = b.create(NewJob { dedupe_key: Some("d".into()), ..b.job(b.a) }).await;
    assert_eq!(last.how, HowCreated::Inserted);
}
