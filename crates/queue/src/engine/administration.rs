//! What those who run an installation ask for: kinds of jobs, the state of a queue, the archive.

use super::Engine;
use crate::{
    administration::{ArchivedJob, DefinitionChange, Difference},
    arg_schema,
    params::{COMMAND, NewDefinition, REMOTE},
    scope::{Permission, Scope},
    units::ProviderSpec,
};
use leasehold_types::{
    DefinitionId, DefinitionLimits, JobRef, Problem, Stage, stage,
    view::{Definition, RetryPolicy},
};
use serde_json::Value;

const LONGEST_TIMEOUT: i32 = 31_536_000;
const MOST_ATTEMPTS: i32 = 100;

/// Whether a queue gives jobs out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueueState {
    pub paused: bool,
    pub draining: bool,
}

impl Engine {
    /// The scope as the door makes it: kept to the domains its actor is confined to, if any.
    pub fn confine(&self, scope: Scope) -> Scope {
        self.config.domains.confine(scope)
    }

    /// Creates the definition, or returns the one that already has this key, unchanged: what the program brings with it.
    pub async fn ensure_definition(&self, definition: NewDefinition) -> Result<Definition, Problem> {
        Ok(self.store.ensure_definition(definition).await?)
    }

    /// Creates the provider, or takes over the settings given.
    pub async fn ensure_provider(&self, provider: ProviderSpec) -> Result<(), Problem> {
        Ok(self.store.ensure_provider(provider).await?)
    }

    /// A new kind of job: run by workers over HTTP, or the policy of a command that workers know by its key.
    pub async fn create_definition(
        &self,
        scope: &Scope,
        mut definition: NewDefinition,
        active: bool,
    ) -> Result<Definition, Problem> {
        scope.require(Permission::Govern)?;
        check_new(&definition)?;
        for (field, name) in names(&definition) {
            self.config.secrets.name(field, name)?;
        }
        self.clean_definition(Some(&mut definition.description), Some(&mut definition.arg_schema))?;
        self.check_stage_names(&definition.stages)?;
        let made = self.store.create_definition(scope, definition, active).await?;
        self.definitions_changed();
        Ok(made)
    }

    pub async fn update_definition(
        &self,
        scope: &Scope,
        id: DefinitionId,
        mut change: DefinitionChange,
    ) -> Result<Definition, Problem> {
        scope.require(Permission::Govern)?;
        check_change(&change)?;
        self.clean_definition(change.description.as_mut(), change.arg_schema.as_mut())?;
        self.check_stage_names(change.stages.as_deref().unwrap_or_default())?;
        let changed = self.store.update_definition(scope, id, change).await?;
        self.definitions_changed();
        Ok(changed)
    }

    /// By id or key, as it is in the database now.
    pub async fn definition(&self, name: &str) -> Result<Definition, Problem> {
        let all = self.store.definitions().await?;
        let found = all.into_iter().find(|known| known.key == name || known.id.to_string() == name);
        found.ok_or_else(|| Problem::not_found("This definition"))
    }

    /// Those of the domains a caller may see, or of one of them; by key.
    pub async fn seen_definitions(
        &self,
        scope: &Scope,
        domain: Option<&str>,
    ) -> Result<Vec<Definition>, Problem> {
        scope.require(Permission::View)?;
        let domains = scope.choose_domains(domain)?;
        let mut seen = self.store.definitions().await?;
        seen.retain(|known| domains.as_ref().is_none_or(|wanted| wanted.contains(&known.domain)));
        seen.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(seen)
    }

    /// By id or key, if it is of a domain the caller may see.
    pub async fn seen_definition(&self, scope: &Scope, name: &str) -> Result<Definition, Problem> {
        scope.require(Permission::View)?;
        let found = self.definition(name).await?;
        scope.check_domain(&found.domain)?;
        Ok(found)
    }

    pub async fn queue_state(&self, scope: &Scope, domain: &str, queue: &str) -> Result<QueueState, Problem> {
        scope.require(Permission::View)?;
        scope.check_domain(domain)?;
        let controls = self.store.queue_controls().await?;
        let found = controls.into_iter().find(|control| control.domain == domain && control.queue == queue);
        let state = found.map(|c| QueueState { paused: c.paused, draining: c.draining });
        Ok(state.unwrap_or_default())
    }

    pub async fn archived_job(&self, scope: &Scope, job: JobRef) -> Result<ArchivedJob, Problem> {
        scope.require(Permission::View)?;
        let found = self.store.archived_job(scope, job).await?;
        found.ok_or_else(|| Problem::not_found("An archived copy of this job"))
    }

