//! JSON as a tree that opens and closes without script. Only so much of it: a page is not a download.

use leasehold_queue::secrets::REDACTED;
use leptos::prelude::*;
use serde_json::Value;

/// How a hidden secret looks.
const MASK: &str = "••••••";
/// Of one list or object.
const ENTRIES: usize = 200;
/// Of one text or name, in characters.
const TEXT: usize = 1_000;
/// A branch with more entries is closed at first.
const OPEN: usize = 20;
/// Of everything.
const NODES: usize = 2_000;
const BYTES: usize = 128 * 1_024;
/// Deeper values are not shown: browsers give up long before our parser does.
const DEPTH: usize = 60;

/// What may still be shown.
struct Budget {
    nodes: usize,
    bytes: usize,
    is_cut: bool,
}

impl Budget {
    fn full() -> Self {
        Self { nodes: NODES, bytes: BYTES, is_cut: false }
    }

    /// Pays for one value; false when nothing more may be shown.
    fn pay(&mut self) -> bool {
        self.nodes = self.nodes.saturating_sub(1);
        let left = self.nodes > 0 && self.bytes > 0;
        self.is_cut |= !left;
        left
    }

    /// As much of a text as may be shown.
    fn text(&mut self, text: &str) -> String {
        let mut shown: String = text.chars().take(TEXT).collect();
        self.bytes = self.bytes.saturating_sub(shown.len());
        if shown.len() < text.len() {
            self.is_cut = true;
            shown.push('…');
        }
        shown
    }
}

/// A card with the value and a link to all of it.
#[component]
pub fn JsonCard(
    title: &'static str,
    value: Value,
    /// Where the whole of it is.
    href: String,
) -> impl IntoView {
    let mut budget = Budget::full();
    let tree = node(None, &value, 0, &mut budget);
    let label = format!("Download the {} as JSON", title.to_lowercase());
    let cut = budget.is_cut.then(
        || view! { <p class="muted cut-note">"This is only a part of it. The download has everything."</p> },
    );
    view! {
        <section class="card" data-key=format!("json-{title}")>
            <div class="card-head">
                <h2>{title}</h2>
                <a class="quiet-link" href=href download="" aria-label=label>"Download"</a>
            </div>
            <div class="json">{tree}</div>
            {cut}
        </section>
    }
}

fn node(key: Option<&str>, value: &Value, depth: usize, budget: &mut Budget) -> AnyView {
    let name = key.map(|key| budget.text(key));
    match value {
        Value::Object(map) if !map.is_empty() => {
            let entries = map.iter().map(|(key, value)| (Some(key.as_str()), value));
            branch(name, ["{", "}"], map.len(), children(entries, depth, budget), depth)
        }
        Value::Array(items) if !items.is_empty() => {
            let entries = items.iter().map(|value| (None, value));
            branch(name, ["[", "]"], items.len(), children(entries, depth, budget), depth)
        }
        leaf => view! { <div class="json-row">{named(name)}{scalar(leaf, budget)}</div> }.into_any(),
    }
}

fn children<'a>(
    entries: impl Iterator<Item = (Option<&'a str>, &'a Value)>,
    depth: usize,
    budget: &mut Budget,
) -> Vec<AnyView> {
    let most = if depth < DEPTH { ENTRIES } else { 0 };
    let mut shown = Vec::new();
    for (place, (key, value)) in entries.enumerate() {
        if place >= most || !budget.pay() {
            budget.is_cut = true;
            break;
        }
        shown.push(node(key, value, depth + 1, budget));
    }
    shown
}

fn branch(
    name: Option<String>,
    brackets: [&'static str; 2],
    size: usize,
    children: Vec<AnyView>,
    depth: usize,
) -> AnyView {
    let [opening, closing] = brackets;
    let hidden = size.saturating_sub(children.len());
    view! {
        <details class="json-branch" open=depth == 0 || (depth < 2 && size <= OPEN)>
            <summary>
                {named(name)} <span class="json-mark">{opening}</span>
                <span class="json-fold">" " {size} " … " {closing}</span>
            </summary>
            <div class="json-children">{children}</div>
            {(hidden > 0).then(|| view! { <div class="json-row json-mark">"… " {hidden} " more"</div> })}
            <div class="json-mark">{closing}</div>
        </details>
    }
    .into_any()
}

fn named(name: Option<String>) -> Option<impl IntoView> {
    name.map(|name| view! { <span class="json-key">{name}</span><span class="json-mark">": "</span> })
}

fn scalar(value: &Value, budget: &mut Budget) -> impl IntoView + use<> {
    let (class, text) = match value {
        Value::String(s) if s == REDACTED => ("json-masked", MASK.to_owned()),
        Value::String(s) => ("json-string", format!("\"{}\"", budget.text(s))),
        Value::Number(n) => ("json-number", budget.text(&n.to_string())),
        Value::Bool(b) => ("json-word", b.to_string()),
        Value::Null => ("json-word", "null".into()),
        Value::Array(_) => ("json-mark", "[ ]".into()),
        Value::Object(_) => ("json-mark", "{ }".into()),
    };
    view! { <span class=class>{text}</span> }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(value: &Value) -> (usize, bool) {
        let mut budget = Budget::full();
        let html = node(None, value, 0, &mut budget).to_html();
        (html.len(), budget.is_cut)
    }

    #[test]
    fn a_small_value_is_shown_whole() {
        let mut budget = Budget::full();
        let html = node(None, &json!({"rows": [1, 2], "name": "ann"}), 0, &mut budget).to_html();
        assert!(html.contains("rows") && html.contains("ann") && !budget.is_cut, "{html}");
    }

    #[test]
    fn a_large_value_makes_no_large_page() {
        let deep = (0..500).fold(json!(1), |inner, _| json!([inner]));
        let wide = json!(
            (0..150).map(|_| json!((0..150).map(|n| n.to_string()).collect::<Vec<_>>())).collect::<Vec<_>>()
        );
        for value in [json!("x".repeat(1_000_000)), wide, deep, json!({"k".repeat(500_000): 1})] {
            let (bytes, is_cut) = shown(&value);
            assert!(is_cut && bytes < 1_000_000, "{bytes}");
        }
    }
}
