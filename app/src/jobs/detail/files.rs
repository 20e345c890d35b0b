//! What the job left behind, to be fetched.

use crate::components::{format, time::Ago};
use leasehold_types::{
    Timestamp,
    view::{AttachmentView, LinkedAttachment},
};
use leptos::prelude::*;

#[component]
pub fn Files(files: Vec<LinkedAttachment>, now: Timestamp) -> impl IntoView {
    (!files.is_empty()).then(|| {
        let items = files.into_iter().map(|linked| item(linked, now)).collect_view();
        view! {
            <section class="card" aria-labelledby="files-heading">
                <h2 id="files-heading">"Files"</h2>
                <ul class="files">{items}</ul>
            </section>
        }
    })
}

fn item(LinkedAttachment { file, path, .. }: LinkedAttachment, now: Timestamp) -> impl IntoView {
    let facts = facts(&file);
    let AttachmentView { name, created_at, .. } = file;
    let label = format!("Download {name}");
    view! {
        <li class="file">
            <span class="file-name">{name}</span>
            <span class="muted file-facts">
                {facts} " · " <Ago at=created_at now />
            </span>
            <a class="button button-small" href=path download="" aria-label=label>
                "Download"
            </a>
        </li>
    }
}

fn facts(file: &AttachmentView) -> String {
    format!("{} · {}", kind(&file.content_type), format::size(file.size))
}

/// A media type as people say it.
fn kind(content_type: &str) -> String {
    match content_type {
        "application/pdf" => "PDF".into(),
        "application/vnd.openxmlformats-officedocument.presentationml.presentation" => "PowerPoint".into(),
        "application/json" => "JSON".into(),
        "text/markdown" => "Markdown".into(),
        "text/plain" => "Text".into(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_told_in_words() {
        assert_eq!(kind("application/pdf"), "PDF");
        assert_eq!(kind("application/octet-stream"), "application/octet-stream");
    }
}
