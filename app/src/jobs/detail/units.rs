//! The calls a composite job makes: how many are where, and the first of them.

use crate::components::badge::{Badge, Tone};
use leasehold_types::unit::{UnitRow, UnitState, UnitsView};
use leptos::prelude::*;

/// Nothing for a job that makes no calls.
#[component]
pub fn Units(units: UnitsView) -> impl IntoView {
    let total = units.total();
    (total > 0).then(|| {
        let counts = units.counts.iter().map(|(state, count)| {
            let label = format!("{count} {}", state.label().to_lowercase());
            view! { <Badge tone=Tone::of_unit(*state) label /> }
        });
        let counts = counts.collect_view();
        let shown = i64::try_from(units.rows.len()).unwrap_or(total);
        let more = (shown < total)
            .then(|| view! { <p class="muted">"The first " {shown} " of " {total} " are shown."</p> });
        let rows = units.rows.into_iter().map(row).collect_view();
        view! {
            <section class="card" aria-label="Work units" data-key="units">
                <div class="card-head">
                    <h2>"Work units"</h2>
                    <p class="unit-counts">{counts}</p>
                </div>
                <div class="unit-table" tabindex="0" role="region" aria-label="The units">
                    <table class="table">
                        <caption class="visually-hidden">"Work units in the order they were asked for"</caption>
                        <thead>
                            <tr>
                                <th scope="col">"Unit"</th>
                                <th scope="col">"Provider"</th>
                                <th scope="col">"State"</th>
                                <th scope="col" class="number-cell">"Tries"</th>
                            </tr>
                        </thead>
                        <tbody>{rows}</tbody>
                    </table>
                </div>
                {more}
            </section>
        }
    })
}

fn row(unit: UnitRow) -> impl IntoView {
    let provider = unit.provider.unwrap_or_else(|| format!("any {}", unit.kind));
    let local = unit.is_local.then(|| view! { " " <span class="tag">"local, deterministic"</span> });
    let waits = unit.state == UnitState::Queued && unit.attempts > 0;
    let badge = match waits {
        true => view! { <Badge tone=Tone::Retrying /> },
        false => view! { <Badge tone=Tone::of_unit(unit.state) label=unit.state.label() /> },
    };
    // An error that a later try has made good is history.
    let error = (unit.state == UnitState::Failed || waits).then_some(unit.error_message).flatten();
    let error = error.map(|message| {
        let code = unit.error_code.map(|code| view! { <code>{code}</code> " " });
        view! { <p class="error-line">{code} {message}</p> }
    });
    view! {
        <tr data-key=format!("unit-{}", unit.id)>
            <th scope="row">{unit.name} {error}</th>
            <td class="muted">{provider} {local}</td>
            <td>{badge}</td>
            <td class="number-cell">{unit.attempts}</td>
        </tr>
    }
}
