//! Every worker that was heard of lately; for super-admins.

use super::page;
use crate::{
    components::{
        badge::{Badge, Tone},
        icon,
        layout::{Frame, Here, Layout, PageHead},
        notice::Empty,
        time::Ago,
    },
    ssr,
    workers::providers::Providers,
};
use leasehold_queue::{Actor, Permission, Reach, Scope};
use leasehold_types::{Problem, Timestamp, id::short_worker, view::WorkerView};
use leptos::prelude::*;

#[component]
pub fn WorkersPage() -> impl IntoView {
    page(
        async {
            let frame = Frame::outside().await?;
            let user = &frame.user;
            if !user.super_admin {
                // As if it did not exist, like everything that is not theirs.
                return Err(Problem::not_found("This page"));
            }
            let actor = Actor::User { id: user.id, email: user.email.clone() };
            let scope = Scope::new(Reach::All, actor, Permission::Govern);
            let engine = ssr::door().engine;
            let (workers, providers) = (engine.workers(&scope).await?, engine.providers(&scope).await?);
            Ok((frame, workers, providers))
        },
        |(frame, workers, providers)| {
            let now = frame.now;
            view! {
                <Layout frame here=Here::Workers title="Workers">
                    <PageHead title="Workers" />
                    {if workers.is_empty() { none().into_any() } else { table(workers, now).into_any() }}
                    <Providers providers now />
                </Layout>
            }
            .into_any()
        },
    )
}

fn table(workers: Vec<WorkerView>, now: Timestamp) -> impl IntoView {
    let rows = workers.into_iter().map(|worker| row(worker, now)).collect_view();
    view! {
        <div class="table-frame">
            <table class="table">
                <caption class="visually-hidden">"Workers, newest sign of life first"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Worker"</th>
                        <th scope="col">"State"</th>
                        <th scope="col" class="number-cell">"Running"</th>
                        <th scope="col" class="middling">"Last heartbeat"</th>
                        <th scope="col" class="wide">"Started"</th>
                        <th scope="col" class="wide">"Version"</th>
                        <th scope="col" class="wide">"Commands"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
}

fn row(worker: WorkerView, now: Timestamp) -> impl IntoView {
    let state = if worker.stale {
        view! { <Badge tone=Tone::Warning label="Stale" /> }
    } else {
        view! { <Badge tone=Tone::Completed label="Alive" /> }
    };
    let commands =
        worker.commands.into_iter().map(|c| view! { <code class="tag">{c}</code> " " }).collect_view();
    view! {
        <tr>
            <th scope="row" title=worker.worker_id.clone()>
                {short_worker(&worker.worker_id).to_owned()}
            </th>
            <td>{state}</td>
            <td class="number-cell">{worker.running_count}</td>
            <td class="middling muted">
                <Ago at=worker.last_seen_at now />
            </td>
            <td class="wide muted">
                <Ago at=worker.started_at now />
            </td>
            <td class="wide muted">{worker.version}</td>
            <td class="wide">{commands}</td>
        </tr>
    }
}

fn none() -> impl IntoView {
    view! {
        <Empty icon=icon::WORKERS title="No worker is alive">
            <p>
                "Jobs wait until one is. Start a worker with " <code>"leasehold worker"</code>
                ", or serve with one built in: " <code>"leasehold serve --workers 4"</code>
            </p>
        </Empty>
    }
}
