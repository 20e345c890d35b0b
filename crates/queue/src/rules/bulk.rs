//! What bulk operations do to which jobs, when they may be applied, and how far they have come.

use crate::{
    audit::NewAuditEntry,
    ports::{
        bulk::{CountedGroup, JobSelection, Operation},
        steering::SteeredJob,
    },
    scope::Scope,
};
use leasehold_types::{
    JobFilter, JobStatus, Problem, ProblemCode, Timestamp,
    view::{BulkOperation, BulkSkip, BulkState},
};
use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    time::Duration,
};
use uuid::Uuid;

/// How long a plan may be applied after it was made.
const VALID_FOR: Duration = Duration::from_secs(600);
/// Different reasons that one operation keeps for jobs it skipped.
const MOST_REASONS: usize = 20;

#[derive(Clone, PartialEq, Debug)]
pub enum BulkAction {
    /// Queued and quarantined jobs are cancelled, running ones asked to stop.
    Cancel,
    /// Queued jobs become available at this moment (none = now).
    Reschedule { at: Option<Timestamp> },
    /// Each terminal job that did not complete gets a new job that names it as parent.
    Retry,
    /// Quarantined jobs go back to the queue.
    RequeueQuarantined,
    /// Terminal and quarantined jobs are removed with their attempts, logs and attachments, optionally into the archive.
    Prune { archive: bool },
}

impl BulkAction {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Reschedule { .. } => "reschedule",
            Self::Retry => "retry",
            Self::RequeueQuarantined => "requeue_quarantined",
            Self::Prune { .. } => "prune",
        }
    }

    /// The states it applies to; others never match, whatever the filter says.
    pub const fn statuses(&self) -> &'static [JobStatus] {
        use JobStatus::{Cancelled, Completed, DeadLetter, Failed, Processing, Quarantined, Queued};
        match self {
            Self::Cancel => &[Queued, Processing, Quarantined],
            Self::Reschedule { .. } => &[Queued],
            Self::Retry => &[Failed, DeadLetter, Cancelled],
            Self::RequeueQuarantined => &[Quarantined],
            Self::Prune { .. } => &[Completed, Failed, Cancelled, DeadLetter, Quarantined],
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct BulkRequest {
    pub action: BulkAction,
    pub filter: JobFilter,
    pub reason: String,
    /// How many of the largest groups (domain, queue, type, state) to name.
    pub top_groups: u32,
}

/// What a chunk came to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Done {
    pub changed: i64,
    /// Jobs that were reached and left as they are, and why.
    pub skips: Vec<(i64, Problem)>,
}

impl Operation {
    /// Not counted yet.
    pub fn new(scope: &Scope, request: BulkRequest, named: Option<i64>, now: Timestamp) -> Self {
        let view = BulkOperation {
            id: Uuid::now_v7(),
            tenant_id: scope.tenant(),
            action: request.action.name().to_owned(),
            state: BulkState::Planned,
            reason: request.reason,
            actor: scope.actor.to_string(),
            planned: 0,
            groups: Vec::new(),
            sample: Vec::new(),
            highest_number: 0,
            changed: 0,
            skipped: 0,
            skips: Vec::new(),
            applied_by: None,
            created_at: now,
            expires_at: now.plus(VALID_FOR),
            finished_at: None,
        };
        let (action, filter) = (request.action, request.filter);
        Self { view, action, filter, named, reached: 0, origin: None, audited: false }
    }

    /// The largest groups are named; equally large ones in the order of their names.
    pub fn counted(&mut self, groups: Vec<CountedGroup>, top: u32) {
        self.view.planned = groups.iter().map(|counted| counted.group.jobs).sum();
        self.view.highest_number = groups.iter().map(|counted| counted.highest).max().unwrap_or(0);
        let mut groups: Vec<_> = groups.into_iter().map(|counted| counted.group).collect();
        groups.sort_by_key(|group| Reverse(group.jobs));
        groups.truncate(top as usize);
        self.view.groups = groups;
    }

