//! Workers that come over HTTP. They pass the same fence as any other: each request shows its lease, and the store
//! refuses what is no longer held. What they send is bounded and redacted here, because nobody else does it.

mod keep;

use super::{Engine, wrong_state};
use crate::{
    params::{
        AttemptFacts, ClaimedJob, Finish, FinishAnswer, Heartbeat, Lease, Measured, NewLogLine, REMOTE,
        RenewAnswer, Renewal, Selector,
    },
    progress,
    progress::ProgressReport,
    remote::HeldJob,
    reports::{LONGEST_CODE, LONGEST_LINE, LONGEST_MESSAGE, bounded, check_json, said},
    scope::Scope,
    secrets::{KeyBlock, REDACTED, Redactor},
    transition::Ending,
};
use leasehold_types::{
    JobRef, JobStatus, LeaseId, LogStream, Problem, ProblemCode, Stage, Timestamp, WorkerId, view::Definition,
};
use serde_json::Value;
use std::{collections::HashMap, time::Duration};

/// The most lines kept of one attempt; the numbers of lines end here.
const LINES_PER_ATTEMPT: i64 = 5_000;

/// What a worker wants to run.
#[derive(Clone, PartialEq, Debug)]
pub struct RemoteClaim {
    pub worker: WorkerId,
    /// `(domain, job_type)`, `*` for every type of the domain; empty = every kind that is run over HTTP.
    pub kinds: Vec<(String, String)>,
    /// `(domain, queue)`; empty = all.
    pub queues: Vec<(String, String)>,
    pub limit: u32,
    pub lease: Duration,
}

/// A job, and the lease under which a worker says it holds it.
#[derive(Clone, PartialEq, Debug)]
pub struct Held {
    pub job: JobRef,
    pub worker: WorkerId,
    pub lease_id: LeaseId,
}

impl Held {
    fn lease(&self, number: i64) -> Lease {
        Lease { number, worker_id: self.worker.clone(), lease_id: self.lease_id }
    }

