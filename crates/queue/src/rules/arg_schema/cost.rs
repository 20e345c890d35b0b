//! What a check of one payload would cost, counted before it is run, in looks of a subschema at a value. The count stops
//! where the budget ends, so it is never dearer than the budget itself, whatever the schema.

use super::graph::{Graph, Node};
use serde_json::Value;

/// Subschemas at work inside one another: the validator's stack grows with them.
const DEEPEST: u32 = 256;
/// What one error takes, without the value it is about.
const ERROR_BYTES: u64 = 512;

/// More than may be spent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooCostly;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    pub steps: u64,
    /// What all errors could take in memory if the validator collected them.
    pub errors: u64,
    /// What the first error could take: that of an `anyOf` or `oneOf` holds a copy of the value for each thing that is
    /// wrong with each branch.
    pub first_error: u64,
}

impl Graph {
    /// An upper bound: every branch is taken, and every pattern matches.
    pub fn cost(
        &self,
        payload: &Value,
        size: usize,
        schema_size: usize,
        budget: u64,
    ) -> Result<Cost, TooCostly> {
        let (size, schema_size) = (size as u64, schema_size as u64);
        let mut count = Count { graph: self, budget, size, schema_size, depth: 0, cost: Cost::default() };
        count.look(self.root, payload, false)?;
        Ok(count.cost)
    }
}

struct Count<'a> {
    graph: &'a Graph,
    budget: u64,
    size: u64,
    schema_size: u64,
    depth: u32,
    cost: Cost,
}

impl Count<'_> {
    fn look(&mut self, at: usize, value: &Value, in_branch: bool) -> Result<(), TooCostly> {
        let node = &self.graph.nodes[at];
        self.spend(node.own + of_text(node, value))?;
        self.note_error(node, in_branch);
        if node.is_unique
            && let Value::Array(items) = value
        {
            // Few are compared in pairs, many are hashed.
            self.spend(nodes(value).saturating_mul(if items.len() <= 15 { items.len() as u64 } else { 2 }))?;
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(TooCostly);
        }
        for edge in &node.in_place {
            self.look(edge.to, value, in_branch || edge.is_branch)?;
        }
        for (_, to) in node.dependent.iter().filter(|(name, _)| value.get(name).is_some()) {
            self.look(*to, value, in_branch)?;
        }
        self.inside(node, value, in_branch)?;
        if node.unevaluated.is_some() {
            self.mark(node, value)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn inside(&mut self, node: &Node, value: &Value, in_branch: bool) -> Result<(), TooCostly> {
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let own = node.prefix.get(index).copied().or(node.items);
                    for to in own.into_iter().chain(node.contains).chain(node.unevaluated) {
                        self.look(to, item, in_branch)?;
                    }
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    self.member(node, name, member, in_branch)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn member(&mut self, node: &Node, name: &str, member: &Value, in_branch: bool) -> Result<(), TooCostly> {
        let named = node.properties.get(name).copied();
        let additional = node.additional.filter(|_| named.is_none());
        for to in named.into_iter().chain(additional).chain(node.unevaluated) {
            self.look(to, member, in_branch)?;
        }
        for (states, to) in &node.patterns {
            // Once for itself, once for `additionalProperties`.
            self.spend(2 + matching(*states, name.len()).saturating_mul(2))?;
            self.look(*to, member, in_branch)?;
        }
        match node.names {
            Some(names) => self.look(names, &Value::from(name), in_branch),
            None => Ok(()),
        }
    }

    /// What is left unevaluated is found by asking every subschema in place whether it holds, and then those inside it.
    fn mark(&mut self, node: &Node, value: &Value) -> Result<(), TooCostly> {
        let dependent =
            node.dependent.iter().filter(|(name, _)| value.get(name).is_some()).map(|(_, to)| *to);
        for to in node.in_place.iter().map(|edge| edge.to).chain(dependent) {
            self.look(to, value, true)?;
            self.mark(&self.graph.nodes[to], value)?;
        }
        Ok(())
    }

    fn spend(&mut self, steps: u64) -> Result<(), TooCostly> {
        self.cost.steps = self.cost.steps.saturating_add(steps);
        if self.cost.steps > self.budget { Err(TooCostly) } else { Ok(()) }
    }

    fn note_error(&mut self, node: &Node, in_branch: bool) {
        let schema = if node.is_not { self.schema_size } else { 0 };
        let plain = ERROR_BYTES + schema;
        self.cost.errors = self.cost.errors.saturating_add(plain);
        if in_branch {
            // A value takes more memory than its text.
            let copied = plain + self.size.saturating_mul(4);
            self.cost.errors = self.cost.errors.saturating_add(copied);
            self.cost.first_error = self.cost.first_error.saturating_add(copied);
        }
    }
}

/// Lengths, formats and patterns read all of a text.
fn of_text(node: &Node, value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64 / 64 + matching(node.per_byte, text.len()),
        _ => 0,
    }
}

/// A step of an automaton is a small part of a look.
fn matching(states: u64, length: usize) -> u64 {
    states.saturating_mul(length as u64) / 64
}

fn nodes(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(nodes).sum::<u64>(),
        Value::Object(members) => 1 + members.values().map(nodes).sum::<u64>(),
        Value::String(text) => 1 + text.len() as u64 / 64,
        _ => 1,
    }
}
