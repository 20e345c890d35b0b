//! What programs ask for: lists in any order, counts by kind, many jobs together.

use super::bench::{Bench, NOW};
use leasehold_queue::{
    engine::{Engine, EngineConfig},
    params::NewJob,
    scope::Scope,
    transition::Ending,
};
use leasehold_types::{
    JobFilter, JobRef, JobStatus, PayloadMatch,
    browse::{Browse, KindCounts, KindFilter, Mark, SortBy, SortOrder, Sorting},
};
use serde_json::{Value, json};

impl Bench {
    /// Follows the pages to their end.
    async fn walk(&self, scope: &Scope, filter: &JobFilter, sorting: Sorting) -> Vec<Mark> {
        let mut seen: Vec<Mark> = Vec::new();
        let mut page = Browse { sorting, limit: 4, ..Browse::default() };
        for _ in 0..100 {
            let found = self.store.browse(scope, filter, page).await.unwrap();
            assert!(found.jobs.len() <= 4);
            seen.extend(found.jobs.iter().map(|job| Mark::of(&job.row)));
            if !found.more {
                return seen;
            }
            page.after = seen.last().copied();
        }
        panic!("the pages do not end: {seen:?}")
    }

    /// The numbers of tenant A's jobs with this in their payload.
    async fn with_payload(&self, path: &[&str], value: &str) -> Vec<i64> {
        let path = path.iter().map(|name| (*name).to_owned()).collect();
        let payload = vec![PayloadMatch { path, value: value.to_owned() }];
        let filter = JobFilter { payload, ..JobFilter::default() };
        let found = self.store.browse(&self.ann(), &filter, Browse::default()).await.unwrap();
        assert_eq!(found.matching.count as usize, found.jobs.len());
        found.jobs.iter().map(|job| job.row.number).collect()
    }

    async fn counted(&self, scope: &Scope, filter: KindFilter) -> Vec<KindCounts> {
        self.store.kind_counts(scope, &filter).await.unwrap()
    }

    /// Jobs of tenant A in several states and priorities, and some of tenant B.
    async fn mixed_jobs(&self) {
        for n in 0..23 {
            let priority = [5, 900, 100][n % 3];
            self.create(NewJob { priority, ..self.job(self.a) }).await;
        }
        for job in self.claim(9).await.iter().take(6) {
            self.finish(&job.lease, Ending::Completed).await;
        }
        let queued = JobFilter { statuses: vec![JobStatus::Queued], ..JobFilter::default() };
        let some =
            self.store.browse(&self.ann(), &queued, Browse { limit: 3, ..Browse::default() }).await.unwrap();
        for job in some.jobs {
            self.store.cancel(&self.ann(), JobRef::Number(job.row.number), Some("why")).await.unwrap();
        }
        self.create_many(self.b, 3).await;
    }
}

fn sorted(mut marks: Vec<Mark>, sorting: Sorting) -> Vec<Mark> {
    marks.sort_by_key(|mark| match sorting.by {
        SortBy::CreatedAt => (0, mark.number),
        SortBy::Priority => (i64::from(mark.priority), mark.number),
        SortBy::Status => (mark.status as i64, mark.number),
    });
    if sorting.is_descending() {
        marks.reverse();
    }
    marks
}

pub async fn every_order_shows_every_job_once(b: Bench) {
    b.mixed_jobs().await;
    let some = JobFilter { statuses: vec![JobStatus::Completed, JobStatus::Queued], ..JobFilter::default() };
    let searched = JobFilter { q: Some("impor".into()), ..JobFilter::default() };
    for (scope, filter, expected) in [
        (b.ann(), JobFilter::default(), 23),
        (b.ann(), some, 17),
        (b.ann(), searched, 23),
        (b.bob(), JobFilter::default(), 3),
        (Scope::system("test"), JobFilter::default(), 26),
    ] {
        let first = b.walk(&scope, &filter, Sorting::default()).await;
        assert_eq!(first.len(), expected, "{filter:?}");
        for by in SortBy::ALL {
            for order in SortOrder::ALL {
                let sorting = Sorting { by: *by, order: *order };
                let walked = b.walk(&scope, &filter, sorting).await;
                assert_eq!(walked, sorted(first.clone(), sorting), "{sorting:?} {filter:?}");
            }
        }
    }
}

pub async fn jobs_are_skipped_and_counted(b: Bench) {
    b.mixed_jobs().await;
    for by in SortBy::ALL {
        let sorting = Sorting { by: *by, order: SortOrder::Ascending };
        let all = b.walk(&b.ann(), &JobFilter::default(), sorting).await;
        let page = Browse { sorting, skip: 20, limit: 2, after: None };
        let found = b.store.browse(&b.ann(), &JobFilter::default(), page).await.unwrap();
        let numbers: Vec<_> = found.jobs.iter().map(|job| job.row.number).collect();
        assert_eq!(numbers, [all[20].number, all[21].number], "{by}");
        assert!(found.more && found.matching.count == 23 && !found.matching.capped);
        let last =
            b.store.browse(&b.ann(), &JobFilter::default(), Browse { skip: 22, ..page }).await.unwrap();
        assert!(last.jobs.len() == 1 && !last.more);
    }
}

