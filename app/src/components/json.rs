//! JSON as a tree that opens and closes without script.

use leasehold_queue::secrets::REDACTED;
use leptos::prelude::*;
use serde_json::Value;

/// How a hidden secret looks.
const MASK: &str = "••••••";
/// Longer lists are cut: a page is not a download.
const SHOWN: usize = 200;

#[component]
pub fn JsonTree(value: Value) -> impl IntoView {
    view! { <div class="json">{node(None, value, 0)}</div> }
}

fn node(key: Option<String>, value: Value, depth: usize) -> AnyView {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let size = map.len();
            let children =
                map.into_iter().take(SHOWN).map(|(k, v)| node(Some(k), v, depth + 1)).collect_view();
            branch(key, ["{", "}"], size, depth, children)
        }
        Value::Array(items) if !items.is_empty() => {
            let size = items.len();
            let children = items.into_iter().take(SHOWN).map(|v| node(None, v, depth + 1)).collect_view();
            branch(key, ["[", "]"], size, depth, children)
        }
        leaf => view! { <div class="json-row">{name(key)}{scalar(&leaf)}</div> }.into_any(),
    }
}

fn branch(
    key: Option<String>,
    brackets: [&'static str; 2],
    size: usize,
    depth: usize,
    children: Vec<AnyView>,
) -> AnyView {
    let [opening, closing] = brackets;
    let hidden = size.saturating_sub(SHOWN);
    view! {
        <details class="json-branch" open=depth < 2>
            <summary>
                {name(key)} <span class="json-mark">{opening}</span>
                <span class="json-fold">" " {size} " … " {closing}</span>
            </summary>
            <div class="json-children">{children}</div>
            {(hidden > 0).then(|| view! { <div class="json-row json-mark">"… " {hidden} " more"</div> })}
            <div class="json-mark">{closing}</div>
        </details>
    }
    .into_any()
}

fn name(key: Option<String>) -> Option<impl IntoView> {
    key.map(|key| view! { <span class="json-key">{key}</span><span class="json-mark">": "</span> })
}

fn scalar(value: &Value) -> impl IntoView + use<> {
    let (class, text) = match value {
        Value::String(s) if s == REDACTED => ("json-masked", MASK.to_owned()),
        Value::String(s) => ("json-string", format!("\"{s}\"")),
        Value::Number(n) => ("json-number", n.to_string()),
        Value::Bool(b) => ("json-word", b.to_string()),
        Value::Null => ("json-word", "null".into()),
        Value::Array(_) => ("json-mark", "[ ]".into()),
        Value::Object(_) => ("json-mark", "{ }".into()),
    };
    view! { <span class=class>{text}</span> }
}
