//! Progress never falls within one job, over retries too.

use leasehold_types::{Problem, Stage, stage};

/// The most stages a job's row remembers, over all its attempts.
pub const STAGES_KEPT: usize = 200;

/// What a handler reports while it runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ProgressReport {
    pub stage: Option<String>,
    pub percent: Option<i16>,
    pub message: Option<String>,
}

/// The percentage a report amounts to: inside its stage's span, at least the stage's start.
/// A stage the definition does not know is an error; with no stages defined, any name goes.
pub fn measure(stages: &[Stage], report: &ProgressReport) -> Result<Option<i16>, Problem> {
    let percent = report.percent.map(|p| p.clamp(0, 100));
    let Some(name) = &report.stage else { return Ok(percent) };
    if stages.is_empty() {
        return Ok(percent);
    }
    let Some(stage) = stage::find(stages, name) else {
        let known: Vec<_> = stages.iter().map(|s| s.name.as_str()).collect();
        let message = format!("“{name}” is not a stage of this kind of job ({}).", known.join(", "));
        return Err(Problem::invalid("stage", message));
    };
    Ok(Some(percent.unwrap_or(0).clamp(i16::from(stage.from), i16::from(stage.to))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stages() -> Vec<Stage> {
        vec![Stage { name: "load".into(), from: 0, to: 20 }, Stage { name: "work".into(), from: 20, to: 100 }]
    }

    fn report(stage: Option<&str>, percent: Option<i16>) -> ProgressReport {
        ProgressReport { stage: stage.map(Into::into), percent, message: None }
    }

    #[test]
    fn entering_a_stage_lifts_progress_to_its_start() {
        assert_eq!(measure(&stages(), &report(Some("work"), None)), Ok(Some(20)));
        assert_eq!(measure(&stages(), &report(Some("work"), Some(50))), Ok(Some(50)));
        assert_eq!(measure(&stages(), &report(None, Some(150))), Ok(Some(100)));
    }

    #[test]
    fn an_unknown_stage_is_an_error() {
        let problem = measure(&stages(), &report(Some("dance"), None)).unwrap_err();
        assert!(problem.detail.contains("load, work"), "{problem}");
        assert_eq!(measure(&[], &report(Some("dance"), Some(3))), Ok(Some(3)));
    }
}
