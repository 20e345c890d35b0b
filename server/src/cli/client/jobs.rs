//! `leasehold jobs …`: look at jobs and steer them.

use super::{
    Target,
    call::{Call, encoded},
    run, show, tail,
};
use crate::cli::Out;
use clap::{Args, Subcommand};
use serde_json::json;
use std::process::ExitCode;

#[derive(Subcommand)]
pub enum Jobs {
    /// List jobs, newest first.
    List(Box<List>),
    /// Count jobs by domain, queue and type.
    Stats(Stats),
    /// Show one job.
    Show(One),
    /// Follow one job until it ends; the exit code says how it ended.
    Tail(One),
    /// Cancel a waiting job, or ask a running one to stop.
    Cancel {
        #[command(flatten)]
        one: One,
        /// Why; the job's activity shows it.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Run a job that has ended once more.
    Retry(One),
}

#[derive(Args)]
pub struct One {
    /// The job's number or id.
    job: String,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
pub struct Stats {
    #[arg(long)]
    domain: Option<String>,
    #[arg(long)]
    queue: Option<String>,
    #[arg(long, alias = "job_type")]
    job_type: Option<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
pub struct List {
    /// queued, processing, completed, failed, cancelled, dead_letter or quarantined; several between commas.
    #[arg(long)]
    status: Option<String>,
    #[arg(long)]
    domain: Option<String>,
    #[arg(long)]
    queue: Option<String>,
    #[arg(long, alias = "job_type")]
    job_type: Option<String>,
    #[arg(long, alias = "definition_key", value_name = "KEY")]
    definition_key: Option<String>,
    /// manual, event, schedule, system or api.
    #[arg(long)]
    source: Option<String>,
    #[arg(long, alias = "owner_user_id", value_name = "ID")]
    owner_user_id: Option<String>,
    /// Not before this moment: 2030-01-31T08:00:00Z
    #[arg(long, alias = "created_after", value_name = "TIME")]
    created_after: Option<String>,
    #[arg(long, alias = "created_before", value_name = "TIME")]
    created_before: Option<String>,
    /// Part of the type, the error or the correlation id.
    #[arg(long)]
    q: Option<String>,
    #[arg(long, default_value_t = 50)]
    limit: u32,
    /// Where the list before ended (its `next_cursor`; see --json).
    #[arg(long)]
    cursor: Option<String>,
    /// created_at, priority or status.
    #[arg(long, alias = "sort_by")]
    sort_by: Option<String>,
    /// asc or desc.
    #[arg(long, alias = "sort_order")]
    sort_order: Option<String>,
    #[command(flatten)]
    target: Target,
}

impl Jobs {
    pub fn run(self, out: Out) -> ExitCode {
        match self {
            Self::List(list) => list.run(out),
            Self::Stats(stats) => {
                let call = Call::get("/jobs/stats")
                    .with("domain", stats.domain)
                    .with("queue", stats.queue)
                    .with("job_type", stats.job_type);
                run(&stats.target, call, out, show::stats)
            }
            Self::Show(one) => run(&one.target, Call::get(one.path("")), out, show::job),
            Self::Tail(one) => tail::run(&one.target, &encoded(&one.job), out),
            Self::Cancel { one, reason } => {
                let body = reason.map_or_else(|| json!({}), |reason| json!({ "reason": reason }));
                run(&one.target, Call::post(one.path("/cancel"), body), out, show::cancelled)
            }
            Self::Retry(one) => {
                run(&one.target, Call::post(one.path("/retry"), json!({})), out, show::retried)
            }
        }
    }
}

impl One {
    fn path(&self, rest: &str) -> String {
        format!("/jobs/{}{rest}", encoded(&self.job))
    }
}

impl List {
    fn run(self, out: Out) -> ExitCode {
        let call = Call::get("/jobs/list")
            .with("status", self.status)
            .with("domain", self.domain)
            .with("queue", self.queue)
            .with("job_type", self.job_type)
            .with("definition_key", self.definition_key)
            .with("source", self.source)
            .with("owner_user_id", self.owner_user_id)
            .with("created_after", self.created_after)
            .with("created_before", self.created_before)
            .with("q", self.q)
            .with("limit", Some(self.limit))
            .with("cursor", self.cursor)
            .with("sort_by", self.sort_by)
            .with("sort_order", self.sort_order);
        run(&self.target, call, out, show::jobs)
    }
}
