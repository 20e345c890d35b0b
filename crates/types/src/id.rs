//! Typed ids. A job has two names: a short `number` for people and a UUIDv7 `id` for programs.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use uuid::Uuid;

macro_rules! uuid_id {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<Uuid> for $name {
            fn from(value: Uuid) -> Self {
                Self(value)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(s: &str) -> Result<Self, Self::Err> {
                s.parse().map(Self)
            }
        }
    )+};
}

uuid_id! {
    /// An organisation.
    TenantId,
    /// A person.
    UserId,
    /// The policy of one kind of job.
    DefinitionId,
    /// A job, for programs.
    JobId,
    /// An API key.
    KeyId,
    /// A rule that creates jobs.
    TriggerId,
    /// A file a job left behind.
    AttachmentId,
    /// One holding of one job by one worker; fresh at every claim.
    LeaseId,
}

/// `hostname:pid:boot-uuid`, fresh at every boot of a worker.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkerId(pub String);

impl WorkerId {
    /// The part people recognise: `hostname:pid`.
    pub fn short(&self) -> &str {
        short_worker(&self.0)
    }
}

/// The part of a worker's id that people recognise: `hostname:pid`.
pub fn short_worker(id: &str) -> &str {
    id.rsplit_once(':').map_or(id, |(head, _)| head)
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Either name of a job; every path and parameter that takes a job accepts both.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum JobRef {
    Number(i64),
    Id(JobId),
}

impl FromStr for JobRef {
    type Err = ();
    fn from_str(s: &str) -> Result<Self, ()> {
        let s = s.strip_prefix('#').unwrap_or(s);
        if let Ok(number) = s.parse::<i64>() {
            return if number > 0 { Ok(Self::Number(number)) } else { Err(()) };
        }
        s.parse().map(Self::Id).map_err(|_| ())
    }
}

impl From<JobId> for JobRef {
    fn from(id: JobId) -> Self {
        Self::Id(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_named_by_number_or_uuid() {
        assert_eq!("48213".parse(), Ok(JobRef::Number(48213)));
        assert_eq!("#7".parse(), Ok(JobRef::Number(7)));
        let id = "0192f3c4-0000-7000-8000-000000000001";
        assert_eq!(id.parse(), Ok(JobRef::Id(id.parse().unwrap())));
        for wrong in ["", "0", "-3", "summary", "12x"] {
            assert!(wrong.parse::<JobRef>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_short_worker_name_drops_the_boot_id() {
        assert_eq!(short_worker("web-2:8812:0f3c"), "web-2:8812");
        assert_eq!(short_worker("plain"), "plain");
    }
}
