//! One attempt: resolve → prepare → run with timeout → judge → record.

use super::{Shared, finisher::Done, log_writer, renewer, running::Running};
use crate::executor::{self, Ctx, Desk, End, Executor, JobRules, Outcome, Stop, failure};
use leasehold_queue::{
    params::{AttemptFacts, ClaimedJob, Finish},
    reports,
    transition::Ending,
};
use leasehold_types::{ErrorClass, Problem, view::Definition};
use std::{sync::Arc, time::Duration};
use tokio::{sync::mpsc, time::sleep};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tracing::{Instrument, Span, field};

/// How often the definitions are asked for before the job is handed back.
const DEFINITION_TRIES: u32 = 5;

/// What every line that is logged about an attempt carries, whatever the log leaves out.
pub fn span(job: &ClaimedJob) -> Span {
    tracing::error_span!(
        "attempt",
        job_id = %job.id,
        tenant_id = %job.tenant_id,
        definition_key = field::Empty,
        attempt_no = job.attempt,
        worker_id = %job.lease.worker_id,
        trace_id = job.trace_id,
        request_id = job.request_id,
    )
}

pub async fn run(shared: &Arc<Shared>, running: Arc<Running>, results: &mpsc::Sender<Done>) {
    let finish = match resolve(shared, &running).await {
        Ok((executor, rules)) => execute(shared, &running, executor, rules).await,
        Err(ending) => Some(plain_finish(&running, ending)),
    };
    let Some(finish) = finish else {
        tracing::warn!(job = running.job.lease.number, "the lease was lost; the result is dropped");
        return shared.running.remove(&running);
    };
    shared.brakes.hear(&running.job, &finish.ending);
    if let Err(mpsc::error::SendError(done)) = results.send(Done { running, finish }).await {
        tracing::error!(job = done.running.job.lease.number, "nobody is left to record the result");
        shared.running.remove(&done.running);
    }
}

/// Who runs it, and by which rules.
async fn resolve(shared: &Shared, running: &Running) -> Result<(Arc<dyn Executor>, JobRules), Ending> {
    let job = &running.job;
    let Some(executor) = shared.registry.find(&job.domain, &job.job_type) else {
        let message = format!("This worker cannot run “{}/{}”.", job.domain, job.job_type);
        return Err(Ending::Failed(failure("unknown_job_type", ErrorClass::DependencyUnavailable, message)));
    };
    match definition(shared, running).await {
        Ok(definition) => {
            Span::current().record("definition_key", definition.as_ref().map(|d| d.key.as_str()));
            Ok((executor, definition.map(rules_of).unwrap_or_default()))
        }
        Err(problem) => {
            // Without its limits it must not run; someone else may have more luck.
            tracing::warn!(job = job.lease.number, %problem, "handed back: its definition cannot be read");
            Err(Ending::Released)
        }
    }
}

fn rules_of(definition: Definition) -> JobRules {
    JobRules {
        timeout: Duration::from_secs(u64::try_from(definition.timeout_seconds).unwrap_or(1)),
        stages: definition.stages,
        retry: Some(definition.retry),
    }
}

async fn definition(shared: &Shared, running: &Running) -> Result<Option<Definition>, Problem> {
    let Some(id) = running.job.definition_id else { return Ok(None) };
    let mut wait = Duration::from_millis(100);
    let mut tries = 1;
    loop {
        match shared.engine.definitions().await {
            Ok(known) if known.contains_key(&id) => return Ok(known.get(&id).cloned()),
            // Younger than what is remembered: ask the database itself, once.
            Ok(_) if tries == 1 => shared.engine.definitions_changed(),
            Ok(_) => return Ok(None),
            Err(problem) if tries >= DEFINITION_TRIES => return Err(problem),
            Err(_) => {
                sleep(wait).await;
                wait *= 2;
            }
        }
        tries += 1;
    }
}

/// Runs the work beside its log writer, then judges what came out; none when the lease is lost.
async fn execute(
    shared: &Arc<Shared>,
    running: &Arc<Running>,
    executor: Arc<dyn Executor>,
    rules: JobRules,
) -> Option<Finish> {
    let redactor = shared.engine.config().secrets.redactor().knowing(&running.job.payload);
    let max_json = shared.engine.config().max_json_bytes;
    let clock = shared.engine.clock().clone();
    let desk = Desk::new(shared.engine.clone(), &running.job, shared.config.lease, running.stop.clone());
    let ctx = Ctx::new(rules, redactor, max_json, clock, running.stop.clone()).with_desk(desk);
    let ctx = Arc::new(ctx);
    let ctx = running.ctx.get_or_init(|| ctx);
    let done = CancellationToken::new();
    let work = async {
        let outcome = run_with_timeout(running, ctx, executor).await;
        ctx.logs().close();
        done.cancel();
        outcome
    };
    let (outcome, ()) = tokio::join!(work, log_writer::run(shared, running, ctx, &done));
    if ctx.has_progress() {
        renewer::flush(shared, running).await;
    }
    let outcome = executor::fit_to_keep(outcome, ctx);
    let ending = executor::judge(outcome.end, running.stop.reason(), &ctx.rules)?;
    Some(Finish {
        ending: reports::bounded(ending, &ctx.redactor),
        result: outcome.result,
        facts: outcome.facts,
        policy: ctx.rules.retry.clone(),
        ..plain_finish(running, Ending::Completed)
    })
}

/// In a task of its own, so that a panic is an outcome like any other.
async fn run_with_timeout(running: &Arc<Running>, ctx: &Arc<Ctx>, executor: Arc<dyn Executor>) -> Outcome {
    let patience = executor.patience(&running.job);
    let task = {
        let (running, ctx) = (running.clone(), ctx.clone());
        // A spawned task begins outside of every span: what the executor logs belongs to the attempt too.
        tokio::spawn(async move { executor.run(&running.job, &ctx).await }.in_current_span())
    };
    let mut task = AbortOnDropHandle::new(task);
    let overdue = async {
        tokio::select! {
            () = sleep(ctx.rules.timeout) => running.stop.raise(Stop::TimedOut),
            _ = ctx.stopped() => {}
        }
        sleep(patience).await;
    };
    tokio::select! {
        ended = &mut task => ended.unwrap_or_else(|error| panicked(running, error)),
        () = overdue => {
            ctx.note("It did not stop in time and was dropped.");
            Outcome { end: End::Stopped, result: None, facts: AttemptFacts::default() }
        }
    }
}

fn panicked(running: &Running, error: tokio::task::JoinError) -> Outcome {
    let what = match error.try_into_panic() {
        Ok(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
        }
        Err(error) => error.to_string(),
    };
    tracing::error!(job = running.job.lease.number, panic = what, "a handler panicked");
    Outcome::bug("panic", format!("The handler panicked: {what}"))
}

fn plain_finish(running: &Running, ending: Ending) -> Finish {
    let lease = running.job.lease.clone();
    Finish {
        // One lease ends once: the same token when a write has to be repeated.
        token: Some(lease.lease_id.to_string()),
        lease,
        ending,
        result: None,
        facts: AttemptFacts::default(),
        policy: None,
    }
}
