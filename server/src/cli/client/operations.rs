//! `leasehold operations`: bulk changes in two steps, a plan that counts and the plan applied.

use super::{
    Target,
    call::{Call, encoded},
    run, show,
};
use crate::cli::Out;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use std::process::ExitCode;

/// Change many jobs at once: plan, apply, watch, abort.
#[derive(Args)]
pub struct Operations {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Count what would be changed, and change nothing.
    Plan(Box<Plan>),
    /// Apply a plan; the work goes on in the background.
    Apply(Apply),
    /// Stop an operation where it stands.
    Abort(Named),
    /// Show the newest operations.
    List(List),
    /// Show one operation.
    Show(Named),
}

#[derive(Clone, Copy, ValueEnum)]
enum Action {
    Cancel,
    Reschedule,
    Retry,
    RequeueQuarantined,
    Prune,
}

impl Action {
    const fn word(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Reschedule => "reschedule",
            Self::Retry => "retry",
            Self::RequeueQuarantined => "requeue_quarantined",
            Self::Prune => "prune",
        }
    }
}

#[derive(Args)]
struct Plan {
    action: Action,
    /// Why; the jobs' activity shows it.
    #[arg(long)]
    reason: Option<String>,
    /// Only jobs in these states; several between commas.
    #[arg(long, alias = "statuses", value_delimiter = ',')]
    status: Vec<String>,
    #[arg(long)]
    domain: Option<String>,
    #[arg(long)]
    queue: Option<String>,
    #[arg(long, alias = "job_type")]
    job_type: Option<String>,
    #[arg(long, alias = "error_code")]
    error_code: Option<String>,
    #[arg(long, alias = "created_after", value_name = "MOMENT")]
    created_after: Option<String>,
    #[arg(long, alias = "created_before", value_name = "MOMENT")]
    created_before: Option<String>,
    #[arg(long, alias = "completed_before", value_name = "MOMENT")]
    completed_before: Option<String>,
    /// A number, an id, or part of the type, the error or the correlation id.
    #[arg(long)]
    q: Option<String>,
    /// For reschedule: when; now if it is left out.
    #[arg(long, value_name = "MOMENT")]
    at: Option<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
struct Apply {
    /// The id that planning answered.
    id: String,
    /// Yes, change them.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
struct Named {
    /// The operation's id.
    id: String,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
struct List {
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: Option<u32>,
    /// Go on after this operation.
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    #[command(flatten)]
    target: Target,
}

impl Operations {
    pub fn run(self, out: Out) -> ExitCode {
        match self.command {
            Command::Plan(plan) => plan.run(out),
            Command::Apply(Apply { id, yes, target }) => {
                let call = Call::post(format!("/operations/{}/apply", encoded(&id)), json!({}));
                run(&target, call.confirmed(yes), out, show::operation)
            }
            Command::Abort(Named { id, target }) => {
                let call = Call::post(format!("/operations/{}/abort", encoded(&id)), json!({}));
                run(&target, call, out, show::operation)
            }
            Command::List(List { limit, before, target }) => {
                let call = Call::get("/operations").with("limit", limit).with("before", before);
                run(&target, call, out, show::operations)
            }
            Command::Show(Named { id, target }) => {
                run(&target, Call::get(format!("/operations/{}", encoded(&id))), out, show::operation)
            }
        }
    }
}

impl Plan {
    fn run(self, out: Out) -> ExitCode {
        let mut body = json!({ "action": self.action.word(), "filter": {} });
        let filter = [
            ("domain", self.domain),
            ("queue", self.queue),
            ("job_type", self.job_type),
            ("error_code", self.error_code),
            ("created_after", self.created_after),
            ("created_before", self.created_before),
            ("completed_before", self.completed_before),
            ("q", self.q),
        ];
        for (name, value) in filter {
            if let Some(value) = value {
                body["filter"][name] = json!(value);
            }
        }
        if !self.status.is_empty() {
            body["filter"]["statuses"] = json!(self.status);
        }
        for (name, value) in [("reason", self.reason), ("at", self.at)] {
            if let Some(value) = value {
                body[name] = json!(value);
            }
        }
        run(&self.target, Call::post("/operations", body), out, show::operation)
    }
}
