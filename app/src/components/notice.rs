//! Messages of the page before, problems, and empty states that say what to do next.

use super::icon::{self, Icon};
use crate::ssr::Flash;
use leasehold_types::{Problem, ProblemCode};
use leptos::prelude::*;

/// Good news is a polite status, a problem is an alert. A live part (see `islands::morph`): where the page that is read
/// again has one without a message, the message goes; where it has none, the message stays.
#[component]
pub fn FlashMessage(
    flash: Flash,
    /// The page shows a state that makes older messages misleading.
    #[prop(optional)]
    settled: bool,
) -> impl IntoView {
    let is_empty = flash.notice.is_none() && flash.problem.is_none();
    if is_empty && !settled {
        return None;
    }
    let notice = flash.notice.map(|text| {
        view! {
            <div class="notice notice-good" role="status">
                <Icon d=icon::DONE />
                <p>{text}</p>
            </div>
        }
    });
    let problem = flash.problem.map(|problem| view! { <ProblemMessage problem /> });
    Some(view! {
        <div id="message" data-live="">
            {notice}
            {problem}
        </div>
    })
}

#[component]
pub fn ProblemMessage(problem: Problem) -> impl IntoView {
    // Said already: by the title, or beside the field it is about.
    let by_title = problem.detail.trim_end_matches('.') == problem.code.title();
    let repeats = by_title || problem.errors.iter().any(|e| e.message == problem.detail);
    let detail = (!repeats).then(|| view! { <p>{problem.detail.clone()}</p> });
    let unplaced: Vec<_> = problem.errors.iter().filter(|e| e.field == "payload").collect();
    let unplaced = (!unplaced.is_empty()).then(|| {
        view! { <ul>{unplaced.into_iter().map(|e| view! { <li>{e.message.clone()}</li> }).collect_view()}</ul> }
    });
    view! {
        <div class="notice notice-bad" role="alert">
            <Icon d=icon::ALERT />
            <div>
                <strong>{headline(&problem)}</strong>
                {detail}
                {unplaced}
            </div>
        </div>
    }
}

/// What people read first. A form whose mistakes are marked needs no word about requests.
fn headline(problem: &Problem) -> &'static str {
    match (problem.code, problem.errors.len()) {
        (ProblemCode::InvalidInput, 1) => "Please correct the marked field",
        (ProblemCode::InvalidInput, 2..) => "Please correct the marked fields",
        (code, _) => code.title(),
    }
}

/// For a browser that will lose its session: it keeps the cookie only by https, or on the machine itself.
#[component]
pub fn PlainHttp(
    /// What stands in the address bar.
    host: String,
) -> impl IntoView {
    // The server itself was reached, so the tunnel leads to the same port.
    let port =
        host.rsplit_once(':').map(|(_, port)| port).filter(|port| port.bytes().all(|b| b.is_ascii_digit()));
    let tunnel = format!("ssh -L 3000:127.0.0.1:{} …", port.unwrap_or("80"));
    view! {
        <div class="notice notice-bad" role="alert">
            <Icon d=icon::ALERT />
            <div>
                <strong>"You cannot sign in by plain http"</strong>
                <p>
                    "This page came by http from " <code>{host}</code>
                    ". Browsers keep Leasehold’s session cookie only by https, or on the machine that runs it. One of \
                     these helps:"
                </p>
                <ul>
                    <li>"put a proxy with TLS in front, and open its https address;"</li>
                    <li>
                        "open a tunnel, " <code>{tunnel}</code> ", and then "
                        <code>"http://127.0.0.1:3000"</code> ";"
                    </li>
                    <li>
                        "on a network you trust, start the server with " <code>"JOBS_INSECURE_COOKIES=true"</code> "."
                    </li>
                </ul>
            </div>
        </div>
    }
}

#[component]
pub fn Empty(
    icon: &'static str,
    #[prop(into)] title: String,
    /// What to do next.
    children: Children,
) -> impl IntoView {
    view! {
        <div class="empty">
            <Icon d=icon />
            <h2>{title}</h2>
            {children()}
        </div>
    }
}