    /// What the file of commands says otherwise than the definitions that are in effect.
    pub async fn differences(&self, wanted: &[NewDefinition]) -> Result<Vec<Difference>, Problem> {
        let known = self.store.definitions().await?;
        let of = |new: &NewDefinition| known.iter().find(|known| known.key == new.key);
        // As it would be kept; what would be refused stays, for `update_definition` to say why.
        let kept = |new: &NewDefinition| {
            let mut kept = new.clone();
            match self.clean_definition(Some(&mut kept.description), Some(&mut kept.arg_schema)) {
                Ok(()) => kept,
                Err(_) => new.clone(),
            }
        };
        Ok(wanted.iter().filter_map(|new| Difference::between(of(new)?, &kept(new))).collect())
    }

    /// What people read and fill in must not hold a secret: everybody who may see the definition sees it.
    fn clean_definition(
        &self,
        description: Option<&mut String>,
        schema: Option<&mut Value>,
    ) -> Result<(), Problem> {
        let secrets = &self.config.secrets;
        if let Some(description) = description {
            *description = secrets.words("description", description)?;
        }
        schema.map_or(Ok(()), |schema| secrets.schema("arg_schema", schema))
    }

    fn check_stage_names(&self, stages: &[Stage]) -> Result<(), Problem> {
        stages.iter().try_for_each(|stage| self.config.secrets.name("stages", &stage.name))
    }
}

fn names(new: &NewDefinition) -> [(&'static str, &str); 4] {
    [("key", &new.key), ("domain", &new.domain), ("job_type", &new.job_type), ("queue", &new.queue)]
}

fn check_new(new: &NewDefinition) -> Result<(), Problem> {
    for (field, name) in names(new) {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if !plain || !(1..=64).contains(&name.len()) {
            let message = format!("“{name}” must be 1 to 64 letters, digits, -, _ or .");
            return Err(Problem::invalid(field, message));
        }
    }
    match new.executor.as_str() {
        REMOTE => {}
        // Workers find the program by the key.
        COMMAND if new.job_type == new.key => {}
        COMMAND => return Err(Problem::invalid("job_type", "A command's job type is its key.")),
        other => {
            let message = format!("It must be “{COMMAND}” or “{REMOTE}”, not “{other}”.");
            return Err(Problem::invalid("executor", message));
        }
    }
    check_description(&new.description)?;
    check_numbers(Some(new.timeout_seconds), Some(new.max_attempts))?;
    check_retry(&new.retry)?;
    check_stages(&new.stages)?;
    new.limits.check()?;
    arg_schema::check(&new.arg_schema)
}

fn check_change(change: &DefinitionChange) -> Result<(), Problem> {
    if *change == DefinitionChange::default() {
        return Err(Problem::invalid("body", "Please say what is to be changed. Nothing was changed."));
    }
    change.description.as_deref().map_or(Ok(()), check_description)?;
    check_numbers(change.timeout_seconds, change.max_attempts)?;
    change.retry.as_ref().map_or(Ok(()), check_retry)?;
    change.stages.as_deref().map_or(Ok(()), check_stages)?;
    change.limits.as_ref().map_or(Ok(()), DefinitionLimits::check)?;
    change.arg_schema.as_ref().map_or(Ok(()), arg_schema::check)
}

fn check_description(text: &str) -> Result<(), Problem> {
    if text.chars().count() > 2_000 || text.contains('\0') {
        return Err(Problem::invalid("description", "Please keep it under 2000 characters."));
    }
    Ok(())
}

fn check_numbers(timeout: Option<i32>, attempts: Option<i32>) -> Result<(), Problem> {
    for (field, number, most) in
        [("timeout_seconds", timeout, LONGEST_TIMEOUT), ("max_attempts", attempts, MOST_ATTEMPTS)]
    {
        if number.is_some_and(|n| !(1..=most).contains(&n)) {
            return Err(Problem::invalid(
                field,
                format!("It must be from 1 to {most}. Nothing was changed."),
            ));
        }
    }
    Ok(())
}

fn check_retry(retry: &RetryPolicy) -> Result<(), Problem> {
    let sensible = |seconds: f64| seconds.is_finite() && (0.0..=86_400.0).contains(&seconds);
    if !sensible(retry.base_seconds) || !sensible(retry.cap_seconds) {
        return Err(Problem::invalid("retry", "Its seconds must be from 0 to 86400. Nothing was changed."));
    }
    Ok(())
}

fn check_stages(stages: &[Stage]) -> Result<(), Problem> {
    stage::check(stages).map_err(|why| Problem::invalid("stages", format!("{why}. Nothing was changed.")))
}
