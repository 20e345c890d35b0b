//! Figures: what `/metrics` is made of.

use super::bench::{Bench, LEASE, NOW};
use leasehold_queue::{figures::Kindred, scope::Scope, transition::Ending};
use leasehold_types::{JobStatus, LiveKind, TenantId};

fn everyone() -> Scope {
    Scope::system("test")
}

fn imports_of(tenant_id: TenantId) -> Kindred {
    let word = |text: &str| text.to_owned();
    Kindred { tenant_id, domain: word("commands"), queue: word("default"), job_type: word("import") }
}

pub async fn jobs_are_counted_by_kind_and_state(b: Bench) {
    b.create_many(b.a, 3).await;
    b.create_many(b.b, 1).await;
    let job = b.claim(1).await.remove(0);
    let of_a = |status, jobs| (imports_of(b.a), status, jobs);
    let mut mine = b.store.job_counts(&b.ann()).await.unwrap();
    mine.sort();
    let running_in_a = i64::from(job.tenant_id == b.a);
    assert_eq!(
        mine.iter().find(|(_, s, _)| *s == JobStatus::Queued),
        Some(&of_a(JobStatus::Queued, 3 - running_in_a))
    );
    assert!(mine.iter().all(|(kind, ..)| kind.tenant_id == b.a), "{mine:?}");
    let all = b.store.job_counts(&everyone()).await.unwrap();
    assert_eq!(all.iter().map(|(_, _, jobs)| jobs).sum::<i64>(), 4);
    b.store.fold_counters().await.unwrap();
    assert_eq!(b.store.job_counts(&everyone()).await.unwrap().len(), all.len());
}

pub async fn a_state_without_jobs_is_left_out(b: Bench) {
    let job = b.running().await;
    b.finish(&job.lease, Ending::Completed).await;
    let counts = b.store.job_counts(&everyone()).await.unwrap();
    assert_eq!(counts, [(imports_of(b.a), JobStatus::Completed, 1)]);
}

pub async fn jobs_that_wait_for_a_time_are_counted_up_to_a_limit(b: Bench) {
    b.create_many(b.a, 2).await;
    for seconds in [10, 20, 30] {
        let mut job = b.job(b.a);
        job.available_at = Some(NOW.plus_secs(seconds));
        b.create(job).await;
    }
    let counted = async |most| b.store.scheduled_counts(&everyone(), most).await.unwrap();
    assert_eq!(counted(100).await, [(imports_of(b.a), 3)]);
    assert_eq!(counted(2).await, [(imports_of(b.a), 2)]);
    assert!(b.store.scheduled_counts(&b.bob(), 100).await.unwrap().is_empty());
    b.wait(15);
    assert_eq!(counted(100).await, [(imports_of(b.a), 2)]);
}

pub async fn running_jobs_tell_when_their_lease_ends(b: Bench) {
    b.running().await;
    let leases = b.store.running_leases(&everyone(), 10).await.unwrap();
    assert_eq!(leases, [(imports_of(b.a), NOW.plus(LEASE))]);
    assert!(b.store.running_leases(&b.bob(), 10).await.unwrap().is_empty());
    assert!(b.store.running_leases(&everyone(), 0).await.unwrap().is_empty());
}

pub async fn times_of_a_job_are_those_of_its_row(b: Bench) {
    let waiting = b.create(b.job(b.a)).await.number;
    b.wait(5);
    let job = b.claim(1).await.remove(0);
    let times = b.store.job_times(&[waiting, 999_999]).await.unwrap();
    assert_eq!(times.len(), 1);
    let found = &times[0];
    assert_eq!((found.number, found.created_at, found.trace_id.as_str()), (job.lease.number, NOW, "trace"));
    assert_eq!((found.started_at, found.acquired_at), (Some(NOW.plus_secs(5)), Some(NOW.plus_secs(5))));
}

pub async fn recent_runs_tell_how_long_jobs_waited_and_ran(b: Bench) {
    let mut new = b.job(b.a);
    new.owner_user_id = Some("u7".into());
    b.create(new).await;
    b.wait(3);
    let job = b.claim(1).await.remove(0);
    b.wait(4);
    b.finish(&job.lease, Ending::Completed).await;
    let runs = b.store.recent_runs(&everyone(), NOW, 10).await.unwrap();
    assert_eq!(runs.len(), 1);
    let run = &runs[0];
    assert_eq!((run.kind.clone(), run.owner_user_id.as_deref()), (imports_of(b.a), Some("u7")));
    assert_eq!((run.queue_latency_seconds, run.duration_seconds), (3.0, 4.0));
    assert!(b.store.recent_runs(&everyone(), NOW.plus_secs(8), 10).await.unwrap().is_empty());
    assert!(b.store.recent_runs(&b.bob(), NOW, 10).await.unwrap().is_empty());
}

pub async fn a_failure_names_its_class_and_the_next_try(b: Bench) {
    let job = b.running().await;
    let failure = leasehold_queue::transition::Failure {
        error_code: Some("net".into()),
        error_class: Some(leasehold_types::ErrorClass::NetworkTimeout),
        message: "no answer".into(),
        ..leasehold_queue::transition::Failure::default()
    };
    b.finish(&job.lease, Ending::Failed(failure)).await;
    let event = b.events().await.pop().unwrap().event;
    assert_eq!(event.kind, LiveKind::Retrying);
    assert_eq!(event.error_class.as_deref(), Some("network_timeout"));
    assert_eq!(event.retry_at, Some(NOW.plus_secs(2)));
}

pub async fn pools_are_never_fuller_than_they_may_be(b: Bench) {
    b.create_many(b.a, 1).await;
    let pools = b.store.pools();
    assert_eq!(pools.len(), 2);
    assert!(pools.iter().all(|p| p.in_use + p.idle <= p.most), "{pools:?}");
}
