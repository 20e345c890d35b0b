//! From firings to rows: which jobs are to be made, and what is written down once the store has answered.

use super::{Firing, Verdict, in_words};
use crate::{
    params::{CreateAnswer, NewJob},
    secrets::Redactor,
};
use leasehold_types::{FiringOutcome, FiringView, JobId, TenantId, Timestamp, TriggerId};
use std::collections::{BTreeMap, HashMap};

/// The jobs that hold a window shut, by trigger and payload hash.
pub type Recent = HashMap<(TriggerId, String), (Option<i64>, Option<JobId>)>;

/// A firing as it is written.
#[derive(Clone, PartialEq, Debug)]
pub struct FiringRow {
    pub trigger_id: TriggerId,
    pub tenant_id: TenantId,
    pub label: String,
    pub due_at: Option<Timestamp>,
    pub outcome: FiringOutcome,
    pub code: Option<String>,
    pub detail: Option<String>,
    pub payload_hash: Option<String>,
    pub job_number: Option<i64>,
    pub job_id: Option<JobId>,
}

impl FiringRow {
    pub fn view(&self, fired_at: Timestamp) -> FiringView {
        FiringView {
            trigger_id: self.trigger_id,
            label: self.label.clone(),
            due_at: self.due_at,
            outcome: self.outcome,
            code: self.code.clone(),
            detail: self.detail.clone(),
            job_number: self.job_number,
            job_id: self.job_id,
            fired_at,
        }
    }
}

/// What a trigger's own row learns from its firings.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Learnt {
    /// It made a job.
    pub fired: bool,
    pub fired_for: Option<Timestamp>,
    /// Why the newest made none.
    pub error: Option<String>,
}

/// Firings between the decision and the answer of the store.
#[derive(Debug)]
pub struct Settling {
    rows: Vec<FiringRow>,
    jobs: Vec<NewJob>,
    /// The row of each job.
    places: Vec<usize>,
}

impl Settling {
    pub fn new(firings: Vec<Firing>, recent: &Recent) -> Self {
        let (mut rows, mut jobs, mut places) = (Vec::with_capacity(firings.len()), Vec::new(), Vec::new());
        for firing in firings {
            let mut row = FiringRow {
                trigger_id: firing.trigger_id,
                tenant_id: firing.tenant_id,
                label: firing.label,
                due_at: firing.due_at,
                outcome: FiringOutcome::Enqueued,
                code: None,
                detail: None,
                payload_hash: None,
                job_number: None,
                job_id: None,
            };
            match firing.verdict {
                Verdict::Not { outcome, code, detail } => {
                    (row.outcome, row.code, row.detail) = (outcome, code, detail);
                }
                Verdict::Enqueue { job, window } => {
                    let same = window.as_ref().and_then(|window| {
                        Some((recent.get(&(firing.trigger_id, window.payload_hash.clone()))?, window.seconds))
                    });
                    if let Some(((number, id), seconds)) = same {
                        row.outcome = FiringOutcome::Deduplicated;
                        let detail = format!("It has made the same job within the last {seconds} seconds.");
                        (row.job_number, row.job_id, row.detail) = (*number, *id, Some(detail));
                    } else {
                        row.payload_hash = window.map(|window| window.payload_hash);
                        places.push(rows.len());
                        jobs.push(*job);
                    }
                }
            }
            rows.push(row);
        }
        Self { rows, jobs, places }
    }

    /// What the store is to create.
    pub fn jobs(&self) -> &[NewJob] {
        &self.jobs
    }

    /// The rows, with what the store said about each job.
    pub fn close(mut self, answers: Vec<CreateAnswer>) -> (Vec<FiringRow>, Vec<NewJob>) {
        for (place, answer) in self.places.into_iter().zip(answers) {
            let row = &mut self.rows[place];
            match answer {
                Ok(created) => (row.job_number, row.job_id) = (Some(created.number), Some(created.id)),
                Err(problem) => {
                    (row.outcome, row.payload_hash) = (FiringOutcome::Refused, None);
                    (row.code, row.detail) = (
                        Some(problem.code.as_str().to_owned()),
                        Some(in_words(&problem, &Redactor::default())),
                    );
                }
            }
        }
        (self.rows, self.jobs)
    }
}

/// By trigger; later rows of one trigger are newer.
pub fn learnt(rows: &[FiringRow]) -> BTreeMap<TriggerId, Learnt> {
    let mut learnt: BTreeMap<TriggerId, Learnt> = BTreeMap::new();
    for row in rows {
        let known = learnt.entry(row.trigger_id).or_default();
        match row.outcome {
            FiringOutcome::Enqueued => {
                *known = Learnt { fired: true, fired_for: row.due_at.or(known.fired_for), error: None };
            }
            FiringOutcome::Refused => known.error.clone_from(&row.detail),
            FiringOutcome::Deduplicated
            | FiringOutcome::Disabled
            | FiringOutcome::Filtered
            | FiringOutcome::Missed => {}
        }
    }
    learnt
}
