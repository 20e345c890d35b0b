//! Providers: who answers the calls of composite jobs, and how much of their limits is used.

use crate::components::{
    badge::{Badge, Tone},
    time::Ago,
};
use leasehold_types::{Timestamp, unit::ProviderView};
use leptos::prelude::*;

#[component]
pub fn Providers(providers: Vec<ProviderView>, now: Timestamp) -> impl IntoView {
    let none = providers.is_empty().then(|| {
        view! {
            <p class="muted">
                "No providers yet. Workers register those in their " <code>"providers.toml"</code> "."
            </p>
        }
    });
    let table = (!providers.is_empty()).then(|| table(providers, now));
    view! {
        <section class="providers" aria-labelledby="providers">
            <h2 id="providers">"Providers"</h2>
            {none}
            {table}
        </section>
    }
}

fn table(providers: Vec<ProviderView>, now: Timestamp) -> impl IntoView {
    let rows = providers.into_iter().map(|provider| row(provider, now)).collect_view();
    view! {
        <div class="table-frame">
            <table class="table">
                <caption class="visually-hidden">
                    "Providers and their limits, shared by all workers"
                </caption>
                <thead>
                    <tr>
                        <th scope="col">"Provider"</th>
                        <th scope="col" class="middling">"Type"</th>
                        <th scope="col">"State"</th>
                        <th scope="col" class="number-cell">"Running"</th>
                        <th scope="col" class="number-cell middling">"Calls per second"</th>
                        <th scope="col" class="number-cell wide">"Retries"</th>
                        <th scope="col" class="middling">"Last call"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
}

fn row(provider: ProviderView, now: Timestamp) -> impl IntoView {
    let (tone, word) =
        if provider.is_active { (Tone::Completed, "On") } else { (Tone::Cancelled, "Switched off") };
    let local = provider.is_local.then(|| view! { " " <span class="tag">"local, deterministic"</span> });
    let last_call = match provider.last_used_at {
        Some(at) => view! { <Ago at=at.min(now) now /> }.into_any(),
        None => "never".into_any(),
    };
    view! {
        <tr>
            <th scope="row">{provider.name} {local}</th>
            <td class="middling">{provider.kind.as_str()}</td>
            <td>
                <Badge tone label=word />
            </td>
            <td class="number-cell">{format!("{} of {}", provider.running, provider.max_concurrency)}</td>
            <td class="number-cell middling">{provider.requests_per_second}</td>
            <td class="number-cell wide">{provider.max_retries}</td>
            <td class="middling muted">{last_call}</td>
        </tr>
    }
}
