//! `leasehold tenant add`, `set` and `limit`.

use super::{Out, terminal};
use crate::{config::Config, store};
use clap::{Args, Subcommand};
use leasehold_queue::params::TenantChange;
use leasehold_types::{Problem, TenantLimits};
use serde_json::json;

#[derive(Subcommand)]
pub enum Tenant {
    /// Make a tenant.
    Add {
        name: String,
        /// Its part of web addresses; made from the name when left out.
        #[arg(long)]
        slug: Option<String>,
        /// Its time zone, by its IANA name, such as Europe/Berlin; UTC when left out. Schedules are read on its clock.
        #[arg(long, value_name = "ZONE")]
        timezone: Option<String>,
    },
    /// Change a tenant's name or time zone.
    Set {
        slug: String,
        #[arg(long)]
        name: Option<String>,
        /// By its IANA name, such as Europe/Berlin. Schedules that were made before keep theirs.
        #[arg(long, value_name = "ZONE", required_unless_present = "name")]
        timezone: Option<String>,
    },
    /// Show a tenant's limits, or change those that are given.
    Limit {
        slug: String,
        #[command(flatten)]
        limits: Limits,
    },
}

#[derive(Args)]
pub struct Limits {
    /// Jobs that may wait.
    #[arg(long, value_name = "N")]
    max_queued: Option<i64>,
    /// Jobs that may come in per minute.
    #[arg(long, value_name = "N")]
    submits_per_minute: Option<i64>,
    /// Jobs that may run at a time.
    #[arg(long, value_name = "N")]
    max_in_flight: Option<i64>,
    /// Lift every limit that is not given.
    #[arg(long)]
    none: bool,
}

impl Limits {
    /// What is to stand there; none when nothing was asked to change.
    fn onto(self, now: &TenantLimits) -> Option<TenantLimits> {
        let given = [self.max_queued, self.submits_per_minute, self.max_in_flight];
        if !self.none && given.iter().all(Option::is_none) {
            return None;
        }
        let kept = if self.none { TenantLimits::default() } else { now.clone() };
        Some(TenantLimits {
            max_queued: self.max_queued.or(kept.max_queued),
            submits_per_minute: self.submits_per_minute.or(kept.submits_per_minute),
            max_in_flight: self.max_in_flight.or(kept.max_in_flight),
        })
    }
}

impl Tenant {
    pub async fn run(self, config: Config, out: Out) -> Result<(), Problem> {
        let engine = store::engine(&config).await?;
        let scope = terminal();
        match self {
            Self::Add { name, slug, timezone } => {
                let tenant =
                    engine.create_tenant(&scope, &name, slug.as_deref(), timezone.as_deref()).await?;
                out.say(&format!("Tenant “{}” is there, as {}.", tenant.name, tenant.slug), &json!(tenant));
            }
            Self::Set { slug, name, timezone } => {
                let tenant = engine.tenant(&scope, &slug).await?;
                let change = TenantChange { name, timezone };
                let tenant = engine.update_tenant(&scope, tenant.id, change).await?;
                out.say(&format!("{slug} is “{}”, in {}.", tenant.name, tenant.timezone), &json!(tenant));
            }
            Self::Limit { slug, limits } => {
                let mut tenant = engine.tenant(&scope, &slug).await?;
                if let Some(limits) = limits.onto(&tenant.limits) {
                    engine.set_tenant_limits(&scope, tenant.id, limits.clone()).await?;
                    tenant.limits = limits;
                }
                out.say(&in_words(&tenant.slug, &tenant.limits), &json!(tenant));
            }
        }
        Ok(())
    }
}

fn in_words(slug: &str, limits: &TenantLimits) -> String {
    let parts = [
        (limits.max_queued, "waiting"),
        (limits.submits_per_minute, "coming in per minute"),
        (limits.max_in_flight, "running at a time"),
    ];
    let parts: Vec<_> = parts.iter().filter_map(|(max, what)| Some(format!("{} {what}", (*max)?))).collect();
    if parts.is_empty() {
        return format!("{slug} has no limits.");
    }
    format!("{slug} may have at most this many jobs: {}.", parts.join(", "))
}
