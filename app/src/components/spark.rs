//! Small charts as inline SVG: seen without script, drawn with attributes only.

use leptos::prelude::*;

const HEIGHT: f64 = 28.0;

/// Finished and failed jobs per slot, stacked; the newest slot is on the right.
#[component]
pub fn Sparkline(finished: Vec<u32>, failed: Vec<u32>) -> impl IntoView {
    let slots = finished.len().max(failed.len()).max(1);
    let at = |series: &[u32], i: usize| f64::from(series.get(i).copied().unwrap_or(0));
    let top = (0..slots).map(|i| at(&finished, i) + at(&failed, i)).fold(1.0, f64::max);
    let bars = (0..slots)
        .flat_map(|i| {
            let (good, bad) = (at(&finished, i) / top * HEIGHT, at(&failed, i) / top * HEIGHT);
            [bar(i, HEIGHT - good, good, "spark-good"), bar(i, HEIGHT - good - bad, bad, "spark-bad")]
        })
        .collect_view();
    let total: u32 = finished.iter().sum();
    let broken: u32 = failed.iter().sum();
    let label = format!("Last 5 minutes: {total} finished, {broken} failed");
    view! {
        <svg class="spark" viewBox=format!("0 0 {slots} {HEIGHT}") preserveAspectRatio="none" role="img" aria-label=label>
            {bars}
        </svg>
    }
}

fn bar(slot: usize, y: f64, height: f64, class: &'static str) -> Option<impl IntoView> {
    (height > 0.0).then(|| {
        view! {
            <rect class=class x=slot as f64 + 0.12 y=format!("{:.2}", y.max(0.0)) width="0.76" height=format!("{:.2}", height.max(1.5)) />
        }
    })
}

/// Shares of a whole, side by side. Empty when there is nothing to share.
#[component]
pub fn ShareBar(parts: Vec<(i64, &'static str)>) -> impl IntoView {
    let total: i64 = parts.iter().map(|(n, _)| n).sum();
    let mut x = 0.0;
    let segments = parts
        .into_iter()
        .filter(|(n, _)| *n > 0 && total > 0)
        .map(|(n, tone)| {
            let (from, width) = (x, n as f64 / total as f64 * 100.0);
            x += width;
            view! {
                <rect class=format!("fill-{tone}") x=format!("{from:.2}%") y="0" width=format!("{width:.2}%") height="6"></rect>
            }
        })
        .collect_view();
    view! {
        <svg class="share-bar" width="100%" height="6" aria-hidden="true">
            <rect class="fill-track" x="0" y="0" width="100%" height="6"></rect>
            {segments}
        </svg>
    }
}
