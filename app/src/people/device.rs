//! The cookie by which a browser is known to have signed in before. It opens nothing; see `leasehold_queue::devices`.

use crate::ssr::SecureCookies;
use axum::http::{HeaderValue, header, request::Parts};
use leasehold_queue::devices::REMEMBERED;
use leptos::prelude::*;
use leptos_axum::ResponseOptions;

const NAME: &str = "leasehold-device";

fn is_secure(parts: &Parts) -> bool {
    parts.extensions.get::<SecureCookies>().is_none_or(|secure| secure.0)
}

fn name(secure: bool) -> String {
    if secure { format!("__Host-{NAME}") } else { NAME.to_owned() }
}

/// What this browser keeps.
pub fn token() -> Option<String> {
    let parts = expect_context::<Parts>();
    let name = name(is_secure(&parts));
    let cookies = parts.headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}

/// Has this browser keep it.
pub fn keep(token: &str) {
    let secure = is_secure(&expect_context::<Parts>());
    let (name, age) = (name(secure), REMEMBERED.as_secs());
    let flag = if secure { "; Secure" } else { "" };
    let cookie = format!("{name}={token}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax{flag}");
    if let (Some(response), Ok(cookie)) = (use_context::<ResponseOptions>(), HeaderValue::from_str(&cookie)) {
        response.append_header(header::SET_COOKIE, cookie);
    }
}
