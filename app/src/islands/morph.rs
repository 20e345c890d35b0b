//! Changes the page on screen into the one the server would render now, touching only what differs.
//!
//! What belongs to the reader is left alone: open and closed `<details>`, what is typed into fields, the focus,
//! islands, and everything marked `data-keep`. Children with an id or a `data-key` are matched by it, others by
//! their place. A log that was at its end stays at its end.

use leptos::prelude::document;
use std::collections::HashSet;
use wasm_bindgen::JsCast;
use web_sys::{Document, Element, Node};

/// How far from its end a log still counts as being at its end.
const NEAR_END: i32 = 24;

pub fn live_parts(fresh: &Document) {
    let at_end: Vec<Element> = all(&document(), ".log").into_iter().filter(is_at_end).collect();
    for old in all(&document(), "[data-live]") {
        if let Some(new) = fresh.get_element_by_id(&old.id()) {
            morph_element(&old, &new);
        }
    }
    for log in all(&document(), ".log") {
        let is_new = log.scroll_top() == 0 && log.scroll_height() > log.client_height();
        if is_new || at_end.iter().any(|known| known.is_same_node(Some(&log))) {
            log.set_scroll_top(log.scroll_height());
        }
    }
}

pub fn scroll_logs_to_end() {
    for log in all(&document(), ".log") {
        log.set_scroll_top(log.scroll_height());
    }
}

fn is_at_end(log: &Element) -> bool {
    log.scroll_height() - log.scroll_top() - log.client_height() < NEAR_END
}

fn all(document: &Document, selector: &str) -> Vec<Element> {
    let Ok(found) = document.query_selector_all(selector) else { return Vec::new() };
    (0..found.length()).filter_map(|i| found.item(i)?.dyn_into().ok()).collect()
}

fn morph(old: &Node, new: &Node) {
    match (old.dyn_ref::<Element>(), new.dyn_ref::<Element>()) {
        (Some(old), Some(new)) => morph_element(old, new),
        _ if old.node_value() != new.node_value() => old.set_node_value(new.node_value().as_deref()),
        _ => {}
    }
}

fn morph_element(old: &Element, new: &Element) {
    let tag = old.tag_name();
    // The clock writes these by itself, in the reader's zone.
    let same_moment = tag == "TIME" && old.get_attribute("datetime") == new.get_attribute("datetime");
    if same_moment || tag == "LEPTOS-ISLAND" || old.has_attribute("data-keep") {
        return;
    }
    morph_attributes(old, new);
    if !matches!(tag.as_str(), "INPUT" | "TEXTAREA" | "SELECT") {
        morph_children(old, new);
    }
}

fn morph_attributes(old: &Element, new: &Element) {
    let kept = |name: &str| match old.tag_name().as_str() {
        "DETAILS" => name == "open",
        "INPUT" | "TEXTAREA" | "SELECT" => true,
        _ => name == "class" && old.has_attribute("data-keep-class"),
    };
    for name in new.get_attribute_names().iter().filter_map(|n| n.as_string()) {
        let value = new.get_attribute(&name).unwrap_or_default();
        if !kept(&name) && old.get_attribute(&name).as_deref() != Some(&value) {
            let _ = old.set_attribute(&name, &value);
        }
    }
    for name in old.get_attribute_names().iter().filter_map(|n| n.as_string()) {
        if !kept(&name) && !new.has_attribute(&name) {
            let _ = old.remove_attribute(&name);
        }
    }
}

fn morph_children(old: &Node, new: &Node) {
    let fresh = children(new);
    let keys: HashSet<String> = fresh.iter().filter_map(key).collect();
    let mut place = first_wanted(old.first_child(), &keys);
    for child in &fresh {
        match counterpart(old, place.as_ref(), child) {
            Some(found) => {
                if place.as_ref().is_some_and(|p| p.is_same_node(Some(&found))) {
                    place = first_wanted(found.next_sibling(), &keys);
                } else {
                    let _ = old.insert_before(&found, place.as_ref());
                }
                morph(&found, child);
            }
            None => {
                if let Ok(copy) = document().import_node_with_deep(child, true) {
                    let _ = old.insert_before(&copy, place.as_ref());
                }
            }
        }
    }
    while let Some(rest) = place {
        place = rest.next_sibling();
        let _ = old.remove_child(&rest);
    }
}

/// Skips, and removes, children with a key that is no longer there.
fn first_wanted(mut place: Option<Node>, keys: &HashSet<String>) -> Option<Node> {
    while let Some(node) = &place {
        if key(node).is_none_or(|k| keys.contains(&k)) {
            break;
        }
        let next = node.next_sibling();
        if let Some(parent) = node.parent_node() {
            let _ = parent.remove_child(node);
        }
        place = next;
    }
    place
}

/// The child that `new` is a later version of.
fn counterpart(parent: &Node, place: Option<&Node>, new: &Node) -> Option<Node> {
    let alike = |old: &Node| old.node_type() == new.node_type() && old.node_name() == new.node_name();
    match key(new) {
        Some(wanted) => {
            let here = place.filter(|p| key(p).as_ref() == Some(&wanted)).cloned();
            here.or_else(|| children(parent).into_iter().find(|c| key(c).as_ref() == Some(&wanted)))
                .filter(alike)
        }
        None => place.filter(|p| key(p).is_none() && alike(p)).cloned(),
    }
}

fn key(node: &Node) -> Option<String> {
    let element = node.dyn_ref::<Element>()?;
    element.get_attribute("data-key").or_else(|| element.get_attribute("id"))
}

fn children(node: &Node) -> Vec<Node> {
    let list = node.child_nodes();
    (0..list.length()).filter_map(|i| list.item(i)).collect()
}
