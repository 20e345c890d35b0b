//! Progress bars. Widths are `<progress>` values and SVG attributes, because the page allows no inline styles.

use super::badge::Tone;
use leasehold_types::{Stage, view::JobRow};
use leptos::prelude::*;

/// What a job's bar shows.
#[derive(Clone, PartialEq, Debug)]
pub struct Bar {
    pub percent: i16,
    pub stage: Option<String>,
    pub message: Option<String>,
    pub tone: Tone,
}

impl Bar {
    pub fn of(row: &JobRow, tone: Tone) -> Self {
        Self {
            percent: if tone == Tone::Completed { 100 } else { row.progress.clamp(0, 100) },
            stage: row.stage.clone(),
            message: row.progress_message.clone(),
            tone,
        }
    }
}

/// How far one stage is, of its own span.
fn within(stage: &Stage, percent: i16) -> i16 {
    (percent - i16::from(stage.from)).clamp(0, span(stage))
}

fn span(stage: &Stage) -> i16 {
    i16::from(stage.to.saturating_sub(stage.from)).max(1)
}

/// `done`, `now` or `ahead`.
fn place(stage: &Stage, bar: &Bar) -> &'static str {
    let current = bar.stage.as_deref() == Some(stage.name.as_str());
    if bar.tone == Tone::Completed || (!current && within(stage, bar.percent) == span(stage)) {
        "done"
    } else if current {
        "now"
    } else {
        "ahead"
    }
}

/// The bar of a job's page: one segment per stage of its definition, or a single one.
#[component]
pub fn StageBar(bar: Memo<Bar>, stages: Vec<Stage>) -> impl IntoView {
    let whole = vec![Stage { name: String::new(), from: 0, to: 100 }];
    let segments = if stages.is_empty() { whole } else { stages };
    view! {
        <div class=move || bar.with(|b| format!("stages tone-{}", b.tone.class()))>
            <progress class="visually-hidden" aria-label="Progress" max="100" value=move || bar.with(|b| b.percent)>
            </progress>
            {segments.into_iter().map(|stage| segment(bar, stage)).collect_view()}
        </div>
    }
}

fn segment(bar: Memo<Bar>, stage: Stage) -> impl IntoView {
    // Twenty classes of width are enough; a label keeps its own minimum.
    let share = (span(&stage) + 2) / 5;
    let (name, max) = (stage.name.clone(), span(&stage));
    let for_place = stage.clone();
    view! {
        <div class=format!("stage share-{}", share.clamp(1, 20)) data-place=move || bar.with(|b| place(&for_place, b))>
            <progress aria-hidden="true" max=max value=move || bar.with(|b| within(&stage, b.percent))></progress>
            <span class="stage-name">{name}</span>
        </div>
    }
}

/// The small bar in tables.
#[component]
pub fn MiniBar(percent: i16, label: String) -> impl IntoView {
    view! {
        <span class="mini">
            <progress aria-label=label max="100" value=percent></progress>
            <span class="mini-figure">{percent} "%"</span>
        </span>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &str, from: u8, to: u8) -> Stage {
        Stage { name: name.into(), from, to }
    }

    fn bar(percent: i16, stage: &str, tone: Tone) -> Bar {
        Bar { percent, stage: Some(stage.into()), message: None, tone }
    }

    #[test]
    fn each_stage_knows_its_place() {
        let (read, write) = (stage("read", 0, 40), stage("write", 40, 100));
        let at = bar(60, "write", Tone::Running);
        assert_eq!((place(&read, &at), place(&write, &at)), ("done", "now"));
        assert_eq!((within(&read, 60), within(&write, 60)), (40, 20));
        let early = bar(10, "read", Tone::Running);
        assert_eq!((place(&read, &early), place(&write, &early)), ("now", "ahead"));
        let done = bar(100, "write", Tone::Completed);
        assert_eq!(place(&write, &done), "done");
    }
}
