//! Light, dark, or what the system says. The choice is kept in this browser; a script in the page's head applies
//! it before the first paint.

use crate::components::icon::{self, Icon};
use leptos::prelude::*;

const CHOICES: [(&str, &str, &str); 3] =
    [("light", "Light", icon::SUN), ("dark", "Dark", icon::MOON), ("system", "System", icon::SCREEN)];

#[island]
pub fn ThemeSwitch() -> impl IntoView {
    let chosen = RwSignal::new("system".to_owned());
    Effect::new(move |_| {
        if let Some(kept) = kept() {
            chosen.set(kept);
        }
    });
    let buttons = CHOICES.map(|(value, label, icon)| {
        view! {
            <button
                type="button"
                class="theme-choice"
                title=label
                aria-label=format!("{label} theme")
                aria-pressed=move || (chosen.get() == value).to_string()
                on:click=move |_| {
                    apply(value);
                    chosen.set(value.to_owned());
                }
            >
                <Icon d=icon />
            </button>
        }
    });
    view! {
        <div class="theme needs-script" role="group" aria-label="Theme">
            {buttons.into_iter().collect_view()}
        </div>
    }
}

#[cfg(feature = "hydrate")]
fn storage() -> Option<web_sys::Storage> {
    window().local_storage().ok().flatten()
}

#[cfg(feature = "hydrate")]
fn kept() -> Option<String> {
    storage()?.get_item("theme").ok().flatten()
}

#[cfg(feature = "hydrate")]
fn apply(theme: &str) {
    if let Some(root) = document().document_element() {
        // A browser that refuses storage still changes this page.
        let _ = match theme {
            "system" => root.remove_attribute("data-theme"),
            chosen => root.set_attribute("data-theme", chosen),
        };
    }
    if let Some(storage) = storage() {
        let _ = storage.set_item("theme", theme);
    }
}

#[cfg(not(feature = "hydrate"))]
fn kept() -> Option<String> {
    None
}

#[cfg(not(feature = "hydrate"))]
fn apply(_: &str) {}
