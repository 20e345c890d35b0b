//! How events change what is on screen. Pure, so it can be tested without a browser.

use leasehold_types::{
    JobFilter, JobStatus, LiveEvent, LiveKind, Timestamp,
    view::{JobRow, JobsPage},
};
use leptos::prelude::*;
use std::collections::BTreeSet;

/// More new jobs than this are not told apart.
const COUNTED: usize = 10_000;

#[derive(Clone, PartialEq, Debug)]
pub struct Screen {
    pub rows: Vec<JobRow>,
    pub now: Timestamp,
    /// Jobs that would be on this page if it were loaded again.
    pub fresh: BTreeSet<i64>,
    filter: JobFilter,
    first_page: bool,
}

impl Screen {
    pub fn new(page: JobsPage, filter: JobFilter, first_page: bool) -> Self {
        Self { rows: page.rows, now: page.now, fresh: BTreeSet::new(), filter, first_page }
    }

    pub fn hear(&mut self, event: &LiveEvent) {
        match self.rows.iter_mut().find(|row| row.number == event.number) {
            Some(row) => change(row, event),
            None if event.kind.moves_state() => self.announce(event),
            None => {}
        }
    }

    /// Free text cannot be judged here, so such a list announces nothing.
    fn announce(&mut self, event: &LiveEvent) {
        let filter = &self.filter;
        let same = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|w| w == is);
        let matches = filter.q.is_none()
            && (filter.statuses.is_empty() || filter.statuses.contains(&event.status))
            && same(&filter.job_type, &event.job_type)
            && same(&filter.queue, &event.queue)
            && same(&filter.domain, &event.domain);
        let newer = self.rows.first().is_none_or(|top| event.number > top.number);
        if self.first_page && matches && newer && self.fresh.len() < COUNTED {
            self.fresh.insert(event.number);
        } else if !matches {
            self.fresh.remove(&event.number);
        }
    }

    /// A fresh reading: rows on screen take their new values, others are announced.
    pub fn reread(&mut self, page: JobsPage) {
        self.now = page.now;
        let top = self.rows.first().map_or(0, |row| row.number);
        for fresh in page.rows {
            match self.rows.iter_mut().find(|row| row.number == fresh.number) {
                Some(row) => *row = fresh,
                None if self.first_page && fresh.number > top => {
                    self.fresh.insert(fresh.number);
                }
                None => {}
            }
        }
    }
}

fn change(row: &mut JobRow, event: &LiveEvent) {
    row.status = event.status;
    row.attempt_count = row.attempt_count.max(event.attempt);
    row.progress = row.progress.max(event.progress);
    if event.kind == LiveKind::Log {
        return;
    }
    if event.stage.is_some() {
        row.stage.clone_from(&event.stage);
    }
    match event.kind {
        LiveKind::Started => {
            row.started_at = row.started_at.or(Some(event.at));
            row.acquired_at = Some(event.at);
            row.worker_id.clone_from(&event.worker);
            row.error_code = None;
        }
        LiveKind::CancelRequested => row.cancel_requested_at = Some(event.at),
        _ => {}
    }
    if event.status != JobStatus::Processing {
        row.cancel_requested_at = None;
        row.worker_id = None;
        row.completed_at = event.status.is_finished().then_some(event.at);
    }
    if event.error_code.is_some() {
        row.error_code.clone_from(&event.error_code);
    }
}

#[cfg(not(feature = "hydrate"))]
pub fn follow(_slug: &str, _query: &str, _cursor: i64, _screen: RwSignal<Screen>) {}

#[cfg(feature = "hydrate")]
pub fn follow(slug: &str, query: &str, cursor: i64, screen: RwSignal<Screen>) {
    use crate::{
        islands::live::{self, Heard, again::Again},
        jobs::reads::jobs_page,
    };
    use std::time::Duration;

    let (for_read, query) = (slug.to_owned(), query.to_owned());
    let read = Again::new(Duration::from_millis(500), move || {
        let (slug, query) = (for_read.clone(), query.clone());
        async move {
            if let Ok(page) = jobs_page(slug, query).await {
                screen.update(|s| s.reread(page));
            }
        }
    });
    live::listen(slug, cursor, move |heard| match heard {
        Heard::Event(event) => screen.update(|s| s.hear(event)),
        Heard::Resync => read.soon(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::timeline::tests::{at, job};
    use leasehold_types::view::CappedCount;

    fn screen(filter: JobFilter) -> Screen {
        let page = JobsPage {
            rows: vec![job(JobStatus::Queued).row],
            next: None,
            matching: CappedCount { count: 1, capped: false },
            now: at(0),
            cursor: 0,
        };
        Screen::new(page, filter, true)
    }

    fn event(number: i64, kind: LiveKind, status: JobStatus) -> LiveEvent {
        LiveEvent {
            id: 1,
            number,
            kind,
            domain: "commands".into(),
            queue: "default".into(),
            job_type: "demo-import".into(),
            at: at(5),
            status,
            attempt: 1,
            progress: 10,
            stage: Some("reading".into()),
            message: None,
            error_code: None,
            worker: Some("web-2:1:a".into()),
        }
    }

    #[test]
    fn rows_on_screen_change_in_place() {
        let mut screen = screen(JobFilter::default());
        screen.hear(&event(7, LiveKind::Started, JobStatus::Processing));
        let row = &screen.rows[0];
        assert_eq!((row.status, row.started_at, row.progress), (JobStatus::Processing, Some(at(5)), 10));
        screen.hear(&event(7, LiveKind::Completed, JobStatus::Completed));
        assert_eq!(screen.rows[0].completed_at, Some(at(5)));
        assert!(screen.fresh.is_empty());
    }

    #[test]
    fn new_jobs_are_announced_and_do_not_shift_the_rows() {
        let mut screen = screen(JobFilter::default());
        screen.hear(&event(8, LiveKind::Created, JobStatus::Queued));
        screen.hear(&event(8, LiveKind::Started, JobStatus::Processing));
        screen.hear(&event(3, LiveKind::Completed, JobStatus::Completed));
        assert_eq!((screen.rows.len(), screen.fresh.len()), (1, 1));
    }

    #[test]
    fn only_jobs_that_match_the_filter_are_announced() {
        let mut screen = screen(JobFilter { statuses: vec![JobStatus::Failed], ..JobFilter::default() });
        screen.hear(&event(8, LiveKind::Created, JobStatus::Queued));
        assert!(screen.fresh.is_empty());
        screen.hear(&event(8, LiveKind::Failed, JobStatus::Failed));
        assert_eq!(screen.fresh.len(), 1);
        screen.hear(&event(8, LiveKind::Requeued, JobStatus::Queued));
        assert!(screen.fresh.is_empty());
    }
}
