//! Handlers in Rust, registered by `(domain, job_type)`, each with the definition it brings along.
//!
//! A handler is a [`Builtin`]: it begins stages, keeps checkpoints and files through its [`Ctx`], and hands on every
//! [`Halt`] with `?`, so that a cancellation, a shutdown or a lost lease ends it at the next safe place. Work that
//! computes goes through [`compute::on_a_thread`], or renewals would wait for it. `docs/handlers.md` has an example.

pub mod compute;
mod decks;
mod noop;

use crate::executor::{Ctx, Executor, Halt, Outcome, Registry};
use async_trait::async_trait;
use leasehold_queue::params::{ClaimedJob, NewDefinition};
use leasehold_types::Stage;
use serde_json::Value;
use std::sync::Arc;

#[async_trait]
pub trait Builtin: Send + Sync + 'static {
    /// What kind of job it runs: payload, stages, retries, limits. Ensured in the database when a process starts.
    fn definition(&self) -> NewDefinition;

    /// One attempt. What an earlier one remembered is in `job.checkpoint`; whatever it writes must be durable before
    /// it returns, because the job is completed next.
    async fn run(&self, job: &ClaimedJob, ctx: &Ctx) -> Result<Option<Value>, Halt>;
}

/// Everything that is built in.
fn handlers() -> [Arc<dyn Builtin>; 3] {
    [Arc::new(decks::Convert), Arc::new(decks::Export), Arc::new(noop::Noop)]
}

/// The definitions of everything that is built in, to be ensured in the database.
pub fn definitions() -> Vec<NewDefinition> {
    handlers().iter().map(|handler| handler.definition()).collect()
}

/// A registry of everything that is built in.
pub fn registry() -> Registry {
    let mut registry = Registry::default();
    for handler in handlers() {
        register(&mut registry, handler);
    }
    registry
}

pub fn register(registry: &mut Registry, handler: Arc<dyn Builtin>) {
    let NewDefinition { domain, job_type, .. } = handler.definition();
    registry.register(domain, job_type, Arc::new(Run(handler)));
}

struct Run(Arc<dyn Builtin>);

#[async_trait]
impl Executor for Run {
    async fn run(&self, job: &ClaimedJob, ctx: &Ctx) -> Outcome {
        self.0.run(job, ctx).await.into()
    }
}

/// Stages that follow each other without a gap, each with where it ends.
fn stages(ends: &[(&str, u8)]) -> Vec<Stage> {
    let mut from = 0;
    let each = ends.iter().map(|(name, to)| {
        let stage = Stage { name: (*name).to_owned(), from, to: *to };
        from = *to;
        stage
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_queue::arg_schema::{self, Checker};
    use leasehold_types::{ErrorClass, stage};
    use std::collections::BTreeSet;

    #[test]
    fn every_definition_is_sound() {
        for definition in definitions() {
            let key = &definition.key;
            stage::check(&definition.stages).unwrap_or_else(|wrong| panic!("{key}: {wrong}"));
            arg_schema::check(&definition.arg_schema).unwrap_or_else(|wrong| panic!("{key}: {wrong}"));
            definition.limits.check().unwrap_or_else(|wrong| panic!("{key}: {wrong}"));
            for class in &definition.retry.retryable_classes {
                let known: ErrorClass = class.parse().unwrap_or_else(|wrong| panic!("{key}: {wrong}"));
                assert_eq!(known.as_str(), class, "{key}: policies compare the canonical word");
            }
            assert_eq!(definition.executor, "builtin");
        }
        let keys: BTreeSet<_> = definitions().into_iter().map(|d| d.key).collect();
        assert_eq!((keys.len(), registry().kinds().len()), (3, 3));
    }

    #[test]
    fn the_documented_payloads_and_stages_are_the_real_ones() {
        let document = include_str!("../../../docs/handlers.md");
        let blocks: Vec<Value> = document
            .split("```json")
            .skip(1)
            .map(|rest| serde_json::from_str(rest.split("```").next().unwrap()).unwrap())
            .collect();
        let definitions = definitions();
        let named = |key: &str| definitions.iter().find(|d| d.key == key).unwrap();
        for (key, block) in [("decks.convert", &blocks[0]), ("decks.export", &blocks[1])] {
            let checker = Checker::new(&named(key).arg_schema).unwrap();
            checker.check_now(block).unwrap_or_else(|p| panic!("{key}: {p:?}"));
        }
        for definition in &definitions {
            assert!(document.contains(&format!("`{}`", definition.key)), "{}", definition.key);
            let ends: Vec<_> = definition.stages.iter().map(|s| format!("{} {}", s.name, s.to)).collect();
            assert!(document.contains(&ends.join(", ")), "{ends:?}");
            let classes = definition.retry.retryable_classes.join(", ");
            assert!(document.contains(&classes), "{classes}");
        }
    }

    #[test]
    fn stages_follow_each_other() {
        let two = stages(&[("a", 30), ("b", 100)]);
        assert_eq!((two[0].from, two[0].to, two[1].from, two[1].to), (0, 30, 30, 100));
    }
}