pub async fn a_listed_job_says_whose_it_is(b: Bench) {
    let job = NewJob { owner_user_id: Some("u7".into()), correlation_id: Some("c".into()), ..b.job(b.a) };
    let number = b.create(job).await.number;
    b.create(NewJob { definition_id: None, ..b.job(b.a) }).await;
    let filter = JobFilter { definition_key: Some("import".into()), ..JobFilter::default() };
    let found = b.store.browse(&b.ann(), &filter, Browse::default()).await.unwrap();
    let [job] = &found.jobs[..] else { panic!("{found:?}") };
    assert_eq!((job.row.number, job.tenant_id), (number, b.a));
    assert_eq!(job.definition_key.as_deref(), Some("import"));
    assert_eq!((job.owner_user_id.as_deref(), job.correlation_id.as_deref()), (Some("u7"), Some("c")));
    let unknown = JobFilter { definition_key: Some("nothing".into()), ..JobFilter::default() };
    assert!(b.store.browse(&b.ann(), &unknown, Browse::default()).await.unwrap().jobs.is_empty());
}

pub async fn jobs_are_found_by_their_payload(b: Bench) {
    let job = |payload: Value| NewJob { payload, ..b.job(b.a) };
    let number =
        b.create(job(json!({"rows": 3, "deep": {"er": {"flag": true}}, "odd key.x": "é'%"}))).await.number;
    let text = b.create(job(json!({"rows": "3", "deep": {"er": 1.5}, "none": null}))).await.number;
    let real = b.create(job(json!({"rows": 3.0, "deep": [{"er": 1}], "flag": "true"}))).await.number;
    b.create(NewJob { payload: json!({"rows": 3}), ..b.job(b.b) }).await;
    assert_eq!(b.with_payload(&["rows"], "3").await, [real, text, number]);
    assert_eq!(b.with_payload(&["rows"], "3.0").await, [real, number], "numbers are equal, words are not");
    assert_eq!(b.with_payload(&["deep", "er", "flag"], "true").await, [number]);
    assert_eq!(b.with_payload(&["flag"], "true").await, [real]);
    assert_eq!(b.with_payload(&["deep", "er"], "1.5").await, [text]);
    assert_eq!(b.with_payload(&["none"], "null").await, [text]);
    assert_eq!(b.with_payload(&["odd key.x"], "é'%").await, [number]);
    for (path, value) in [
        (vec!["rows"], "4"),
        (vec!["rows"], ""),
        (vec!["deep"], "{}"),
        (vec!["missing"], "3"),
        (vec!["missing"], "null"),
        (vec!["rows", "deeper"], "3"),
        (vec!["deep", "0", "er"], "1"),
        (vec!["rows"], "nan"),
    ] {
        assert!(b.with_payload(&path, value).await.is_empty(), "{path:?} {value}");
    }
}

pub async fn kinds_are_counted_by_where_they_stand(b: Bench) {
    let later = Some(NOW.plus_secs(60));
    b.create(b.job(b.a)).await;
    b.wait(10);
    b.create_many(b.a, 3).await;
    b.create(NewJob { available_at: later, ..b.job(b.a) }).await;
    b.create(NewJob { available_at: later, priority: 7, ..b.job(b.a) }).await;
    b.create(NewJob { queue: "high".into(), ..b.job(b.a) }).await;
    b.create_many(b.b, 2).await;
    let [job] = &b.claim(1).await[..] else { panic!("nothing ready") };
    b.finish(&job.lease, Ending::Completed).await;
    let kinds = b.counted(&b.ann(), KindFilter::default()).await;
    let total: i64 = kinds.iter().map(|k| k.queued + k.scheduled + k.processing + k.completed).sum();
    assert_eq!((kinds.len(), total), (2, 7), "{kinds:?}");
    let of = |queue: &str| KindFilter { queue: Some(queue.into()), ..KindFilter::default() };
    let default = b.counted(&b.ann(), of("default")).await.remove(0);
    assert_eq!((default.domain.as_str(), default.job_type.as_str()), ("commands", "import"));
    assert_eq!(default.scheduled, 2);
    assert!(default.oldest_queued_at.is_some_and(|at| at <= NOW.plus_secs(10)));
    let everybody = b.counted(&Scope::system("test"), of("default")).await.remove(0);
    let theirs = b.counted(&b.bob(), of("default")).await.remove(0);
    assert_eq!(everybody.queued, default.queued + theirs.queued);
    assert!(b.counted(&b.ann(), of("low")).await.is_empty());
    b.wait(100);
    assert_eq!(b.counted(&b.ann(), of("default")).await[0].scheduled, 0);
    b.store.fold_counters().await.unwrap();
    assert_eq!(b.counted(&b.bob(), of("default")).await.remove(0), theirs);
}

pub async fn a_retry_belongs_to_the_same_owner(b: Bench) {
    let engine = Engine::new(b.store.clone(), b.clock.clone(), EngineConfig::default());
    let old = NewJob { owner_user_id: Some("u7".into()), project_id: Some(4), ..b.job(b.a) };
    b.create(old).await;
    let job = b.claim(1).await.remove(0);
    b.finish(&job.lease, Ending::Cancelled).await;
    let new = engine.retry(&b.ann(), JobRef::Number(job.lease.number)).await.unwrap();
    let detail = b.detail(new.number).await;
    assert_eq!((detail.owner_user_id.as_deref(), detail.project_id), (Some("u7"), Some(4)));
    assert_eq!(detail.parent.map(|parent| parent.number), Some(job.lease.number));
}
