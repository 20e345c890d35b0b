//! A card per queue, and the warnings above them.

use crate::{
    components::{
        badge::{Badge, Tone},
        format,
        icon::{self, Icon},
        spark::{ShareBar, Sparkline},
        time::Since,
    },
    jobs::query::JobsQuery,
};
use leasehold_types::{
    Timestamp,
    view::{Overview, QueueCard},
};
use leptos::prelude::*;

#[component]
pub fn Warnings(overview: RwSignal<Overview>) -> impl IntoView {
    let warnings = Memo::new(move |_| overview.with(warnings));
    move || {
        warnings
            .get()
            .into_iter()
            .map(|text| {
                view! {
                    <div class="notice notice-warn">
                        <Icon d=icon::ALERT />
                        <p>{text}</p>
                    </div>
                }
            })
            .collect_view()
    }
}

fn warnings(overview: &Overview) -> Vec<String> {
    overview
        .cards
        .iter()
        .filter(|card| card.unserved)
        .map(|card| {
            let waiting = format::plural(card.queued + card.scheduled, "job waits", "jobs wait");
            let age = card
                .oldest_queued_at
                .map(|at| format!(", the oldest for {}", format::duration(overview.now.seconds_since(at))));
            let age = age.unwrap_or_default();
            format!("No live worker serves {} / {}: {waiting}{age}.", card.domain, card.queue)
        })
        .collect()
}

/// All queues together over the last five minutes.
#[component]
pub fn Throughput(overview: RwSignal<Overview>) -> impl IntoView {
    let slots = Memo::new(move |_| {
        overview.with(|o| {
            let finished = summed(o.cards.iter().map(|c| c.finished_per_slot.as_slice()));
            let failed = summed(o.cards.iter().map(|c| c.failed_per_slot.as_slice()));
            (finished, failed)
        })
    });
    move || {
        let (finished, failed) = slots.get();
        let total = |series: &[u32]| series.iter().map(|n| i64::from(*n)).sum::<i64>();
        let told = format!(
            "{} finished · {} failed",
            format::count(total(&finished)),
            format::count(total(&failed))
        );
        (!finished.is_empty() || !failed.is_empty()).then(|| {
            view! {
                <section class="card throughput">
                    <div class="card-head">
                        <h2>"Throughput"</h2>
                        <span class="muted">{told}</span>
                    </div>
                    <Sparkline finished failed />
                    <div class="axis" aria-hidden="true">
                        <span>"5 min ago"</span>
                        <span>"now"</span>
                    </div>
                </section>
            }
        })
    }
}

fn summed<'a>(series: impl Iterator<Item = &'a [u32]>) -> Vec<u32> {
    series.fold(Vec::new(), |mut sum, one| {
        sum.resize(sum.len().max(one.len()), 0);
        sum.iter_mut().zip(one).for_each(|(all, n)| *all += n);
        sum
    })
}

#[component]
pub fn Cards(slug: String, overview: RwSignal<Overview>) -> impl IntoView {
    let keys = Memo::new(move |_| {
        overview.with(|o| o.cards.iter().map(|c| (c.domain.clone(), c.queue.clone())).collect::<Vec<_>>())
    });
    view! {
        <ul class="cards">
            <For
                each=move || keys.get()
                key=Clone::clone
                children=move |(domain, queue)| {
                    let href = JobsQuery::of_queue(&domain, &queue).href(&slug);
                    let card = Memo::new(move |_| {
                        overview
                            .with(|o| {
                                o.cards
                                    .iter()
                                    .find(|c| c.domain == domain && c.queue == queue)
                                    .map(|c| (c.clone(), o.now))
                            })
                    });
                    view! {
                        <li>
                            <a class="card queue-card" href=href>
                                {move || card.get().map(|(card, now)| face(card, now))}
                            </a>
                        </li>
                    }
                }
            />
        </ul>
    }
}

fn face(card: QueueCard, now: Timestamp) -> impl IntoView {
    let (queued, scheduled) = waiting(&card);
    let oldest = card.oldest_queued_at.map(|from| view! { <Since from now /> });
    let shares = vec![
        (card.queued, "queued"),
        (card.scheduled, "scheduled"),
        (card.running, "running"),
        (card.failed, "failed"),
        (card.dead_letter, "dead"),
        (card.quarantined, "quarantined"),
    ];
    let badge = if card.unserved {
        Some("No worker")
    } else if card.paused {
        Some("Paused")
    } else if card.draining {
        Some("Draining")
    } else {
        None
    };
    view! {
        <span class="queue-head">
            <strong>{card.queue.clone()}</strong>
            <span class="muted">{card.domain.clone()}</span>
            {badge.map(|label| view! { <Badge tone=Tone::Warning label /> })}
        </span>
        <span class="figures">
            {figure(card.queued, queued, "Queued", "")} {figure(card.scheduled, scheduled, "Scheduled", "")}
            {plain(card.running, "Running", "ink-running")} {plain(card.completed, "Completed", "")}
            {plain(card.failed, "Failed", "ink-failed")} {plain(card.dead_letter, "Dead letter", "ink-dead")}
            {plain(card.quarantined, "Quarantined", "ink-quarantined")}
            <span class="figure-box">
                <span class="figure figure-time">{oldest.map_or_else(|| "—".into_any(), IntoAny::into_any)}</span>
                <span class="figure-name">"Oldest"</span>
            </span>
        </span>
        <ShareBar parts=shares />
        <Sparkline finished=card.finished_per_slot failed=card.failed_per_slot />
    }
}

fn plain(n: i64, name: &'static str, ink: &'static str) -> impl IntoView {
    figure(n, format::count(n), name, ink)
}

/// What is said of the jobs that are ready and of those that wait for a time. Past the cap they are not told apart:
/// so many at least are scheduled, and so many at most are ready.
fn waiting(card: &QueueCard) -> (String, String) {
    let (queued, scheduled) = (format::count(card.queued), format::count(card.scheduled));
    if card.scheduled_capped {
        (format!("≤ {queued}"), format!("{scheduled}+"))
    } else {
        (queued, scheduled)
    }
}

/// Zero is quiet; colour is for what is there.
fn figure(n: i64, said: String, name: &'static str, ink: &'static str) -> impl IntoView {
    let class = if n == 0 { "figure figure-none" } else { "figure" };
    view! {
        <span class="figure-box">
            <span class=format!("{class} {}", if n == 0 { "" } else { ink })>{said}</span>
            <span class="figure-name">{name}</span>
        </span>
    }
}
