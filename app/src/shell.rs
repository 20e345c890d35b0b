//! The document around every page, and the policy that says what it may load.

use crate::pages::App;
use leptos::{nonce::use_nonce, prelude::*, tachys::html::InertElement};
use leptos_axum::ResponseOptions;
use leptos_meta::MetaTags;

/// Before the first paint: the chosen theme, and that there is script at all.
const EARLY: &str = "(()=>{const d=document.documentElement.dataset;d.script='on';\
    try{const t=localStorage.getItem('theme');if(t==='light'||t==='dark')d.theme=t}catch{}})()";

/// Here and not in the style sheet: a browser decides about the transition before that has arrived, and a page
/// that opts in too late is reported as a broken transition.
const TRANSITION: &str = "@view-transition{navigation:auto}";

pub fn shell(options: LeptosOptions) -> impl IntoView {
    allow_only_what_we_ship();
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <meta name="color-scheme" content="light dark" />
                <script nonce=use_nonce()>{EARLY}</script>
                <style nonce=use_nonce()>{TRANSITION}</style>
                <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
                <link rel="stylesheet" href="/style.css" />
                {hydration_scripts(options)}
                <MetaTags />
            </head>
            <body>
                <App />
            </body>
        </html>
    }
}

/// The framework writes the nonce into `crossorigin` of its links as well, where any style sheet can read it; browsers
/// take every value there for `anonymous`.
fn hydration_scripts(options: LeptosOptions) -> impl IntoView {
    let html = view! { <HydrationScripts options islands=true /> }.to_html();
    let html = match use_nonce() {
        Some(nonce) => html.replace(&format!("crossorigin=\"{nonce}\""), "crossorigin=\"anonymous\""),
        None => html,
    };
    InertElement::new(html)
}

fn allow_only_what_we_ship() {
    let (Some(nonce), Some(response)) = (use_nonce(), use_context::<ResponseOptions>()) else { return };
    let policy = format!(
        "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; style-src 'self' 'nonce-{nonce}'; \
         img-src 'self' data:; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'"
    );
    if let Ok(policy) = http::HeaderValue::from_str(&policy) {
        response.insert_header(http::header::CONTENT_SECURITY_POLICY, policy);
    }
    // Pages show one person's view of one tenant; no cache may keep them.
    response.insert_header(http::header::CACHE_CONTROL, http::HeaderValue::from_static("no-store"));
}
