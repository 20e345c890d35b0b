//! A schema as a graph: which subschemas look at the same value, and which at the values inside it. What a check may
//! cost is read off this graph ([`super::cost`]), because the validator itself cannot be interrupted.

use super::pattern;
use crate::payload;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::collections::HashMap;

/// So often may one value be looked at by the subschemas that apply in place, with all references followed.
const LARGEST_FAN_OUT: u64 = 1_000;
/// So many in-place subschemas may stand inside each other, with all references followed.
const LONGEST_CHAIN: usize = 64;
/// So far may references lead before they come to something known.
const DEEPEST: usize = 128;
const MOST_PATTERNS: usize = 100;
/// States of all patterns together.
const LARGEST_PATTERNS: u64 = 100_000;

pub(super) struct Graph {
    pub nodes: Vec<Node>,
    pub root: usize,
}

/// One subschema.
#[derive(Default)]
pub(super) struct Node {
    /// What one look costs, whatever the value.
    pub own: u64,
    /// What its patterns cost per byte of text, in 64ths.
    pub per_byte: u64,
    pub is_unique: bool,
    pub is_not: bool,
    /// The same value again.
    pub in_place: Vec<Edge>,
    /// The same value again, if it has that member.
    pub dependent: Vec<(String, usize)>,
    pub properties: HashMap<String, usize>,
    /// Per pattern: what it costs per byte of a name, in 64ths.
    pub patterns: Vec<(u64, usize)>,
    pub additional: Option<usize>,
    pub names: Option<usize>,
    pub prefix: Vec<usize>,
    pub items: Option<usize>,
    pub contains: Option<usize>,
    pub unevaluated: Option<usize>,
}

#[derive(Clone, Copy)]
pub(super) struct Edge {
    pub to: usize,
    /// Of `anyOf` or `oneOf`: the validator keeps what is wrong with each of them.
    pub is_branch: bool,
}

impl Graph {
    /// The error says why a schema cannot be used.
    pub fn read(schema: &Value) -> Result<Self, String> {
        let mut anchors = HashMap::new();
        collect_anchors(schema, true, &mut anchors)?;
        let mut reader =
            Reader { schema, anchors, known: HashMap::new(), nodes: Vec::new(), patterns: 0, states: 0 };
        let root = reader.read(schema, 0)?;
        let graph = Self { nodes: reader.nodes, root };
        graph.check_fan_out()?;
        Ok(graph)
    }

    fn check_fan_out(&self) -> Result<(), String> {
        let mut weights = vec![Weight::Unknown; self.nodes.len()];
        (0..self.nodes.len()).try_for_each(|node| self.weigh(node, 0, &mut weights).map(drop))
    }

    /// How often this node makes something look at one value, and how deep its chain is.
    fn weigh(&self, node: usize, depth: usize, weights: &mut [Weight]) -> Result<(u64, usize), String> {
        match weights[node] {
            Weight::Known(looks, chain) => return Ok((looks, chain)),
            Weight::Open => {
                return Err("It leads back to itself without going deeper into the value.".into());
            }
            Weight::Unknown => weights[node] = Weight::Open,
        }
        let (mut looks, mut chain) = (1_u64, 0);
        let edges = self.nodes[node].in_place.iter().map(|edge| edge.to);
        for inner in edges.chain(self.nodes[node].dependent.iter().map(|(_, to)| *to)) {
            if depth > LONGEST_CHAIN {
                return Err(too_long_a_chain());
            }
            let (more, deeper) = self.weigh(inner, depth + 1, weights)?;
            (looks, chain) = (looks.saturating_add(more), chain.max(deeper + 1));
        }
        if looks > LARGEST_FAN_OUT {
            return Err(format!(
                "One value would be looked at more than {LARGEST_FAN_OUT} times (by `$ref`, `allOf`, `anyOf`, \
                 `oneOf`, `not`, `if` and `dependentSchemas`, with references followed)."
            ));
        }
        if chain > LONGEST_CHAIN {
            return Err(too_long_a_chain());
        }
        weights[node] = Weight::Known(looks, chain);
        Ok((looks, chain))
    }
}

#[derive(Clone, Copy)]
enum Weight {
    Unknown,
    Open,
    Known(u64, usize),
}

fn too_long_a_chain() -> String {
    format!(
        "More than {LONGEST_CHAIN} subschemas lead from one to the next without going deeper into the value."
    )
}

struct Reader<'a> {
    schema: &'a Value,
    anchors: HashMap<&'a str, &'a Value>,
    /// By where the subschema stands in memory.
    known: HashMap<usize, usize>,
    nodes: Vec<Node>,
    patterns: usize,
    states: u64,
}

