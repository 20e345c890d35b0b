//! What an executor sees of the pool: when to stop, where to report, how long it may take.

use super::{
    Halt,
    keep::Desk,
    log_buffer::LogBuffer,
    stop::{Stop, StopSignal},
};
use leasehold_queue::secrets::Redactor;
use leasehold_queue::{
    Clock,
    params::Measured,
    progress::{self, ProgressReport},
    reports::{LONGEST_CODE, LONGEST_MESSAGE, said},
};
use leasehold_types::{ErrorClass, LogStream, Problem, Stage, view::RetryPolicy};
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::Notify;

/// The definition's say about one job.
#[derive(Clone, PartialEq, Debug)]
pub struct JobRules {
    pub timeout: Duration,
    pub stages: Vec<Stage>,
    pub retry: Option<RetryPolicy>,
}

impl Default for JobRules {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(3_600), stages: Vec::new(), retry: None }
    }
}

/// What waits for the next renewal.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Reports {
    /// One for each stage that was entered since the last renewal, in order.
    pub progress: Vec<Measured>,
    pub pid: Option<i32>,
}

/// More stages than this between two renewals are told as one.
const MOST_REPORTS: usize = 32;

/// One attempt's line to its pool.
pub struct Ctx {
    pub rules: JobRules,
    pub redactor: Redactor,
    /// `JOBS_MAX_JSON_BYTES`, for results.
    pub max_json_bytes: usize,
    pub(super) stop: StopSignal,
    clock: Clock,
    reports: Mutex<Reports>,
    logs: Mutex<LogBuffer>,
    log_ready: Notify,
    log_batch_ready: Notify,
    /// None where an executor runs without a pool, as in its own tests.
    desk: Option<Desk>,
}

/// So many lines are worth a write of their own.
pub const LOG_BATCH: usize = 200;

impl Ctx {
    pub fn new(
        rules: JobRules,
        redactor: Redactor,
        max_json_bytes: usize,
        clock: Clock,
        stop: StopSignal,
    ) -> Self {
        Self {
            rules,
            max_json_bytes,
            stop,
            clock,
            reports: Mutex::default(),
            logs: Mutex::new(LogBuffer::new(redactor.clone())),
            redactor,
            log_ready: Notify::new(),
            log_batch_ready: Notify::new(),
            desk: None,
        }
    }

    #[must_use]
    pub(crate) fn with_desk(self, desk: Desk) -> Self {
        Self { desk: Some(desk), ..self }
    }

    pub(super) fn desk(&self) -> Result<&Desk, Halt> {
        let message = "Nothing can be kept without a pool.";
        self.desk
            .as_ref()
            .ok_or_else(|| Halt::Failed(super::failure("no_pool", ErrorClass::InternalBug, message)))
    }

    /// Resolves when the attempt must end, and says why.
    pub async fn stopped(&self) -> Stop {
        self.stop.wait(|_| true).await
    }

    /// Resolves when the lease is lost.
    pub async fn lease_lost(&self) {
        self.stop.wait(|stop| stop == Stop::LeaseLost).await;
    }

    /// Reports progress; within a stage the last report before a renewal wins, and every stage is told with the moment
    /// it was entered. A stage the definition does not know is an error,
    /// its percentage and message count all the same.
    pub fn progress(&self, report: ProgressReport) -> Result<(), Problem> {
        let measured = progress::measure(&self.rules.stages, &report);
        let known_stage = measured.is_ok();
        let percent = measured.as_ref().map_or_else(|_| report.percent.map(|p| p.clamp(0, 100)), |p| *p);
        let message = report.message.map(|m| said(&self.redactor, &m, LONGEST_MESSAGE));
        let mut reports = lock(&self.reports);
        let stage = report.stage.filter(|_| known_stage).map(|s| said(&self.redactor, &s, LONGEST_CODE));
        let enters = stage.is_some() && reports.progress.last().is_none_or(|last| last.stage != stage);
        if reports.progress.is_empty() || (enters && reports.progress.len() < MOST_REPORTS) {
            let at = enters.then(|| self.clock.now());
            reports.progress.push(Measured { at, ..Measured::default() });
        }
        if let Some(waiting) = reports.progress.last_mut() {
            waiting.stage = stage.or_else(|| waiting.stage.take());
            waiting.percent = percent.or(waiting.percent);
            waiting.message = message.or_else(|| waiting.message.take());
        }
        measured.map(drop)
    }

    pub fn pid(&self, pid: i32) {
        lock(&self.reports).pid = Some(pid);
    }

