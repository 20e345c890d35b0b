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
use leasehold_types::{
    Problem, Timestamp,
    id::short_worker,
    view::{WorkerList, WorkerView},
};
use leptos::prelude::*;
use serde_json::Value;

const COMMANDS_SHOWN: usize = 20;

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
            let actor = Actor::user(user);
            let scope = Scope::new(Reach::All, actor, Permission::Govern);
            let engine = ssr::door().engine;
            let (list, providers) = (engine.workers(&scope).await?, engine.providers(&scope).await?);
            Ok((frame, list, providers))
        },
        |(frame, list, providers)| {
            let now = frame.now;
            view! {
                <Layout frame here=Here::Workers title="Workers">
                    <PageHead title="Workers" />
                    {if list.workers.is_empty() { none().into_any() } else { table(list, now).into_any() }}
                    <Providers providers now />
                </Layout>
            }
            .into_any()
        },
    )
}

fn table(list: WorkerList, now: Timestamp) -> impl IntoView {
    let cut = cut(&list).map(|text| view! { <p class="muted">{text}</p> });
    let rows = list.workers.into_iter().map(|worker| row(worker, now)).collect_view();
    view! {
        <div class="table-frame">
            <table class="table">
                <caption class="visually-hidden">"Workers, most recent heartbeat first"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Worker"</th>
                        <th scope="col">"State"</th>
                        <th scope="col" class="number-cell">"Running"</th>
                        <th scope="col" class="middling">"Last heartbeat"</th>
                        <th scope="col" class="wide">"Started"</th>
                        <th scope="col" class="wide">"Version"</th>
                        <th scope="col" class="wide">"Can run"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        {cut}
    }
}

/// When there are more than are listed.
fn cut(list: &WorkerList) -> Option<String> {
    let (listed, all) = (list.workers.len() as i64, list.live + list.stale);
    (all > listed).then(|| {
        format!(
            "The {listed} heard of last. There are {all} workers: {} alive, {} silent.",
            list.live, list.stale
        )
    })
}

fn row(worker: WorkerView, now: Timestamp) -> impl IntoView {
    let state = if worker.stale {
        view! { <Badge tone=Tone::Warning label="Stale" /> }
    } else {
        view! { <Badge tone=Tone::Completed label="Alive" /> }
    };
    let remote =
        (worker.metadata["kind"] == "remote").then(|| view! { " " <code class="tag">"over HTTP"</code> });
    let reduced = reduced(&worker).map(|text| view! { <div class="muted">{text}</div> });
    let silent =
        worker.silent.as_ref().map(|silent| view! { <div class="muted">{silent.text.clone()}</div> });
    let more = worker.commands.len().saturating_sub(COMMANDS_SHOWN);
    let more = (more > 0).then(|| view! { <span class="muted">{format!("and {more} more")}</span> });
    let commands = worker.commands.into_iter().take(COMMANDS_SHOWN);
    let commands = commands.map(|c| view! { <code class="tag">{c}</code> " " }).collect_view();
    view! {
        <tr>
            <th scope="row" title=worker.worker_id.clone()>
                {short_worker(&worker.worker_id).to_owned()} {remote}
            </th>
            <td class="worker-state">{state} {silent} {reduced}</td>
            <td class="number-cell">{worker.running_count}</td>
            <td class="middling muted">
                <Ago at=worker.last_seen_at now />
            </td>
            <td class="wide muted">
                <Ago at=worker.started_at now />
            </td>
            <td class="wide muted">{worker.version}</td>
            <td class="wide">{commands} {more}</td>
        </tr>
    }
}

/// “Fails often, so fewer run at a time: convert 2 of 8.”
fn reduced(worker: &WorkerView) -> Option<String> {
    let kinds = worker.metadata["reduced"].as_array().filter(|kinds| !kinds.is_empty())?;
    let text = |kind: &Value| {
        Some(format!("{} {} of {}", kind["job_type"].as_str()?, kind["to"].as_u64()?, kind["of"].as_u64()?))
    };
    let kinds = kinds.iter().filter_map(text).collect::<Vec<_>>().join(", ");
    Some(format!("Fails often, so fewer run at a time: {kinds}."))
}

fn none() -> impl IntoView {
    view! {
        <Empty icon=icon::WORKERS title="No live workers">
            <p>
                "Jobs wait until one is running. Start one with " <code>"leasehold worker"</code>
                ", or run the server with a built-in one: " <code>"leasehold serve --workers 4"</code>
            </p>
        </Empty>
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn worker(metadata: Value) -> WorkerView {
        WorkerView {
            worker_id: "w".into(),
            hostname: "w".into(),
            version: String::new(),
            queues: vec![],
            commands: vec![],
            running_count: 0,
            started_at: Timestamp::default(),
            last_seen_at: Timestamp::default(),
            metadata,
            stale: false,
            silent: None,
        }
    }

    #[test]
    fn a_list_that_is_cut_says_so() {
        let workers = vec![worker(Value::Null); 2];
        assert_eq!(cut(&WorkerList { workers: workers.clone(), live: 1, stale: 1 }), None);
        let text = cut(&WorkerList { workers, live: 5, stale: 1 }).unwrap();
        assert!(text.contains("There are 6 workers: 5 alive, 1 silent."), "{text}");
    }

    #[test]
    fn what_runs_less_is_said_in_words() {
        let some = json!({"reduced": [{"domain": "decks", "job_type": "convert", "to": 2, "of": 8}]});
        assert_eq!(
            reduced(&worker(some)).as_deref(),
            Some("Fails often, so fewer run at a time: convert 2 of 8.")
        );
        for none in [json!({"reduced": []}), json!({}), Value::Null] {
            assert_eq!(reduced(&worker(none)), None);
        }
    }
}
