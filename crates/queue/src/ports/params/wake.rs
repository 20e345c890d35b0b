//! Wake-ups: something changed that a waiting task may care about.

use super::NewJob;
use leasehold_types::TenantId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A wake-up that would name more lanes than this names none.
pub const MOST_LANES: usize = 8;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wake {
    /// Jobs may be ready to claim, anywhere.
    Jobs,
    /// Jobs may be ready to claim in these lanes; nothing changed elsewhere.
    JobsIn(Arc<[LaneName]>),
    /// The outbox grew.
    Events,
    /// A running job was asked to stop.
    Cancel,
}

/// Where a job waits.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct LaneName {
    pub tenant: TenantId,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
}

impl LaneName {
    fn of(job: &NewJob) -> Self {
        Self {
            tenant: job.tenant_id,
            domain: job.domain.clone(),
            queue: job.queue.clone(),
            job_type: job.job_type.clone(),
        }
    }

    fn holds(&self, job: &NewJob) -> bool {
        self.tenant == job.tenant_id
            && self.domain == job.domain
            && self.queue == job.queue
            && self.job_type == job.job_type
    }
}

impl Wake {
    /// After these jobs were made.
    pub fn made<'a>(jobs: impl IntoIterator<Item = &'a NewJob>) -> Self {
        let mut lanes: Vec<LaneName> = Vec::new();
        for job in jobs {
            if lanes.iter().any(|lane| lane.holds(job)) {
                continue;
            }
            if lanes.len() == MOST_LANES {
                return Self::Jobs;
            }
            lanes.push(LaneName::of(job));
        }
        Self::JobsIn(lanes.into())
    }

    pub fn is_about_jobs(&self) -> bool {
        matches!(self, Self::Jobs | Self::JobsIn(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use uuid::Uuid;

    #[test]
    fn a_wake_up_names_each_lane_once_and_not_too_many() {
        let tenant = TenantId(Uuid::now_v7());
        let job = |kind: &str| NewJob::new(tenant, "media", kind, json!({}));
        let Wake::JobsIn(lanes) = Wake::made(&[job("a"), job("b"), job("a")]) else { panic!("no lanes") };
        assert_eq!(lanes.iter().map(|lane| lane.job_type.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let many: Vec<_> = (0..=MOST_LANES).map(|n| job(&n.to_string())).collect();
        assert_eq!(Wake::made(&many), Wake::Jobs);
        assert!(Wake::made(&many[..MOST_LANES]).is_about_jobs());
    }
}
