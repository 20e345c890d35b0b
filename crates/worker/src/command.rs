//! The command executor: a job runs a program of the command book.
//!
//! Small steps: [`prepare`] turns the job into a call (no shell, one template one argument), [`process`] starts it
//! under a guardian, [`output`] drains both pipes for as long as anything comes, and [`end`] reads off the result.

mod end;
mod lines;
mod marker;
mod output;
mod prepare;
mod process;
mod tail;

use crate::{
    commands::{CommandBook, CommandSpec},
    executor::{Ctx, End, Executor, Outcome, Stop, failure},
};
use async_trait::async_trait;
use leasehold_queue::params::ClaimedJob;
use leasehold_types::ErrorClass;
use output::Output;
use process::{Exit, Guarded};
use std::{path::PathBuf, sync::Arc, time::Duration};

/// How long a worker that shuts down waits for a command after SIGTERM, at most.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);
/// How long after SIGKILL the guardian may take to say so.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
/// How long the pipes may stay open after the program has ended.
const PIPE_PATIENCE: Duration = Duration::from_secs(2);

pub struct CommandExecutor {
    book: Arc<CommandBook>,
    guard_program: PathBuf,
}

impl CommandExecutor {
    pub fn new(book: Arc<CommandBook>, guard_program: PathBuf) -> Self {
        Self { book, guard_program }
    }
}

#[async_trait]
impl Executor for CommandExecutor {
    fn patience(&self, job: &ClaimedJob) -> Duration {
        let grace = self.book.get(&job.job_type).map_or(Duration::ZERO, |spec| spec.grace);
        grace + KILL_PATIENCE + PIPE_PATIENCE + Duration::from_secs(3)
    }

    async fn run(&self, job: &ClaimedJob, ctx: &Ctx) -> Outcome {
        let Some(spec) = self.book.get(&job.job_type) else {
            let message = format!("This worker has no command called “{}”.", job.job_type);
            return Outcome::failed(failure("unknown_command", ErrorClass::DependencyUnavailable, message));
        };
        let call = match prepare::call(spec, job, &self.guard_program) {
            Ok(call) => call,
            Err(refused) => {
                let message = format!("The payload does not fit the command: {refused}.");
                return Outcome::failed(failure("bad_arguments", ErrorClass::ValidationError, message));
            }
        };
        match process::start(&call, &spec.resources, &self.guard_program) {
            Ok(guarded) => watch(spec, guarded, ctx).await,
            Err(error) => Outcome::failed(end::not_started(spec, &error.to_string())),
        }
    }
}

/// Drains the output and waits for the end, whichever way it comes.
async fn watch(spec: &CommandSpec, mut guarded: Guarded, ctx: &Ctx) -> Outcome {
    let (stdout, stderr) = guarded.take_pipes();
    let output = Output::new(ctx);
    let (exit, stopped) = {
        let mut draining = std::pin::pin!(output.drain(stdout, stderr));
        let mut waiting = std::pin::pin!(wait_or_stop(spec.grace, &mut guarded, ctx));
        tokio::select! {
            ended = &mut waiting => {
                // Usually the pipes close with the program; someone who escaped the guardian may hold them open.
                let _ = tokio::time::timeout(PIPE_PATIENCE, draining).await;
                ended
            }
            () = &mut draining => waiting.await,
        }
    };
    let facts = output.facts(guarded.pid(), exit.as_ref());
    match stopped {
        Some(stop) => {
            ctx.note(why_stopped(stop, ctx.rules.timeout));
            Outcome { end: End::Stopped, result: None, facts }
        }
        None => end::judge(exit, spec, &output, ctx).with_facts(facts),
    }
}

fn why_stopped(stop: Stop, timeout: Duration) -> String {
    match stop {
        Stop::Cancelled => "Stopped: the job was cancelled.".into(),
        Stop::TimedOut => format!("Stopped: the limit of {} s was reached.", timeout.as_secs()),
        Stop::ShuttingDown => "Stopped: the worker shuts down; the job goes back to the queue.".into(),
        Stop::LeaseLost => "Stopped: the lease was lost.".into(),
    }
}

/// Waits for the program's end; asked to stop, it asks the program first and insists after the grace.
async fn wait_or_stop(grace: Duration, guarded: &mut Guarded, ctx: &Ctx) -> (Option<Exit>, Option<Stop>) {
    let stop = tokio::select! {
        exit = guarded.ended(ctx) => return (Some(exit), None),
        stop = ctx.stopped() => stop,
    };
    let grace = match stop {
        Stop::LeaseLost => Duration::ZERO,
        Stop::ShuttingDown => grace.min(SHUTDOWN_GRACE),
        Stop::Cancelled | Stop::TimedOut => grace,
    };
    if !grace.is_zero() {
        guarded.terminate().await;
        tokio::select! {
            exit = guarded.ended(ctx) => return (Some(exit), Some(stop)),
            () = tokio::time::sleep(grace) => {}
            () = ctx.lease_lost() => {}
        }
    }
    guarded.kill().await;
    let exit = tokio::time::timeout(KILL_PATIENCE, guarded.ended(ctx)).await.ok();
    (exit, Some(stop))
}