    /// The condition that counts it.
    pub fn selection(&self) -> JobSelection<'_> {
        JobSelection {
            tenant: self.view.tenant_id,
            filter: &self.filter,
            named: self.named,
            statuses: self.action.statuses(),
            above: 0,
            up_to: None,
            ended_by: None,
        }
    }

    /// The same condition for what is left to do: no job that came after the plan, and for actions on jobs that have
    /// ended none that ended after it, since nobody saw them.
    pub fn rest(&self) -> JobSelection<'_> {
        let of_the_ended = self.action.statuses().iter().all(|status| status.is_finished());
        JobSelection {
            above: self.reached,
            up_to: Some(self.view.highest_number),
            ended_by: of_the_ended.then_some(self.view.created_at),
            ..self.selection()
        }
    }

    /// A plan expires before it is applied only: one under way may take as long as it needs.
    pub fn check_open(&self, now: Timestamp) -> Result<(), Problem> {
        let expired = self.view.state == BulkState::Planned && now >= self.view.expires_at;
        let detail = match self.view.state {
            BulkState::Done => "This plan was applied before. Nothing was changed.",
            BulkState::Aborted => "This plan was aborted. Nothing was changed.",
            _ if expired => {
                "This plan has expired. Nothing was changed; make a new plan to see what matches now."
            }
            _ => return Ok(()),
        };
        Err(Problem::new(ProblemCode::WrongState, detail))
    }

    /// From now on it is under way, in the name of whoever had it applied.
    pub fn begin(&mut self, scope: &Scope) {
        self.view.state = BulkState::Applying;
        self.view.applied_by = Some(scope.actor.to_string());
        self.origin = scope.origin.clone();
        self.audited = scope.actor.leaves_a_trail();
    }

    /// Who did it, as the jobs say.
    pub fn by(&self) -> String {
        self.view.applied_by.clone().unwrap_or_else(|| self.view.actor.clone())
    }

    pub fn reason(&self) -> Option<&str> {
        Some(self.view.reason.as_str()).filter(|reason| !reason.is_empty())
    }

    /// `numbers` were looked at, and there are no more of them when it is the last chunk.
    pub fn advance(&mut self, numbers: &[i64], is_last: bool, done: Done, now: Timestamp) {
        self.view.changed += done.changed;
        for (number, problem) in done.skips {
            self.skip(number, &problem);
        }
        if let Some(last) = numbers.last() {
            self.reached = *last;
        }
        if is_last {
            self.reached = self.view.highest_number;
            self.finish(BulkState::Done, now);
        }
    }

    fn finish(&mut self, state: BulkState, now: Timestamp) {
        self.view.state = state;
        self.view.skipped = match state {
            BulkState::Done => (self.view.planned - self.view.changed).max(0),
            _ => self.view.skips.iter().map(|skip| skip.jobs).sum(),
        };
        self.view.finished_at = Some(now);
    }

    /// `WRONG_STATE` when there is nothing left to stop.
    pub fn abort(&mut self, now: Timestamp) -> Result<(), Problem> {
        let ended = match self.view.state {
            BulkState::Done => "done",
            BulkState::Aborted => "aborted",
            BulkState::Planned | BulkState::Applying => {
                self.finish(BulkState::Aborted, now);
                return Ok(());
            }
        };
        let detail = format!("This plan is {ended}: there is nothing to stop.");
        Err(Problem::new(ProblemCode::WrongState, detail))
    }

    fn skip(&mut self, number: i64, problem: &Problem) {
        let code = problem.code.as_str();
        let skips = &mut self.view.skips;
        let known = skips.iter().position(|skip| skip.code == code && skip.reason == problem.detail);
        let place = known.or((skips.len() == MOST_REASONS).then_some(MOST_REASONS - 1));
        match place {
            Some(place) => {
                let skip = &mut skips[place];
                skip.jobs += 1;
                if known.is_none() {
                    (skip.code, skip.reason) = ("OTHER".to_owned(), "Other reasons.".to_owned());
                }
            }
            None => {
                let (code, reason) = (code.to_owned(), problem.detail.clone());
                skips.push(BulkSkip { code, reason, jobs: 1, first: number });
            }
        }
    }

    /// A step of it, for the audit log.
    pub fn entry(&self, action: &'static str) -> NewAuditEntry {
        NewAuditEntry::new(self.view.tenant_id, action, "bulk", self.view.id)
    }

    /// What it came to, for the audit log.
    pub fn outcome(&self) -> String {
        let view = &self.view;
        format!("{}: {} changed, {} skipped of {}", view.action, view.changed, view.skipped, view.planned)
    }
}