    /// Never waits; under a flood lines are dropped from the middle.
    pub fn log(&self, stream: LogStream, text: String) {
        let mut logs = lock(&self.logs);
        logs.push(stream, text, self.clock.now());
        let ready = logs.ready();
        drop(logs);
        if ready > 0 {
            self.log_ready.notify_one();
        }
        if ready >= LOG_BATCH {
            self.log_batch_ready.notify_one();
        }
    }

    /// The worker's own voice in the log.
    pub fn note(&self, text: impl Into<String>) {
        self.log(LogStream::System, text.into());
    }

    pub(crate) fn take_reports(&self) -> Reports {
        std::mem::take(&mut *lock(&self.reports))
    }

    /// Puts back what could not be delivered, before what is newer.
    pub(crate) fn return_reports(&self, undelivered: Reports) {
        let mut reports = lock(&self.reports);
        let newer = std::mem::replace(&mut reports.progress, undelivered.progress);
        reports.progress.extend(newer);
        reports.progress.truncate(2 * MOST_REPORTS);
        reports.pid = reports.pid.or(undelivered.pid);
    }

    pub(crate) fn has_reports(&self) -> bool {
        let reports = lock(&self.reports);
        !reports.progress.is_empty() || reports.pid.is_some()
    }

    pub(crate) fn has_progress(&self) -> bool {
        !lock(&self.reports).progress.is_empty()
    }

    pub(crate) fn logs(&self) -> MutexGuard<'_, LogBuffer> {
        lock(&self.logs)
    }

    /// There is something to write.
    pub(crate) async fn log_ready(&self) {
        self.log_ready.notified().await;
    }

    /// There is a whole batch to write.
    pub(crate) async fn log_batch_ready(&self) {
        self.log_batch_ready.notified().await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ctx() -> Ctx {
        let stages =
            ["load", "check", "work"].map(|name| Stage { name: name.into(), from: 20, to: 100 }).into();
        let rules = JobRules { stages, ..JobRules::default() };
        Ctx::new(rules, Redactor::default(), 1_000, Clock::system(), StopSignal::default())
    }

    fn report(stage: Option<&str>, percent: Option<i16>, message: Option<&str>) -> ProgressReport {
        ProgressReport { stage: stage.map(Into::into), percent, message: message.map(Into::into) }
    }

    #[test]
    fn the_last_report_wins_and_keeps_what_it_does_not_mention() {
        let ctx = ctx();
        ctx.progress(report(Some("work"), None, Some("one"))).unwrap();
        ctx.progress(report(None, Some(50), None)).unwrap();
        let told = ctx.take_reports().progress;
        assert_eq!(told.len(), 1);
        assert_eq!((told[0].stage.as_deref(), told[0].percent), (Some("work"), Some(50)));
        assert_eq!(told[0].message.as_deref(), Some("one"));
        assert!(!ctx.has_reports());
    }

    #[test]
    fn a_short_stage_is_told_with_the_moment_it_was_entered() {
        let ctx = ctx();
        for stage in ["load", "check", "work"] {
            ctx.progress(report(Some(stage), None, None)).unwrap();
            ctx.progress(report(Some(stage), Some(90), None)).unwrap();
        }
        let undelivered = ctx.take_reports();
        ctx.progress(report(None, Some(95), None)).unwrap();
        ctx.return_reports(undelivered);
        let told = ctx.take_reports().progress;
        let stages: Vec<_> = told.iter().map(|one| one.stage.as_deref()).collect();
        assert_eq!(
            stages,
            [Some("load"), Some("check"), Some("work"), None],
            "in order, and the newest last"
        );
        let entered: Vec<_> = told.iter().filter_map(|one| one.at).collect();
        assert!(entered.len() == 3 && entered.is_sorted(), "{entered:?}");
    }

    #[test]
    fn a_flood_of_stages_is_bounded() {
        let ctx = ctx();
        for _ in 0..MOST_REPORTS {
            ctx.progress(report(Some("load"), None, None)).unwrap();
            ctx.progress(report(Some("check"), None, None)).unwrap();
        }
        ctx.progress(report(Some("work"), None, None)).unwrap();
        let told = ctx.take_reports().progress;
        assert_eq!(told.len(), MOST_REPORTS);
        assert_eq!(told.last().unwrap().stage.as_deref(), Some("work"), "where it is now is never lost");
    }

    #[test]
    fn an_unknown_stage_is_an_error_and_its_percentage_counts() {
        let ctx = ctx();
        assert!(ctx.progress(report(Some("dance"), Some(30), None)).is_err());
        assert_eq!(ctx.take_reports().progress[0].percent, Some(30));
    }
}
