//! The jobs table: filters, pages, counts.

use super::bench::{Bench, NOW};
use leasehold_queue::{params::NewJob, scope::Scope, transition::Ending};
use leasehold_types::{JobFilter, JobStatus, PageRequest, Source, view::JobsPage};

impl Bench {
    async fn list(&self, filter: JobFilter) -> JobsPage {
        self.store.list(&self.ann(), &filter, PageRequest::default()).await.unwrap()
    }

    async fn numbers(&self, filter: JobFilter) -> Vec<i64> {
        self.list(filter).await.rows.into_iter().map(|r| r.number).collect()
    }
}

fn text(q: &str) -> JobFilter {
    JobFilter { q: Some(q.into()), ..JobFilter::default() }
}

pub async fn newest_first(b: Bench) {
    let mut numbers = b.create_many(b.a, 5).await;
    numbers.reverse();
    assert_eq!(b.numbers(JobFilter::default()).await, numbers);
}

pub async fn pages_follow_each_other_without_gap(b: Bench) {
    let mut expected = b.create_many(b.a, 25).await;
    for job in b.claim(9).await {
        b.finish(&job.lease, Ending::Completed).await;
    }
    expected.reverse();
    let mut seen = Vec::new();
    let mut before = None;
    loop {
        let page = PageRequest { before, limit: 10 };
        let page = b.store.list(&b.ann(), &JobFilter::default(), page).await.unwrap();
        assert!(page.rows.len() <= 10);
        seen.extend(page.rows.iter().map(|r| r.number));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(seen, expected);
}

pub async fn statuses_narrow_the_list(b: Bench) {
    let numbers = b.create_many(b.a, 4).await;
    let jobs = b.claim(2).await;
    b.finish(&jobs[0].lease, Ending::Completed).await;
    let of = |statuses: &[JobStatus]| JobFilter { statuses: statuses.to_vec(), ..JobFilter::default() };
    assert_eq!(b.numbers(of(&[JobStatus::Completed])).await, [numbers[0]]);
    assert_eq!(b.numbers(of(&[JobStatus::Completed, JobStatus::Processing])).await, [numbers[1], numbers[0]]);
    assert!(b.numbers(of(&[JobStatus::Failed])).await.is_empty());
}

pub async fn other_filters_narrow_the_list(b: Bench) {
    b.create(b.job(b.a)).await;
    let special = NewJob {
        queue: "high".into(),
        domain: "decks".into(),
        job_type: "export".into(),
        definition_id: None,
        source: Source::Schedule,
        owner_user_id: Some("u1".into()),
        ..b.job(b.a)
    };
    let special = b.create(special).await.number;
    for filter in [
        JobFilter { queue: Some("high".into()), ..JobFilter::default() },
        JobFilter { domain: Some("decks".into()), ..JobFilter::default() },
        JobFilter { job_type: Some("export".into()), ..JobFilter::default() },
        JobFilter { source: Some(Source::Schedule), ..JobFilter::default() },
        JobFilter { owner_user_id: Some("u1".into()), ..JobFilter::default() },
    ] {
        assert_eq!(b.numbers(filter.clone()).await, [special], "{filter:?}");
    }
}

pub async fn text_finds_numbers_types_and_errors(b: Bench) {
    let job = b.running().await;
    b.fail(&job.lease, "provider_401").await;
    b.create(NewJob { job_type: "other".into(), definition_id: None, ..b.job(b.a) }).await;
    let number = job.lease.number;
    for q in
        [format!("{number}"), format!("#{number}"), "impor".into(), "provider_4".into(), job.id.to_string()]
    {
        assert_eq!(b.numbers(text(&q)).await, [number], "{q}");
    }
}

pub async fn lists_stay_within_the_tenant(b: Bench) {
    b.create_many(b.b, 3).await;
    assert!(b.numbers(JobFilter::default()).await.is_empty());
    assert_eq!(b.list(JobFilter::default()).await.matching.count, 0);
}

pub async fn a_system_scope_sees_all_tenants(b: Bench) {
    b.create_many(b.a, 2).await;
    b.create_many(b.b, 3).await;
    let page =
        b.store.list(&Scope::system("test"), &JobFilter::default(), PageRequest::default()).await.unwrap();
    assert_eq!(page.rows.len(), 5);
    assert!(page.rows.windows(2).all(|w| w[0].number > w[1].number));
}

pub async fn times_narrow_the_list(b: Bench) {
    b.create(b.job(b.a)).await;
    b.wait(100);
    let late = b.create(b.job(b.a)).await.number;
    let after = JobFilter { created_after: Some(NOW.plus_secs(50)), ..JobFilter::default() };
    assert_eq!(b.numbers(after).await, [late]);
    let before = JobFilter { created_before: Some(NOW.plus_secs(50)), ..JobFilter::default() };
    assert_eq!(b.numbers(before).await.len(), 1);
}

pub async fn the_count_matches_the_filter(b: Bench) {
    b.create_many(b.a, 60).await;
    b.claim(7).await;
    let running = JobFilter { statuses: vec![JobStatus::Processing], ..JobFilter::default() };
    let page = b.list(running).await;
    assert_eq!((page.matching.count, page.matching.capped), (7, false));
    assert_eq!(b.list(JobFilter::default()).await.matching.count, 60);
    assert_eq!(b.list(text("impor")).await.matching.count, 60);
}

pub async fn wildcards_are_plain_text(b: Bench) {
    b.create_many(b.a, 2).await;
    for q in ["%", "_mport", "imp%rt", "'", "\\"] {
        assert!(b.numbers(text(q)).await.is_empty(), "{q}");
    }
}
