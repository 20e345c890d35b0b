//! The answer to "why is it not running?".

use super::Engine;
use crate::{
    diagnosis,
    scope::{Permission, Scope},
};
use leasehold_types::{JobRef, JobStatus, Problem, view::Diagnosis};

impl Engine {
    pub async fn diagnosis(&self, scope: &Scope, job: JobRef) -> Result<Diagnosis, Problem> {
        scope.require(Permission::View)?;
        let found = self.store.diagnosis(scope, job, &self.quotas).await?;
        let mut facts = found.ok_or_else(|| Problem::not_found("This job"))?;
        if facts.status == JobStatus::Processing {
            facts.silent = self.silence_of(facts.number).await?;
        }
        let definitions = self.definitions().await?;
        let of = definitions.values().find(|d| d.domain == facts.domain && d.job_type == facts.job_type);
        Ok(diagnosis::explain(&facts, of.map(|definition| definition.executor.as_str())))
    }
}
