//! Jobs that a worker cannot run now: they wait, and nothing is held against them.

use super::bench::Bench;
use leasehold_queue::{
    params::{FinishAnswer, NewJob},
    transition::{Ending, Snooze},
};
use leasehold_types::{AttemptOutcome, JobStatus};
use std::time::Duration;

pub async fn a_snoozed_job_waits_and_costs_no_attempt(b: Bench) {
    let number = b.create(NewJob { max_attempts: 1, ..b.job(b.a) }).await.number;
    for round in 1..=3 {
        let job = b.claim(1).await.remove(0);
        assert_eq!((job.lease.number, job.attempt), (number, round));
        let wait = Duration::from_secs(9);
        let snooze = Snooze { error_code: "not_here".into(), message: "It belongs elsewhere.".into(), wait };
        let answer = b.finish(&job.lease, Ending::Snoozed(snooze)).await;
        assert_eq!(answer, FinishAnswer::Applied(JobStatus::Queued));
        assert!(b.claim(1).await.is_empty(), "not before its time");
        let detail = b.detail(number).await;
        assert_eq!((detail.row.attempts_used, detail.row.error_code.as_deref()), (0, Some("not_here")));
        assert_eq!(detail.row.available_at, Some(b.clock.now().plus_secs(9)));
        assert_eq!(detail.failure_timeline, [], "nothing failed");
        let attempt = detail.attempts.last().unwrap();
        assert_eq!(attempt.outcome, AttemptOutcome::Released);
        assert_eq!(attempt.error_text.as_deref(), Some("It belongs elsewhere."));
        b.wait(9);
    }
    let told = b.events().await.into_iter().filter(|e| e.event.error_code.as_deref() == Some("not_here"));
    assert_eq!(told.map(|e| e.event.retry_at).collect::<Vec<_>>(), [None; 3], "it is no retry");
    let job = b.claim(1).await.remove(0);
    assert_eq!(b.finish(&job.lease, Ending::Completed).await, FinishAnswer::Applied(JobStatus::Completed));
    assert_eq!(b.detail(number).await.row.error_code, None);
}