impl<'a> Reader<'a> {
    fn read(&mut self, schema: &'a Value, depth: usize) -> Result<usize, String> {
        let place = std::ptr::from_ref(schema).addr();
        if let Some(known) = self.known.get(&place) {
            return Ok(*known);
        }
        if depth > DEEPEST {
            return Err(format!("Its references lead further than {DEEPEST} steps."));
        }
        let number = self.nodes.len();
        self.nodes.push(Node::default());
        self.known.insert(place, number);
        let mut node = Node { own: 1, ..Node::default() };
        if let Value::Object(map) = schema {
            node.own = 1 + map.len() as u64;
            for (keyword, value) in map {
                self.keyword(&mut node, keyword, value, depth + 1)?;
            }
        }
        self.nodes[number] = node;
        Ok(number)
    }

    fn keyword(
        &mut self,
        node: &mut Node,
        keyword: &str,
        value: &'a Value,
        depth: usize,
    ) -> Result<(), String> {
        match (keyword, value) {
            ("$ref" | "$dynamicRef", Value::String(target)) => {
                let found = self.target(target)?;
                node.in_place.push(Edge { to: self.read(found, depth)?, is_branch: false });
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(all)) => {
                for schema in all {
                    let is_branch = keyword != "allOf";
                    node.in_place.push(Edge { to: self.read(schema, depth)?, is_branch });
                }
            }
            ("not" | "if" | "then" | "else", schema) => {
                node.is_not |= keyword == "not";
                node.in_place.push(Edge { to: self.read(schema, depth)?, is_branch: false });
            }
            ("dependentSchemas" | "dependencies", Value::Object(all)) => {
                for (name, schema) in all {
                    node.dependent.push((name.clone(), self.read(schema, depth)?));
                }
            }
            ("prefixItems" | "items", Value::Array(all)) => {
                for schema in all {
                    node.prefix.push(self.read(schema, depth)?);
                }
            }
            ("items" | "additionalItems", schema) => node.items = Some(self.read(schema, depth)?),
            ("contains", schema) => node.contains = Some(self.read(schema, depth)?),
            ("additionalProperties", schema) => node.additional = Some(self.read(schema, depth)?),
            ("propertyNames", schema) => node.names = Some(self.read(schema, depth)?),
            ("unevaluatedItems" | "unevaluatedProperties", schema) => {
                node.unevaluated = Some(self.read(schema, depth)?);
            }
            ("properties", Value::Object(all)) => {
                node.own += all.len() as u64;
                for (name, schema) in all {
                    node.properties.insert(name.clone(), self.read(schema, depth)?);
                }
            }
            ("patternProperties", Value::Object(all)) => {
                for (pattern, schema) in all {
                    let states = self.pattern(pattern)?;
                    node.patterns.push((states, self.read(schema, depth)?));
                }
            }
            ("pattern", Value::String(pattern)) => node.per_byte += self.pattern(pattern)?,
            // It is compiled as one, to see whether it is one.
            ("format", Value::String(format)) if format == "regex" => node.per_byte += 4_096,
            ("uniqueItems", Value::Bool(true)) => node.is_unique = true,
            ("enum" | "const" | "required" | "dependentRequired", any) => {
                node.own += payload::bytes(any) as u64 / 16;
            }
            _ => {}
        }
        Ok(())
    }

    fn pattern(&mut self, pattern: &str) -> Result<u64, String> {
        let states = pattern::states(pattern);
        (self.patterns, self.states) = (self.patterns + 1, self.states.saturating_add(states));
        if self.patterns > MOST_PATTERNS || self.states > LARGEST_PATTERNS {
            return Err(format!(
                "Its patterns are too many or too large (at most {MOST_PATTERNS}, with {LARGEST_PATTERNS} states \
                 together once repetitions like {{1,200}} are written out)."
            ));
        }
        Ok(states)
    }

    fn target(&self, reference: &str) -> Result<&'a Value, String> {
        let nowhere = || format!("There is nothing at “{reference}”.");
        let fragment = reference.strip_prefix('#').ok_or_else(nowhere)?;
        let fragment = percent_decode_str(fragment).decode_utf8().map_err(|_| nowhere())?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.schema.pointer(&fragment).ok_or_else(nowhere);
        }
        self.anchors.get(&*fragment).copied().ok_or_else(nowhere)
    }
}

/// There is one document, so an anchor means one place. A `$id` further inside would begin another document, in which
/// `#` means something else.
fn collect_anchors<'a>(
    value: &'a Value,
    is_root: bool,
    anchors: &mut HashMap<&'a str, &'a Value>,
) -> Result<(), String> {
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| collect_anchors(item, false, anchors)),
        Value::Object(map) => {
            if !is_root && map.get("$id").is_some_and(Value::is_string) {
                return Err("`$id` may only stand at the top.".into());
            }
            for keyword in ["$anchor", "$dynamicAnchor"] {
                if let Some(Value::String(name)) = map.get(keyword)
                    && anchors.insert(name, value).is_some()
                {
                    return Err(format!("The anchor “{name}” stands there more than once."));
                }
            }
            map.values().try_for_each(|inner| collect_anchors(inner, false, anchors))
        }
        _ => Ok(()),
    }
}
