//! What can be done to a job, as plain forms; which of them are offered follows its state.

use crate::components::icon::{self, Icon};
use leasehold_types::{JobStatus, view::JobDetail};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

/// A form that stands open, with what was typed and what was wrong with it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct OpenForm {
    /// `cancel`, `requeue` or nothing.
    pub name: String,
    pub reason: String,
    pub error: Option<String>,
}

#[component]
pub fn Actions(slug: String, job: RwSignal<JobDetail>, may_operate: bool, form: OpenForm) -> impl IntoView {
    let number = job.with_untracked(|j| j.row.number);
    let state = Memo::new(move |_| job.with(|j| (j.row.status, j.row.cancel_requested_at.is_some())));
    view! {
        <div class="job-actions">
            {move || {
                if !may_operate {
                    return ().into_any();
                }
                let (status, stopping) = state.get();
                let (slug, form) = (slug.clone(), form.clone());
                match status {
                    JobStatus::Processing if stopping => {
                        view! { <p class="muted">"Asked to stop; waiting for its worker."</p> }.into_any()
                    }
                    JobStatus::Queued | JobStatus::Processing => cancel(slug, number, &form).into_any(),
                    JobStatus::Quarantined => {
                        view! {
                            {requeue(slug.clone(), number, &form)}
                            {cancel(slug, number, &form)}
                        }
                            .into_any()
                    }
                    _ => retry(slug, number).into_any(),
                }
            }}
        </div>
    }
}

fn retry(slug: String, number: i64) -> impl IntoView {
    view! {
        <form method="post" action="/do/retry">
            <input type="hidden" name="slug" value=slug />
            <input type="hidden" name="number" value=number />
            <button class="button" type="submit">
                <Icon d=icon::RETRY />
                "Retry"
            </button>
        </form>
    }
}

fn cancel(slug: String, number: i64, form: &OpenForm) -> impl IntoView + use<> {
    let words = Words {
        name: "cancel",
        open: "Cancel…",
        send: "Cancel this job",
        class: "button button-danger",
        hint: "It is shown with the job's activity.",
    };
    with_reason(slug, number, form, words)
}

fn requeue(slug: String, number: i64, form: &OpenForm) -> impl IntoView + use<> {
    let words = Words {
        name: "requeue",
        open: "Requeue…",
        send: "Requeue this job",
        class: "button",
        hint: "It gets its full number of attempts again. The reason is shown with the job's activity.",
    };
    with_reason(slug, number, form, words)
}

struct Words {
    name: &'static str,
    open: &'static str,
    send: &'static str,
    class: &'static str,
    hint: &'static str,
}

fn with_reason(slug: String, number: i64, form: &OpenForm, words: Words) -> impl IntoView + use<> {
    let ours = form.name == words.name;
    let (reason, error) = if ours { (form.reason.clone(), form.error.clone()) } else { Default::default() };
    let wrong = error.is_some();
    let invalid = wrong.then_some("true");
    let id = format!("{}-reason", words.name);
    let hint_id = format!("{id}-hint");
    view! {
        <details class="pop pop-right" id=words.name open=ours>
            <summary class=words.class>{words.open}</summary>
            <form class="pop-panel pop-form" method="post" action=format!("/do/{}", words.name)>
                <input type="hidden" name="slug" value=slug />
                <input type="hidden" name="number" value=number />
                <div class="field" class:field-wrong=wrong>
                    <label for=id.clone()>"Reason"</label>
                    <input
                        class="input"
                        id=id
                        name="reason"
                        value=reason
                        required
                        maxlength="500"
                        autocomplete="off"
                        aria-describedby=hint_id.clone()
                        aria-invalid=invalid
                    />
                    <p class="hint" id=hint_id>{words.hint}</p>
                    {error.map(|error| view! { <p class="field-error">{error}</p> })}
                </div>
                <button class=words.class type="submit">{words.send}</button>
            </form>
        </details>
    }
}
