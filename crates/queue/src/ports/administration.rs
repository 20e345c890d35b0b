//! The part of the storage seam for those who run an installation: what a definition would say otherwise, what became
//! of a job that was pruned, and a look at the database itself.

use crate::{params::NewDefinition, scope::Scope, store::StoreResult};
use async_trait::async_trait;
use leasehold_types::{
    DefinitionId, DefinitionLimits, JobId, JobRef, JobStatus, Stage, TenantId, Timestamp,
    view::{Definition, RetryPolicy},
};
use serde_json::{Value, json};
use std::fmt;

/// What becomes different; the rest stays.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DefinitionChange {
    pub description: Option<String>,
    pub arg_schema: Option<Value>,
    pub timeout_seconds: Option<i32>,
    pub max_attempts: Option<i32>,
    pub retry: Option<RetryPolicy>,
    pub stages: Option<Vec<Stage>>,
    pub limits: Option<DefinitionLimits>,
    pub is_active: Option<bool>,
    pub queue: Option<String>,
}

impl DefinitionChange {
    /// The names of what is changed, for the trail.
    pub fn names(&self) -> String {
        let given = [
            ("description", self.description.is_some()),
            ("arg_schema", self.arg_schema.is_some()),
            ("timeout_seconds", self.timeout_seconds.is_some()),
            ("max_attempts", self.max_attempts.is_some()),
            ("retry", self.retry.is_some()),
            ("stages", self.stages.is_some()),
            ("limits", self.limits.is_some()),
            ("is_active", self.is_active.is_some()),
            ("queue", self.queue.is_some()),
        ];
        let names: Vec<_> = given.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect();
        names.join(", ")
    }
}

/// What somebody would have a definition say otherwise.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    pub key: String,
    pub id: DefinitionId,
    /// What has to be changed.
    pub change: DefinitionChange,
    /// Each field with what is in effect and what is wanted.
    pub fields: Vec<(&'static str, Value, Value)>,
}

impl Difference {
    /// None when both say the same. Where its jobs are (domain and type) is what makes a definition, and stays.
    pub fn between(known: &Definition, wanted: &NewDefinition) -> Option<Self> {
        let mut fields = Vec::new();
        let mut differs = |field, is: Value, wanted: Value| {
            let different = is != wanted;
            if different {
                fields.push((field, is, wanted));
            }
            different
        };
        let (k, w) = (known, wanted);
        let change = DefinitionChange {
            description: differs("description", json!(k.description), json!(w.description))
                .then(|| w.description.clone()),
            queue: differs("queue", json!(k.queue), json!(w.queue)).then(|| w.queue.clone()),
            arg_schema: differs("arg_schema", k.arg_schema.clone(), w.arg_schema.clone())
                .then(|| w.arg_schema.clone()),
            timeout_seconds: differs("timeout_seconds", json!(k.timeout_seconds), json!(w.timeout_seconds))
                .then_some(w.timeout_seconds),
            max_attempts: differs("max_attempts", json!(k.max_attempts), json!(w.max_attempts))
                .then_some(w.max_attempts),
            retry: differs("retry", json!(k.retry), json!(w.retry)).then(|| w.retry.clone()),
            stages: differs("stages", json!(k.stages), json!(w.stages)).then(|| w.stages.clone()),
            limits: differs("limits", json!(k.limits), json!(w.limits)).then(|| w.limits.clone()),
            is_active: None,
        };
        (!fields.is_empty()).then(|| Self { key: known.key.clone(), id: known.id, change, fields })
    }
}

/// `timeout_seconds: 3600 → 60; queue: "default" → "low"`.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each: Vec<_> =
            self.fields.iter().map(|(field, is, wanted)| format!("{field}: {is} → {wanted}")).collect();
        f.write_str(&each.join("; "))
    }
}

/// What the archive keeps of a job.
#[derive(Clone, PartialEq, Debug)]
pub struct ArchivedJob {
    pub number: i64,
    pub id: JobId,
    pub tenant_id: TenantId,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
    pub status: JobStatus,
    pub archived_at: Timestamp,
    pub has_payload: bool,
    pub has_result: bool,
}

/// The database as it describes itself, for `leasehold doctor`.
#[derive(Clone, PartialEq, Debug)]
pub struct Examination {
    pub database: DatabaseFacts,
    /// Ids between the oldest and the newest event, which is at least how many there are.
    pub events: i64,
    pub oldest_event_at: Option<Timestamp>,
    /// Groups whose counter differs from a recount; nothing is mended.
    pub wrong_counters: i64,
}

#[derive(Clone, PartialEq, Debug)]
pub enum DatabaseFacts {
    Sqlite {
        file: String,
        journal_mode: String,
        /// 2 is FULL.
        synchronous: i64,
        foreign_keys: bool,
        /// `ok`, or the first thing that is wrong with the file.
        sound: String,
    },
    Postgres {
        /// As `server_version_num` gives it: 170002.
        version: i64,
        max_connections: i64,
        connections: i64,
        /// A standby, or a database that was set to read only.
        read_only: bool,
        may_create: bool,
        /// How far the database's clock is ahead of ours, in seconds.
        clock_ahead: f64,
    },
}

#[async_trait]
pub trait Administration: Send + Sync + 'static {
    /// What the archive has of a job the scope reaches.
    async fn archived_job(&self, scope: &Scope, job: JobRef) -> StoreResult<Option<ArchivedJob>>;
    /// Looks, and changes nothing. Needs a current schema.
    async fn examine(&self) -> StoreResult<Examination>;
}
