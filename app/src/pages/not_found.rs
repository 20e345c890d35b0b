//! Pages for what is not there and what went wrong: what happened, and where to go from here.

use super::ssr;
use crate::components::{
    icon::{self, Brand, Icon},
    title::PageTitle,
};
use leasehold_types::{Problem, ProblemCode};
use leptos::prelude::*;

#[component]
pub fn NotFoundPage() -> impl IntoView {
    problem_page(&Problem::new(ProblemCode::NotFound, "There is no page at this address."))
}

pub fn problem_page(problem: &Problem) -> AnyView {
    ssr::say_status(problem);
    let code = problem.code;
    let icon = if code == ProblemCode::NotFound { icon::SEARCH } else { icon::ALERT };
    let way_out = match code {
        ProblemCode::Unauthenticated => ("/login", "Sign in"),
        _ => ("/", "Go to the start page"),
    };
    view! {
        <PageTitle text=format!("{} · Leasehold", code.title()) />
        <main class="lone" id="content">
            <Brand />
            <div class="card lone-card lone-message">
                <Icon d=icon />
                <p class="muted figure">{code.status()}</p>
                <h1>{code.title()}</h1>
                <p>{problem.detail.clone()}</p>
                <a class="button" href=way_out.0>
                    {way_out.1}
                </a>
            </div>
        </main>
    }
    .into_any()
}
