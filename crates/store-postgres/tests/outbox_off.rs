//! A store without its outbox does everything but tell.

mod common;

use leasehold_conformance::{Bench, NOW};
use leasehold_queue::prelude::*;
use leasehold_queue::{
    Clock, Scope, Steering, Upkeep,
    bulk::{BulkAction, BulkRequest},
    params::{Measured, NewLogLine, Renewal},
    transition::{Ending, Rules},
    upkeep::{TtlAction, TtlRule},
};
use leasehold_store_postgres::{Options, PostgresStore};
use leasehold_types::{JobFilter, JobRef, JobStatus, LogStream, PageRequest};
use sqlx::{Connection, PgConnection};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_verb_writes_an_event() {
    let clock = Clock::frozen(NOW);
    let (_, url) = common::fresh_store(clock.clone()).await;
    let options = Options { outbox: false, ..Options::default() };
    let store = PostgresStore::connect(&url, clock.clone(), options).await.unwrap();
    let b = Bench::new(store.clone(), clock).await;

    let parked = b.quarantined().await;
    store.requeue(&b.ann(), JobRef::Number(parked), None).await.unwrap();
    b.create_many(b.a, 5).await;
    let jobs = b.claim(4).await;
    let progress = Measured { percent: Some(40), stage: Some("half".into()), ..Measured::default() };
    let renewal = Renewal {
        lease: jobs[0].lease.clone(),
        extend_by: Duration::from_secs(60),
        progress: Some(progress),
        pid: None,
        checkpoint: None,
    };
    store.renew(vec![renewal]).await.unwrap();
    let line = NewLogLine { seq: 1, stream: LogStream::Stdout, text: "hello".into(), at: NOW };
    assert!(store.append_logs(&jobs[0].lease, jobs[0].attempt, vec![line]).await.unwrap());
    b.finish(&jobs[0].lease, Ending::Completed).await;
    b.fail(&jobs[1].lease, "x").await;
    store.cancel(&b.ann(), JobRef::Number(jobs[2].lease.number), None).await.unwrap();
    b.wait(61);
    assert_eq!(store.reclaim_expired(&Rules::default(), 1).await.unwrap().len(), 1);
    for action in [
        BulkAction::Reschedule { at: None },
        BulkAction::Cancel,
        BulkAction::Retry,
        BulkAction::Prune { archive: true },
    ] {
        let request = BulkRequest { action, filter: JobFilter::default(), reason: "r".into(), top_groups: 1 };
        let plan = b.store.plan_bulk(&b.ann(), request).await.unwrap();
        b.apply_chunk(&b.ann(), plan.id, 100).await.unwrap();
    }
    b.wait(1_000);
    let (queued_for, running_for) = (Some(Duration::from_secs(1)), Some(Duration::from_secs(1)));
    let rule = TtlRule {
        queued_for,
        running_for,
        action: TtlAction::Fail,
        domain: None,
        queue: None,
        job_type: None,
    };
    assert!(store.sweep_ttl(&Scope::system("sweeper"), &rule, 100).await.unwrap().queued > 0);

    let mut direct = PgConnection::connect(&url).await.unwrap();
    let events: i64 =
        sqlx::query_scalar("SELECT count(*) FROM job_events").fetch_one(&mut direct).await.unwrap();
    assert_eq!(events, 0);
    let page = store.list(&b.ann(), &JobFilter::default(), PageRequest::default()).await.unwrap();
    assert_eq!(page.cursor, 0);
    assert!(page.rows.iter().any(|row| row.status == JobStatus::Failed));
    assert_eq!(store.recount().await.unwrap(), 0, "the counters move all the same");
}