pub fn no_such_plan() -> Problem {
    Problem::not_found("This plan")
}

/// A moment that has passed is "now": the job must not jump ahead of those already waiting.
pub fn moment_for(at: Option<Timestamp>, now: Timestamp) -> Timestamp {
    at.filter(|at| *at > now).unwrap_or(now)
}

pub fn asked_before() -> Problem {
    Problem::new(ProblemCode::WrongState, "It had been asked to stop before.")
}

pub fn has_no_definition() -> Problem {
    Problem::new(ProblemCode::WrongState, "This job has no definition to run it again by.")
}

/// Quarantined jobs that may come back, and those that may not: an active job holds their dedupe key, or one before
/// them takes it.
pub fn with_free_keys<'a>(
    jobs: &'a [SteeredJob],
    held: &HashMap<i64, i64>,
) -> (Vec<&'a SteeredJob>, Vec<(i64, Problem)>) {
    let mut taken = HashSet::new();
    let (free, blocked): (Vec<_>, Vec<_>) = jobs.iter().partition(|job| match &job.dedupe_key {
        None => true,
        Some(key) => !held.contains_key(&job.number) && taken.insert((job.tenant, key.as_str())),
    });
    let detail = "An active job holds the same dedupe key.";
    let why = |job: &SteeredJob| (job.number, Problem::new(ProblemCode::AlreadyExists, detail));
    (free, blocked.into_iter().map(why).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_types::TenantId;

    fn operation(planned: i64, highest: i64) -> Operation {
        let request = BulkRequest {
            action: BulkAction::Cancel,
            filter: JobFilter::default(),
            reason: "x".into(),
            top_groups: 0,
        };
        let mut operation = Operation::new(&Scope::system("test"), request, None, Timestamp::from_secs(1));
        (operation.view.planned, operation.view.highest_number) = (planned, highest);
        operation
    }

    #[test]
    fn a_plan_goes_on_until_its_last_chunk() {
        let mut plan = operation(3, 9);
        plan.begin(&Scope::system("test"));
        let now = Timestamp::from_secs(2);
        plan.advance(&[4, 5], false, Done { changed: 1, ..Done::default() }, now);
        assert_eq!((plan.reached, plan.view.state, plan.view.changed), (5, BulkState::Applying, 1));
        plan.advance(&[], true, Done::default(), now);
        assert_eq!((plan.reached, plan.view.state, plan.view.skipped), (9, BulkState::Done, 2));
        assert_eq!(plan.check_open(now).unwrap_err().code, ProblemCode::WrongState);
        assert_eq!(plan.abort(now).unwrap_err().code, ProblemCode::WrongState);
    }

    #[test]
    fn reasons_are_counted_and_bounded() {
        let mut plan = operation(100, 100);
        for number in 0..60 {
            plan.skip(number, &Problem::new(ProblemCode::QuotaExceeded, format!("reason {}", number % 30)));
        }
        assert_eq!(plan.view.skips.len(), MOST_REASONS);
        assert_eq!(plan.view.skips.iter().map(|skip| skip.jobs).sum::<i64>(), 60);
        assert_eq!((plan.view.skips[0].jobs, plan.view.skips[0].first), (2, 0));
        assert_eq!(plan.view.skips[MOST_REASONS - 1].code, "OTHER");
    }

    #[test]
    fn of_two_with_one_key_the_first_comes_back() {
        let job = |number, key: Option<&str>| SteeredJob {
            number,
            tenant: TenantId(Uuid::nil()),
            domain: "d".into(),
            queue: "q".into(),
            job_type: "t".into(),
            status: JobStatus::Quarantined,
            attempt: 1,
            progress: 0,
            cancel_requested: false,
            dedupe_key: key.map(Into::into),
        };
        let jobs = [job(1, Some("a")), job(2, Some("a")), job(3, Some("b")), job(4, None)];
        let (free, blocked) = with_free_keys(&jobs, &HashMap::from([(3, 9)]));
        assert_eq!(free.iter().map(|job| job.number).collect::<Vec<_>>(), [1, 4]);
        assert_eq!(blocked.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [2, 3]);
    }
}
