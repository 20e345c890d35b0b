//! The vocabulary of states. One spelling comes out, every spelling of the seeds goes in.

use crate::Problem;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, str::FromStr};

/// A closed set of words: the canonical spelling, and the aliases a parser accepts beside it.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal $(| $alias:literal)*),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;
            fn from_str(s: &str) -> Result<Self, UnknownWord> {
                match s.trim().to_ascii_lowercase().as_str() {
                    $($word $(| $alias)* => Ok(Self::$variant),)+
                    _ => Err(UnknownWord { given: s.to_owned(), expected: &[$($word),+] }),
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
            }
        }
    };
}

/// A word outside the vocabulary, with the words that would have been understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownWord {
    pub given: String,
    pub expected: &'static [&'static str],
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "“{}” is not one of {}", self.given, self.expected.join(", "))
    }
}

impl std::error::Error for UnknownWord {}

impl UnknownWord {
    /// The answer to whoever wrote the word into this field.
    pub fn in_field(&self, field: &str) -> Problem {
        Problem::invalid(field, format!("{self}. Nothing was changed."))
    }
}

pub(crate) use words;

words! {
    /// Where a job stands.
    JobStatus {
        Queued = "queued" | "pending",
        Processing = "processing" | "running",
        Completed = "completed" | "succeeded",
        Failed = "failed",
        Cancelled = "cancelled" | "canceled",
        DeadLetter = "dead_letter",
        Quarantined = "quarantined",
    }
}

impl JobStatus {
    /// Nothing leaves a terminal state.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::DeadLetter)
    }

    /// Terminal, or parked until a person acts.
    pub const fn is_finished(self) -> bool {
        self.is_terminal() || matches!(self, Self::Quarantined)
    }

    /// What the dashboard says.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Queued => "Queued",
            Self::Processing => "Running",
            Self::Completed => "Completed",
            Self::Failed => "Failed",
            Self::Cancelled => "Cancelled",
            Self::DeadLetter => "Dead letter",
            Self::Quarantined => "Quarantined",
        }
    }
}

words! {
    /// How one execution of a job ended.
    AttemptOutcome {
        Running = "running",
        Succeeded = "succeeded" | "completed",
        Failed = "failed",
        Timeout = "timeout",
        Cancelled = "cancelled" | "canceled",
        Lost = "lost",
        /// Handed back to the queue by a worker that was shutting down.
        Released = "released",
    }
}

impl AttemptOutcome {
    pub const fn label(self) -> &'static str {
        match self {
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Timeout => "Timed out",
            Self::Cancelled => "Cancelled",
            Self::Lost => "Lost",
            Self::Released => "Released",
        }
    }
}

words! {
    /// Who asked for a job.
    Source {
        Manual = "manual",
        Event = "event",
        Schedule = "schedule",
        System = "system",
        Api = "api",
    }
}

words! {
    /// What a person may do inside one tenant; `super_admin` is a flag on the user instead.
    Role {
        Admin = "admin",
        Viewer = "viewer",
    }
}

words! {
    /// Which pipe of a command a log line came through; `system` is the worker's own voice.
    LogStream {
        Stdout = "stdout",
        Stderr = "stderr",
        System = "system",
    }
}

words! {
    /// Why an attempt failed, coarsely; decides whether another attempt makes sense.
    ErrorClass {
        ValidationError = "validation_error",
        UnsupportedFormat = "unsupported_format",
        QuotaExceeded = "quota_exceeded",
        InternalBug = "internal_bug",
        CorruptionDetected = "corruption_detected",
        NetworkTimeout = "network_timeout",
        DependencyUnavailable = "dependency_unavailable",
        RateLimited = "rate_limited" | "ai_rate_limit",
        /// What a handler reads or keeps could not be reached just now.
        TransientStorage = "transient_storage",
        ModelOverloaded = "model_overloaded",
        ResourceExhausted = "resource_exhausted",
        WorkerLost = "worker_lost",
        Timeout = "timeout",
        CommandFailed = "command_failed",
        Unknown = "unknown",
    }
}

impl ErrorClass {
    /// Another attempt would meet the same end.
    pub const fn never_retried(self) -> bool {
        matches!(
            self,
            Self::ValidationError
                | Self::UnsupportedFormat
                | Self::QuotaExceeded
                | Self::InternalBug
                | Self::CorruptionDetected
        )
    }

    /// Its author must look at it: `job.alert` is told.
    pub const fn raises_alert(self) -> bool {
        matches!(self, Self::InternalBug)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_spelling_is_understood() {
        for (word, status) in [
            ("pending", JobStatus::Queued),
            ("running", JobStatus::Processing),
            ("Succeeded", JobStatus::Completed),
            ("canceled", JobStatus::Cancelled),
            (" dead_letter ", JobStatus::DeadLetter),
        ] {
            assert_eq!(word.parse(), Ok(status), "{word}");
        }
    }

    #[test]
    fn an_unknown_word_says_what_was_expected() {
        let error = "sleeping".parse::<JobStatus>().unwrap_err().to_string();
        assert!(error.contains("sleeping") && error.contains("quarantined"), "{error}");
    }

    #[test]
    fn canonical_spellings_round_trip() {
        for status in JobStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(*status));
        }
    }
}
