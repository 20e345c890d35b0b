//! Lines a command printed.

use super::bench::{Bench, NOW};
use leasehold_queue::{
    params::{ClaimedJob, NewLogLine},
    transition::Ending,
};
use leasehold_types::{JobRef, LogStream};

impl Bench {
    async fn log(&self, job: &ClaimedJob, seqs: std::ops::Range<i64>) -> bool {
        let lines = seqs
            .map(|seq| NewLogLine { seq, stream: LogStream::Stdout, text: format!("line {seq}"), at: NOW })
            .collect();
        self.store.append_logs(&job.lease, job.attempt, lines).await.unwrap()
    }

    async fn lines(&self, number: i64, after: i64, limit: u32) -> Vec<String> {
        let lines = self.store.logs(&self.ann(), JobRef::Number(number), 1, after, limit).await.unwrap();
        lines.into_iter().map(|l| l.text).collect()
    }
}

pub async fn lines_are_kept_in_order(b: Bench) {
    let job = b.running().await;
    assert!(b.log(&job, 1..3).await && b.log(&job, 3..5).await);
    assert_eq!(b.lines(job.lease.number, 0, 10).await, ["line 1", "line 2", "line 3", "line 4"]);
    let first = &b.store.logs(&b.ann(), JobRef::Number(job.lease.number), 1, 0, 1).await.unwrap()[0];
    assert_eq!((first.seq, first.at, first.stream), (1, NOW, LogStream::Stdout));
}

pub async fn lines_are_read_after_a_position(b: Bench) {
    let job = b.running().await;
    b.log(&job, 1..10).await;
    assert_eq!(b.lines(job.lease.number, 7, 10).await, ["line 8", "line 9"]);
    assert_eq!(b.lines(job.lease.number, 2, 2).await, ["line 3", "line 4"]);
}

pub async fn a_repeated_line_is_kept_once(b: Bench) {
    let job = b.running().await;
    b.log(&job, 1..4).await;
    assert!(b.log(&job, 2..6).await);
    assert_eq!(b.lines(job.lease.number, 0, 10).await.len(), 5);
}

pub async fn lines_need_the_lease(b: Bench) {
    let job = b.running().await;
    b.finish(&job.lease, Ending::Completed).await;
    assert!(!b.log(&job, 1..2).await);
    assert!(b.lines(job.lease.number, 0, 10).await.is_empty());
}

pub async fn lines_are_announced_once_per_call(b: Bench) {
    let job = b.running().await;
    b.log(&job, 1..50).await;
    assert_eq!(b.kinds(job.lease.number).await, ["job.created", "job.started", "job.log"]);
}

pub async fn foreign_lines_are_not_read(b: Bench) {
    let job = b.running().await;
    b.log(&job, 1..3).await;
    let theirs = b.store.logs(&b.bob(), JobRef::Number(job.lease.number), 1, 0, 10).await.unwrap();
    assert!(theirs.is_empty());
}

pub async fn the_page_shows_the_newest_lines(b: Bench) {
    let job = b.running().await;
    b.log(&job, 1..251).await;
    let attempt = b.detail(job.lease.number).await.attempts.remove(0);
    assert_eq!((attempt.logs.len(), attempt.logs[0].seq, attempt.logs[99].seq), (100, 151, 250));
}
