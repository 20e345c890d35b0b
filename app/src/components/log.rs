//! A log in its own box. In the browser it follows its end until the reader scrolls up.

use super::time::AtMillis;
use leasehold_types::{LogStream, view::LogLine};
use leptos::{html, prelude::*};

/// Lines kept on a page; a longer log loses its oldest ones there, not in the store.
pub const KEPT: usize = 2_000;
/// The server sends at most this many of an attempt.
const SENT: usize = 500;

/// Adds the lines that are new, in order and without repeats, whatever way they came.
pub fn append(known: &mut Vec<LogLine>, fresh: Vec<LogLine>) {
    let last = known.last().map_or(i64::MIN, |line| line.seq);
    known.extend(fresh.into_iter().filter(|line| line.seq > last));
    if known.len() > KEPT {
        known.drain(..known.len() - KEPT);
    }
}

#[component]
pub fn LogBox(
    lines: ArcRwSignal<Vec<LogLine>>,
    #[prop(into)] label: String,
    /// New lines may come.
    #[prop(into)]
    open_ended: Signal<bool>,
) -> impl IntoView {
    let frame = NodeRef::<html::Div>::new();
    let following = RwSignal::new(true);
    let wrapped = RwSignal::new(true);
    keep_at_end(frame, following, lines.clone());
    let (listed, counted, emptied) = (lines.clone(), lines.clone(), lines);
    view! {
        <LogControls following wrapped open_ended />
        <div
            class="log"
            class:log-nowrap=move || !wrapped.get()
            role="region"
            aria-label=label
            tabindex="0"
            node_ref=frame
            on:scroll=move |_| following.set(frame.get().is_none_or(|el| is_at_end(&el)))
        >
            {move || {
                (counted.with(Vec::len) >= SENT).then(|| view! { <p class="log-note">"Only the newest lines are shown."</p> })
            }}
            <For each=move || listed.get() key=|line| line.seq children=|line| view! { <Line line /> } />
            {move || {
                let text = if open_ended.get() { "Waiting for the first line…" } else { "This attempt printed nothing." };
                emptied.with(Vec::is_empty).then(|| view! { <p class="log-note">{text}</p> })
            }}
        </div>
    }
}

#[component]
fn Line(line: LogLine) -> impl IntoView {
    let class = match line.stream {
        LogStream::Stdout => "log-line",
        LogStream::Stderr => "log-line log-stderr",
        LogStream::System => "log-line log-system",
    };
    view! {
        <div class=class>
            <AtMillis at=line.at />
            <span class="log-text">{line.text}</span>
        </div>
    }
}

/// Only with script, as they do nothing without.
#[component]
fn LogControls(
    following: RwSignal<bool>,
    wrapped: RwSignal<bool>,
    open_ended: Signal<bool>,
) -> impl IntoView {
    view! {
        <div class="log-controls needs-script">
            <button
                type="button"
                class="toggle"
                aria-pressed=move || wrapped.get().to_string()
                on:click=move |_| wrapped.update(|w| *w = !*w)
            >
                "Wrap"
            </button>
            <button
                type="button"
                class="toggle"
                hidden=move || !open_ended.get()
                aria-pressed=move || following.get().to_string()
                on:click=move |_| following.update(|f| *f = !*f)
            >
                "Follow"
            </button>
        </div>
    }
}

fn is_at_end(frame: &leptos::web_sys::HtmlDivElement) -> bool {
    frame.scroll_height() - frame.scroll_top() - frame.client_height() < 24
}

fn keep_at_end(frame: NodeRef<html::Div>, following: RwSignal<bool>, lines: ArcRwSignal<Vec<LogLine>>) {
    Effect::new(move |_| {
        lines.track();
        if let (true, Some(frame)) = (following.get(), frame.get()) {
            // After the new lines are in the document.
            request_animation_frame(move || frame.set_scroll_top(frame.scroll_height()));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_types::Timestamp;

    fn line(seq: i64) -> LogLine {
        LogLine { seq, at: Timestamp::from_secs(seq), stream: LogStream::Stdout, text: seq.to_string() }
    }

    #[test]
    fn lines_that_come_twice_are_kept_once() {
        let mut known = vec![line(1), line(2)];
        append(&mut known, vec![line(1), line(2), line(3), line(5)]);
        append(&mut known, vec![line(4), line(5)]);
        assert_eq!(known.iter().map(|l| l.seq).collect::<Vec<_>>(), [1, 2, 3, 5]);
    }

    #[test]
    fn a_long_log_loses_its_oldest_lines() {
        let mut known = Vec::new();
        append(&mut known, (0..KEPT as i64 + 10).map(line).collect());
        assert_eq!((known.len(), known[0].seq), (KEPT, 10));
    }
}
