//! A job event as a browser hears it.

use crate::{JobStatus, Timestamp};
use serde::{Deserialize, Serialize};

/// One row of the outbox. `id` is the cursor a reader resumes from.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LiveEvent {
    pub id: i64,
    pub number: i64,
    pub kind: LiveKind,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
    pub at: Timestamp,
    /// The state of the job after the event.
    pub status: JobStatus,
    pub attempt: i32,
    pub progress: i16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_class: Option<String>,
    /// When it will be tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
}

macro_rules! kinds {
    ($($variant:ident = $word:literal,)+) => {
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
        pub enum LiveKind { $(#[serde(rename = $word)] $variant),+ }

        impl LiveKind {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::str::FromStr for LiveKind {
            type Err = String;
            fn from_str(s: &str) -> Result<Self, String> {
                match s { $($word => Ok(Self::$variant),)+ _ => Err(format!("“{s}” is not a kind of job event")) }
            }
        }
    };
}

kinds! {
    Created = "job.created",
    Started = "job.started",
    Progress = "job.progress",
    Log = "job.log",
    Attachment = "job.attachment",
    Retrying = "job.retrying",
    CancelRequested = "job.cancel_requested",
    Completed = "job.completed",
    Failed = "job.failed",
    DeadLettered = "job.dead_lettered",
    Quarantined = "job.quarantined",
    Cancelled = "job.cancelled",
    Requeued = "job.requeued",
    Rescheduled = "job.rescheduled",
    Alert = "job.alert",
}

impl LiveKind {
    /// The job's state moved, so views that show more than progress are out of date.
    pub const fn moves_state(self) -> bool {
        !matches!(self, Self::Progress | Self::Log | Self::Attachment | Self::Alert)
    }

    /// The event of a job that has come to `status`.
    pub const fn of_status(status: JobStatus) -> Self {
        match status {
            JobStatus::Queued => Self::Retrying,
            JobStatus::Processing => Self::Started,
            JobStatus::Completed => Self::Completed,
            JobStatus::Failed => Self::Failed,
            JobStatus::Cancelled => Self::Cancelled,
            JobStatus::DeadLetter => Self::DeadLettered,
            JobStatus::Quarantined => Self::Quarantined,
        }
    }
}
