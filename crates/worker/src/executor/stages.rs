//! Stages: how a handler says where it is, and where it may end.

use super::{Ctx, Halt, failure};
use leasehold_queue::progress::ProgressReport;
use leasehold_types::{ErrorClass, Problem, stage};

impl Ctx {
    /// Whether the attempt must end, for whatever reason.
    pub fn cancelled(&self) -> bool {
        self.stop.reason().is_some()
    }

    /// Begins a stage: the safe place to end when the attempt was asked to.
    pub fn stage(&self, name: &str) -> Result<(), Halt> {
        if self.cancelled() {
            return Err(Halt::Stopped);
        }
        self.progress(ProgressReport { stage: Some(name.to_owned()), ..ProgressReport::default() }).map_err(
            |problem| Halt::Failed(failure("unknown_stage", ErrorClass::InternalBug, problem.detail)),
        )
    }

    /// How much of a stage is done, from 0.0 to 1.0; the bar moves within the stage's span.
    pub fn progress_within(&self, stage: &str, done: f64) -> Result<(), Problem> {
        let span = stage::find(&self.rules.stages, stage).map_or((0, 100), |s| (s.from, s.to));
        let percent = f64::from(span.0) + f64::from(span.1 - span.0) * done.clamp(0.0, 1.0);
        self.progress(ProgressReport {
            stage: Some(stage.to_owned()),
            percent: Some(percent as i16),
            message: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{JobRules, Stop, StopSignal};
    use leasehold_queue::{Clock, secrets::Redactor};
    use leasehold_types::Stage;

    fn ctx() -> Ctx {
        let stages = vec![Stage { name: "work".into(), from: 20, to: 100 }];
        let rules = JobRules { stages, ..JobRules::default() };
        Ctx::new(rules, Redactor::default(), 1_000, Clock::system(), StopSignal::default())
    }

    #[test]
    fn a_stage_is_begun_and_filled() {
        let ctx = ctx();
        ctx.stage("work").unwrap();
        assert_eq!(ctx.take_reports().progress[0].percent, Some(20));
        for (done, percent) in [(0.5, 60), (1.0, 100), (7.0, 100)] {
            ctx.progress_within("work", done).unwrap();
            assert_eq!(ctx.take_reports().progress[0].percent, Some(percent));
        }
        assert!(matches!(ctx.stage("dance"), Err(Halt::Failed(_))), "a stage nobody knows is a bug");
    }

    #[test]
    fn no_stage_begins_once_the_attempt_must_end() {
        let ctx = ctx();
        ctx.stop.raise(Stop::Cancelled);
        assert_eq!(ctx.stage("work"), Err(Halt::Stopped));
        assert!(!ctx.has_progress());
    }
}
