//! `leasehold prune`, `ttl` and `archive-meta`.

use super::{Target, call::Call, run, show};
use crate::cli::Out;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Where a sweep looks.
#[derive(Args)]
struct Place {
    #[arg(long)]
    domain: Option<String>,
    #[arg(long)]
    queue: Option<String>,
    #[arg(long, alias = "job_type")]
    job_type: Option<String>,
}

impl Place {
    fn put_into(self, body: &mut Value) {
        for (name, value) in [("domain", self.domain), ("queue", self.queue), ("job_type", self.job_type)] {
            if let Some(value) = value {
                body[name] = json!(value);
            }
        }
    }
}

/// Remove jobs that ended long ago.
#[derive(Args)]
pub struct Prune {
    /// Which ends; several between commas.
    #[arg(long, value_delimiter = ',', default_values_t = ["completed", "failed", "cancelled"].map(str::to_owned))]
    statuses: Vec<String>,
    #[arg(long, alias = "older_than_days", value_name = "DAYS")]
    older_than_days: u32,
    /// Only count.
    #[arg(long, alias = "dry_run")]
    dry_run: bool,
    /// With --dry-run: the so many largest groups.
    #[arg(long, alias = "detail_top_k", value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    detail_top_k: Option<u32>,
    /// Yes, remove them.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    target: Target,
}

impl Prune {
    pub fn run(self, out: Out) -> ExitCode {
        let mut body = json!({
            "statuses": self.statuses,
            "older_than_days": self.older_than_days,
            "dry_run": self.dry_run,
        });
        if let Some(groups) = self.detail_top_k {
            body["detail_top_k"] = json!(groups);
        }
        self.place.put_into(&mut body);
        run(&self.target, Call::post("/jobs/prune", body).confirmed(self.yes), out, show::fields)
    }
}

/// End jobs that have waited or run too long.
#[derive(Args)]
pub struct Ttl {
    /// Queued for longer than this.
    #[arg(long, alias = "age_seconds", value_name = "SECONDS")]
    age_seconds: Option<u64>,
    /// Running for longer than this, in the current attempt.
    #[arg(long, alias = "runtime_seconds", value_name = "SECONDS")]
    runtime_seconds: Option<u64>,
    #[arg(long, default_value = "cancel")]
    action: Action,
    /// Yes, end them.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Copy, ValueEnum)]
enum Action {
    Cancel,
    Fail,
}

impl Ttl {
    pub fn run(self, out: Out) -> ExitCode {
        let action = match self.action {
            Action::Cancel => "cancel",
            Action::Fail => "fail",
        };
        let mut body = json!({ "action": action });
        for (name, seconds) in [("age_seconds", self.age_seconds), ("runtime_seconds", self.runtime_seconds)]
        {
            if let Some(seconds) = seconds {
                body[name] = json!(seconds);
            }
        }
        self.place.put_into(&mut body);
        run(&self.target, Call::post("/jobs/ttl/sweep", body).confirmed(self.yes), out, show::fields)
    }
}

/// What the archive keeps of a job that was pruned.
#[derive(Args)]
pub struct ArchiveMeta {
    /// The job's number or id.
    #[arg(long, alias = "job_id", value_name = "ID")]
    job_id: String,
    #[command(flatten)]
    target: Target,
}

impl ArchiveMeta {
    pub fn run(self, out: Out) -> ExitCode {
        let call = Call::get("/jobs/archive/meta").with("job_id", Some(self.job_id));
        run(&self.target, call, out, show::fields)
    }
}
