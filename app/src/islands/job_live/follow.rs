//! Keeping a job's page true while it is open.

use leasehold_types::view::{JobDetail, LogLine};
use leptos::prelude::*;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// The job without its logs, and each attempt's log.
#[derive(Clone)]
pub struct Story {
    pub job: RwSignal<JobDetail>,
    logs: Arc<Mutex<BTreeMap<i32, ArcRwSignal<Vec<LogLine>>>>>,
}

impl Story {
    pub fn new(mut detail: JobDetail) -> Self {
        let logs = detail
            .attempts
            .iter_mut()
            .map(|attempt| (attempt.attempt, ArcRwSignal::new(std::mem::take(&mut attempt.logs))))
            .collect();
        Self { job: RwSignal::new(detail), logs: Arc::new(Mutex::new(logs)) }
    }

    pub fn log(&self, attempt: i32) -> ArcRwSignal<Vec<LogLine>> {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        logs.entry(attempt).or_insert_with(|| ArcRwSignal::new(Vec::new())).clone()
    }
}

#[cfg(not(feature = "hydrate"))]
pub fn follow(_slug: &str, _story: &Story) {}

#[cfg(feature = "hydrate")]
pub use browser::follow;

#[cfg(feature = "hydrate")]
mod browser {
    use super::Story;
    use crate::{
        components::log::append,
        islands::live::{self, Heard, again::Again},
        jobs::reads::{job_detail, log_lines},
    };
    use leasehold_types::{LiveEvent, LiveKind, view::JobDetail};
    use leptos::prelude::*;
    use std::{cell::Cell, rc::Rc, time::Duration};

    const PAUSE: Duration = Duration::from_millis(150);

    pub fn follow(slug: &str, story: &Story) {
        let (number, cursor) = story.job.with_untracked(|j| (j.row.number, j.cursor));
        let page = read_page(slug, number, story);
        let attempt = Rc::new(Cell::new(0));
        let log = read_log(slug, number, story, attempt.clone());
        let job = story.job;
        live::listen(slug, cursor, move |heard| match heard {
            Heard::Resync => page.soon(),
            Heard::Event(event) if event.number == number => match event.kind {
                LiveKind::Progress => move_bar(job, event),
                LiveKind::Log => {
                    attempt.set(event.attempt);
                    log.soon();
                }
                _ => page.soon(),
            },
            Heard::Event(_) => {}
        });
    }

    fn read_page(slug: &str, number: i64, story: &Story) -> Again {
        let (slug, story) = (slug.to_owned(), story.clone());
        Again::new(PAUSE, move || {
            let (slug, story) = (slug.clone(), story.clone());
            async move {
                // On failure the page stays as it is; the live light says how old that is.
                if let Ok(fresh) = job_detail(slug, number).await {
                    take(&story, fresh);
                }
            }
        })
    }

    fn read_log(slug: &str, number: i64, story: &Story, attempt: Rc<Cell<i32>>) -> Again {
        let (slug, story) = (slug.to_owned(), story.clone());
        Again::new(PAUSE, move || {
            let (slug, attempt) = (slug.clone(), attempt.get());
            let log = story.log(attempt);
            let after = log.with_untracked(|lines| lines.last().map_or(-1, |line| line.seq));
            async move {
                if let Ok(lines) = log_lines(slug, number, attempt, after).await
                    && !lines.is_empty()
                {
                    log.update(|known| append(known, lines));
                }
            }
        })
    }

    /// A fresh reading. It may be a little older than the last progress event: the bar never falls.
    fn take(story: &Story, mut fresh: JobDetail) {
        for attempt in &mut fresh.attempts {
            let lines = std::mem::take(&mut attempt.logs);
            let log = story.log(attempt.attempt);
            let newest = log.with_untracked(|known| known.last().map(|l| l.seq));
            if lines.last().map(|l| l.seq) > newest {
                log.update(|known| append(known, lines));
            }
        }
        story.job.update(|job| {
            let (old, new) = (&job.row, &mut fresh.row);
            if old.status == new.status && old.progress > new.progress {
                new.progress = old.progress;
                new.stage.clone_from(&old.stage);
                new.progress_message.clone_from(&old.progress_message);
            }
            *job = fresh;
        });
    }

    fn move_bar(job: RwSignal<JobDetail>, event: &LiveEvent) {
        job.update(|job| {
            job.row.progress = job.row.progress.max(event.progress);
            if event.stage.is_some() {
                job.row.stage.clone_from(&event.stage);
            }
            job.row.progress_message.clone_from(&event.message);
        });
    }
}
