//! A log in its own box. In the browser it follows its end until the reader scrolls up (see `islands::morph`).

use super::time::AtMillis;
use leasehold_types::{LogStream, view::LogLine};
use leptos::prelude::*;

#[component]
pub fn LogBox(
    lines: Vec<LogLine>,
    #[prop(into)] label: String,
    /// New lines may come.
    open_ended: bool,
    /// There is more than these lines.
    is_cut: bool,
    /// Where all of it is.
    href: String,
) -> impl IntoView {
    let cut = is_cut.then(|| {
        view! { <p class="log-note" data-key="cut">"Only the newest lines are shown; the download has all of them."</p> }
    });
    let download = (!lines.is_empty()).then(|| {
        view! { <a class="toggle" href=href download="" aria-label=format!("Download: {label}")>"Download"</a> }
    });
    let text = if open_ended { "Waiting for the first line…" } else { "This attempt printed nothing." };
    let none = lines.is_empty().then(|| view! { <p class="log-note" data-key="none">{text}</p> });
    view! {
        <div class="log-controls">
            {download}
            <button type="button" class="toggle needs-script" aria-pressed="true" data-wrap="" data-keep="">"Wrap"</button>
        </div>
        <div class="log" role="region" aria-label=label tabindex="0" data-keep-class="">
            {cut}
            {lines.into_iter().map(|line| view! { <Line line /> }).collect_view()}
            {none}
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
        <div class=class data-key=line.seq>
            <AtMillis at=line.at />
            <span class="log-text">{line.text}</span>
        </div>
    }
}
