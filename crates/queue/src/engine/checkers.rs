//! Schemas that were compiled are kept, because compiling one costs more than using it.

use super::Engine;
use crate::arg_schema::Checker;
use leasehold_types::{DefinitionId, Problem, ProblemCode, view::Definition};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// An installation with more kinds of job compiles some of them anew.
const MOST_KEPT: usize = 256;

pub(super) type Checkers = Mutex<HashMap<DefinitionId, Arc<Checker>>>;

impl Engine {
    /// For the schema as it is now. One that was saved before schemas were held to bounds may be refused here.
    pub(super) fn checker(&self, definition: &Definition) -> Result<Arc<Checker>, Problem> {
        let schema = &definition.arg_schema;
        let known = self.kept_checkers().get(&definition.id).cloned();
        if let Some(checker) = known.filter(|checker| checker.is_of(schema)) {
            return Ok(checker);
        }
        let made = Checker::new(schema).map_err(|why| {
            let detail = format!(
                "The JSON Schema of “{}” cannot be used. {why} Nothing was enqueued; please have the definition \
                 corrected.",
                definition.key
            );
            Problem::new(ProblemCode::InvalidPayload, detail)
        })?;
        let made = Arc::new(made);
        let mut kept = self.kept_checkers();
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        kept.insert(definition.id, made.clone());
        Ok(made)
    }

    fn kept_checkers(&self) -> std::sync::MutexGuard<'_, HashMap<DefinitionId, Arc<Checker>>> {
        self.checkers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
