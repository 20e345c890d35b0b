//! Small manners of every page: menus close on a click elsewhere and on Escape, filters apply when changed,
//! `/` goes to the search field, logs wrap or not. All of it works without script too, only with one click more.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, Event, HtmlElement, HtmlFormElement, KeyboardEvent};

pub fn teach() {
    let _ = window_event_listener_untyped("click", |event| {
        let clicked = target(&event);
        close_menus(clicked.as_ref());
        clicked.filter(|c| c.has_attribute("data-wrap")).inspect(toggle_wrap);
    });
    let _ = window_event_listener_untyped("keydown", |event| {
        if let Some(event) = event.dyn_ref::<KeyboardEvent>() {
            pressed(event);
        }
    });
    let _ = window_event_listener_untyped("change", |event| apply_filter(&event));
}

fn target(event: &Event) -> Option<Element> {
    event.target().and_then(|t| t.dyn_into().ok())
}

/// Long lines of the log beside the button wrap, or scroll sideways.
fn toggle_wrap(button: &Element) {
    let wrapped = button.get_attribute("aria-pressed").as_deref() != Some("true");
    let _ = button.set_attribute("aria-pressed", if wrapped { "true" } else { "false" });
    let log = button.closest("details").ok().flatten().and_then(|d| d.query_selector(".log").ok().flatten());
    if let Some(log) = log {
        log.set_class_name(if wrapped { "log" } else { "log log-nowrap" });
    }
}

/// Closes every open menu that the click was not in.
fn close_menus(clicked: Option<&Element>) {
    for menu in all("details.pop[open]") {
        if !clicked.is_some_and(|c| menu.contains(Some(c))) {
            let _ = menu.remove_attribute("open");
        }
    }
}

fn pressed(event: &KeyboardEvent) {
    match event.key().as_str() {
        "Escape" => {
            let open = all("details.pop[open]");
            close_menus(None);
            if let Some(summary) = open.first().and_then(|m| m.query_selector("summary").ok().flatten()) {
                focus(summary);
            }
        }
        "/" if !is_typing(event) => {
            if let Some(search) = all("input[type=search]").into_iter().next() {
                event.prevent_default();
                focus(search);
            }
        }
        _ => {}
    }
}

fn is_typing(event: &KeyboardEvent) -> bool {
    let field = target(event).is_some_and(|t| t.closest("input, textarea, select").ok().flatten().is_some());
    field || event.ctrl_key() || event.meta_key() || event.alt_key()
}

fn apply_filter(event: &Event) {
    let select = target(event).filter(|t| t.tag_name() == "SELECT");
    let form = select.and_then(|s| s.closest("form[data-auto]").ok().flatten());
    if let Some(form) = form.and_then(|f| f.dyn_into::<HtmlFormElement>().ok()) {
        let _ = form.request_submit();
    }
}

fn focus(element: Element) {
    if let Ok(element) = element.dyn_into::<HtmlElement>() {
        let _ = element.focus();
    }
}

fn all(selector: &str) -> Vec<Element> {
    let Ok(found) = document().query_selector_all(selector) else { return Vec::new() };
    (0..found.length()).filter_map(|i| found.item(i)?.dyn_into().ok()).collect()
}