    fn is_current(&self, job: &HeldJob) -> bool {
        job.lease.as_ref() == Some(&self.lease(job.number))
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Renewed {
    pub cancel_requested: bool,
    pub leased_until: Timestamp,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeptLines {
    pub kept: usize,
    /// Beyond what is kept of one attempt.
    pub dropped: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended {
    pub status: JobStatus,
    /// The same request came before; this one changed nothing.
    pub already_done: bool,
}

impl Engine {
    /// The kinds of job a claim may bring: those run over HTTP, asked for, and of the worker's domains. Asking for one
    /// that is not is a mistake worth hearing of, because its worker would wait for ever.
    pub async fn remote_kinds(
        &self,
        scope: &Scope,
        claim: &RemoteClaim,
    ) -> Result<Vec<(String, String)>, Problem> {
        scope.check_any_domain()?;
        let wanted = &claim.kinds;
        for (domain, _) in wanted.iter().chain(&claim.queues) {
            scope.check_domain(domain)?;
        }
        let definitions = self.definitions().await?;
        let remote = definitions.values().filter(|d| d.executor == REMOTE && scope.sees_domain(&d.domain));
        let mut kinds: Vec<_> = remote.map(|d| (d.domain.clone(), d.job_type.clone())).collect();
        kinds.sort();
        for (i, (domain, job_type)) in wanted.iter().enumerate() {
            if job_type != "*" && !kinds.iter().any(|(d, t)| d == domain && t == job_type) {
                let message = format!("“{domain}/{job_type}” is no kind of job that is run over HTTP.");
                return Err(Problem::invalid(format!("kinds[{i}]"), message));
            }
        }
        let asked_for = |(domain, job_type): &(String, String)| {
            wanted.is_empty() || wanted.iter().any(|(d, t)| d == domain && (t == "*" || t == job_type))
        };
        kinds.retain(asked_for);
        Ok(kinds)
    }

    /// A worker over HTTP says what it can run; false when its key has `most` others already.
    pub async fn introduce_worker(
        &self,
        key_prefix: &str,
        beat: Heartbeat,
        most: u32,
    ) -> Result<bool, Problem> {
        Ok(self.store.introduce_worker(key_prefix, beat, most).await?)
    }

    /// Signs of life of many workers at once.
    pub async fn workers_seen(&self, workers: &[WorkerId]) -> Result<(), Problem> {
        Ok(self.store.workers_seen(workers).await?)
    }

    /// Takes jobs for a worker over HTTP: of its tenant, and of the domains its key is confined to.
    pub async fn remote_claim(&self, scope: &Scope, claim: &RemoteClaim) -> Result<Vec<ClaimedJob>, Problem> {
        let kinds = self.remote_kinds(scope, claim).await?;
        if kinds.is_empty() {
            // No kinds would mean any, those of other workers too.
            return Ok(Vec::new());
        }
        let selector =
            Selector { kinds, queues: claim.queues.clone(), tenant: scope.tenant(), ..Selector::default() };
        Ok(self.claim(&claim.worker, &selector, claim.limit, claim.lease).await?)
    }

    /// Keeps a job, and records progress when there is any.
    pub async fn remote_renew(
        &self,
        scope: &Scope,
        held: &Held,
        extend_by: Duration,
        report: Option<ProgressReport>,
    ) -> Result<Renewed, Problem> {
        let job = self.held_job(scope, held, report.is_some()).await?;
        let progress = match report {
            Some(report) => Some(self.measured(&job, report).await?),
            None => None,
        };
        self.renew_held(&job, held, extend_by, progress, None).await
    }

    async fn renew_held(
        &self,
        job: &HeldJob,
        held: &Held,
        extend_by: Duration,
        progress: Option<Measured>,
        checkpoint: Option<Value>,
    ) -> Result<Renewed, Problem> {
        let least = self.now().plus(extend_by.min(self.config.longest_lease));
        let lease = held.lease(job.number);
        let renewal = Renewal { lease, extend_by, progress, pid: None, checkpoint };
        match self.store.renew(vec![renewal]).await?.first() {
            Some(RenewAnswer::Held { cancel_requested }) => {
                let leased_until = job.leased_until.map_or(least, |until| until.max(least));
                Ok(Renewed { cancel_requested: *cancel_requested, leased_until })
            }
            Some(RenewAnswer::Lost) | None => Err(stale(job.number)),
        }
    }

    /// Keeps log lines of the running attempt. The caller numbers them from 1 on; a line that is sent again is kept
    /// once.
    pub async fn remote_logs(
        &self,
        scope: &Scope,
        held: &Held,
        lines: Vec<NewLogLine>,
    ) -> Result<KeptLines, Problem> {
        let job = self.held_job(scope, held, true).await?;
        let sent = lines.len();
        let lines: Vec<_> =
            lines.into_iter().filter(|line| (1..=LINES_PER_ATTEMPT).contains(&line.seq)).collect();
        let lines = self.without_secrets_in_lines(scope, &job, held, lines).await?;
        let kept = KeptLines { kept: lines.len(), dropped: sent - lines.len() };
        let lease = held.lease(job.number);
        match self.store.append_logs(&lease, job.attempt, lines).await? {
            true => Ok(kept),
            false => Err(stale(job.number)),
        }
    }

    /// Ends the attempt. A repetition with the same token is answered like the first time.
    pub async fn remote_finish(
        &self,
        scope: &Scope,
        held: &Held,
        ending: Ending,
        result: Option<Value>,
        token: Option<String>,
    ) -> Result<Ended, Problem> {
        if let Some(result) = &result {
            check_json("result", result, self.config.max_json_bytes)?;
        }
        let says_something = result.is_some() || matches!(ending, Ending::Failed(_));
        let job = self.held_job(scope, held, says_something).await?;
        if ending == Ending::Cancelled && held.is_current(&job) && !job.cancel_requested {
            return Err(wrong_state(format!(
                "Nobody asked job #{} to stop. Nothing was changed; to give it up, send `fail` or `release`.",
                job.number
            )));
        }
        let redactor = self.redactor_of(&job);
        let result = result.map(|mut result| {
            redactor.json(&mut result);
            result
        });
        let finish = Finish {
            lease: held.lease(job.number),
            ending: bounded(ending, &redactor),
            result,
            facts: AttemptFacts::default(),
            // One lease ends once.
            token: Some(token.unwrap_or_else(|| held.lease_id.to_string())),
            policy: self.definition_of(&job).await?.map(|d| d.retry),
        };
        match self.store.finish(&self.config.rules, vec![finish]).await?.first() {
            Some(FinishAnswer::Applied(status)) => Ok(Ended { status: *status, already_done: false }),
            Some(FinishAnswer::AlreadyDone(status)) => Ok(Ended { status: *status, already_done: true }),
            Some(FinishAnswer::Stale) => {
                tracing::warn!(job = job.number, worker = %held.worker, "a late result was refused");
                Err(stale(job.number))
            }
            Some(FinishAnswer::NotFound) | None => Err(Problem::not_found("This job")),
        }
    }

    /// What hides the secrets of this job; those of its payload only when that was read.
    pub(super) fn redactor_of(&self, job: &HeldJob) -> Redactor {
        let all = self.config.secrets.redactor();
        job.payload.as_ref().map_or_else(|| all.clone(), |payload| all.knowing(payload))
    }

    /// Private keys may come over several lines, and the lines in several requests: what is kept of the line before tells
    /// whether this is the middle of one.
    async fn without_secrets_in_lines(
        &self,
        scope: &Scope,
        job: &HeldJob,
        held: &Held,
        mut lines: Vec<NewLogLine>,
    ) -> Result<Vec<NewLogLine>, Problem> {
        let redactor = self.redactor_of(job);
        let mut blocks: HashMap<LogStream, KeyBlock> = HashMap::new();
        if let Some(first) = lines.first().filter(|line| line.seq > 1 && KeyBlock::may_continue(&line.text)) {
            let before = self.store.logs(scope, held.job, job.attempt, first.seq - 2, 1).await?;
            let inside = before.iter().filter(|line| line.seq == first.seq - 1 && line.text == REDACTED);
            blocks.extend(inside.map(|line| (line.stream, KeyBlock::resumed(true))));
        }
        for line in &mut lines {
            let is_covered = blocks.entry(line.stream).or_default().covers(&line.text);
            line.text =
                if is_covered { REDACTED.to_owned() } else { said(&redactor, &line.text, LONGEST_LINE) };
        }
        Ok(lines)
    }

    async fn held_job(&self, scope: &Scope, held: &Held, with_payload: bool) -> Result<HeldJob, Problem> {
        let found = self.store.held_job(scope, held.job, with_payload).await?;
        found.ok_or_else(|| Problem::not_found("This job"))
    }

    async fn definition_of(&self, job: &HeldJob) -> Result<Option<Definition>, Problem> {
        let Some(id) = job.definition_id else { return Ok(None) };
        if let Some(known) = self.definitions().await?.get(&id) {
            return Ok(Some(known.clone()));
        }
        // Younger than what is remembered.
        Ok(self.store.definition(id).await?)
    }

    async fn measured(&self, job: &HeldJob, report: ProgressReport) -> Result<Measured, Problem> {
        let stages: Vec<Stage> = self.definition_of(job).await?.map(|d| d.stages).unwrap_or_default();
        let percent = progress::measure(&stages, &report)?;
        let redactor = self.redactor_of(job);
        Ok(Measured {
            stage: report.stage.map(|stage| said(&redactor, &stage, LONGEST_CODE)),
            percent,
            message: report.message.map(|message| said(&redactor, &message, LONGEST_MESSAGE)),
            at: None,
        })
    }
}

fn stale(number: i64) -> Problem {
    let detail = format!(
        "Job #{number} is not held under this lease: it was taken back, given to another worker or has ended. \
         Nothing was changed; stop working on it and drop the result."
    );
    Problem::new(ProblemCode::StaleLease, detail)
}
