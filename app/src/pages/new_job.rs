//! Starting a job: choose what to run, fill in the form its schema asks for, now or later.

use super::{asked, page, param};
use crate::{
    components::{
        form::{Field, Labelled, TextField},
        format, icon,
        layout::{Frame, Here, Layout, PageHead},
        notice::Empty,
    },
    jobs::schema::{self, Kind, SchemaField},
    ssr::{self, Flash},
};
use leasehold_queue::Permission;
use leasehold_types::view::Definition;
use leptos::prelude::*;

#[component]
pub fn NewJobPage() -> impl IntoView {
    let (slug, wanted) = (param("slug"), asked("definition"));
    page(
        async move {
            let (visit, frame) = Frame::inside(&slug).await?;
            visit.scope.require(Permission::Operate)?;
            let known = ssr::door().engine.definitions().await?;
            // The domain `leasehold` is for measuring and mending, not for people's work.
            let offered = |d: &&Definition| d.is_active && d.domain != "leasehold";
            let mut active: Vec<Definition> = known.values().filter(offered).cloned().collect();
            active.sort_by(|a, b| a.key.cmp(&b.key));
            Ok((frame, active))
        },
        move |(frame, definitions)| {
            let (slug, flash) = (frame.slug(), frame.flash.clone());
            let chosen = definitions.iter().find(|d| d.key == wanted).or(definitions.first()).cloned();
            let content = match chosen {
                None => nothing_to_run().into_any(),
                Some(chosen) => view! {
                    <div class="columns columns-form">
                        {picker(&slug, &definitions, &chosen.key)} {form(slug.clone(), chosen, &flash)}
                    </div>
                }
                .into_any(),
            };
            view! {
                <Layout frame here=Here::NewJob title="New job">
                    <PageHead title="New job" />
                    {content}
                </Layout>
            }
            .into_any()
        },
    )
}

fn nothing_to_run() -> impl IntoView {
    view! {
        <Empty icon=icon::INBOX title="No job types yet">
            <p>"Commands are defined in " <code>"commands.toml"</code> ", which the server reads when it starts."</p>
        </Empty>
    }
}

fn picker(slug: &str, definitions: &[Definition], chosen: &str) -> impl IntoView + use<> {
    let links = definitions
        .iter()
        .map(|d| {
            view! {
                <li>
                    <a
                        class="pick"
                        href=format!("/t/{slug}/jobs/new?definition={}#form", crate::jobs::query::encode(&d.key))
                        aria-current=(d.key == chosen).then_some("true")
                    >
                        <strong>{d.key.clone()}</strong>
                        <span class="muted">{d.description.clone()}</span>
                    </a>
                </li>
            }
        })
        .collect_view();
    view! {
        <nav class="card picker" aria-label="What to run">
            <h2>"What to run"</h2>
            <ul class="picks">{links}</ul>
        </nav>
    }
}

fn form(slug: String, definition: Definition, flash: &Flash) -> impl IntoView + use<> {
    let fields = schema::fields(&definition.arg_schema);
    let json_only = fields.is_none();
    let inputs = fields.unwrap_or_default().into_iter().map(|f| schema_input(f, flash)).collect_view();
    let facts = format!(
        "Queue {} · up to {}, {} each",
        definition.queue,
        format::plural(definition.max_attempts.into(), "attempt", "attempts"),
        format::duration(f64::from(definition.timeout_seconds))
    );
    view! {
        <form class="card form new-job" id="form" method="post" action="/do/enqueue">
            <div class="card-head">
                <h2>{definition.key.clone()}</h2>
                <span class="muted">{facts}</span>
            </div>
            <p class="muted">{definition.description.clone()}</p>
            <input type="hidden" name="slug" value=slug />
            <input type="hidden" name="definition_key" value=definition.key.clone() />
            {inputs}
            {as_json(flash, json_only)}
            {when_and_where(flash, &definition)}
            <div class="form-actions">
                <button class="button button-primary" type="submit">"Run job"</button>
            </div>
        </form>
    }
}

fn schema_input(field: SchemaField, flash: &Flash) -> impl IntoView + use<> {
    let id = format!("field-{}", field.name);
    let name = format!("field[{}]", field.name);
    let kept = flash.values.get(&format!("field.{}", field.name)).cloned();
    // A checkbox that was not ticked is not sent, so after a problem "absent" means "no".
    let value = kept.unwrap_or(if flash.problem.is_some() && field.kind == Kind::Boolean {
        String::new()
    } else {
        field.default.clone()
    });
    let mut described =
        Field::new(id.clone(), field.label).error(flash.error(&format!("payload/{}", field.name)));
    described.hint = field.description;
    described.required = field.required || field.kind == Kind::Boolean;
    let (required, by, invalid) = (field.required, described.described_by(), described.invalid());
    let control = match field.kind {
        Kind::Boolean => view! {
            <input class="check" type="checkbox" id=id name=name value="true" checked=value == "true" aria-describedby=by />
        }
        .into_any(),
        Kind::Choice(choices) => select(id, name, choices, value, required, by).into_any(),
        Kind::Lines { max_length } => view! {
            <textarea class="input" id=id name=name rows="12" required=required maxlength=max_length aria-describedby=by aria-invalid=invalid>
                {value}
            </textarea>
        }
        .into_any(),
        Kind::Text { max_length } => view! {
            <input class="input" type="text" id=id name=name value=value required=required maxlength=max_length aria-describedby=by aria-invalid=invalid />
        }
        .into_any(),
        Kind::Integer { min, max } => number(id, name, value, (min, max, "1"), required, by, invalid).into_any(),
        Kind::Number { min, max } => number(id, name, value, (min, max, "any"), required, by, invalid).into_any(),
    };
    view! { <Labelled field=described>{control}</Labelled> }
}

fn number(
    id: String,
    name: String,
    value: String,
    (min, max, step): (Option<String>, Option<String>, &'static str),
    required: bool,
    described_by: Option<String>,
    invalid: Option<&'static str>,
) -> impl IntoView {
    view! {
        <input
            class="input input-number"
            type="number"
            id=id
            name=name
            value=value
            min=min
            max=max
            step=step
            required=required
            aria-describedby=described_by
            aria-invalid=invalid
        />
    }
}

fn select(
    id: String,
    name: String,
    choices: Vec<String>,
    chosen: String,
    required: bool,
    described_by: Option<String>,
) -> impl IntoView {
    let none = (!required).then(|| view! { <option value="">"—"</option> });
    let options = choices
        .into_iter()
        .map(|choice| {
            let selected = choice == chosen;
            view! { <option value=choice.clone() selected=selected>{choice.clone()}</option> }
        })
        .collect_view();
    view! {
        <select class="input select" id=id name=name required=required aria-describedby=described_by>
            {none}
            {options}
        </select>
    }
}

fn as_json(flash: &Flash, json_only: bool) -> impl IntoView + use<> {
    let typed = flash.value("payload_json");
    let open = json_only || !typed.is_empty();
    let hint = if json_only { "A JSON object." } else { "If filled in, it replaces the fields above." };
    let mut field = Field::new("payload_json", "Payload").hint(hint).error(flash.error("payload_json"));
    field.required = json_only;
    let (by, invalid) = (field.described_by(), field.invalid());
    view! {
        <details class="fold" open=open>
            <summary>"As JSON"</summary>
            <Labelled field>
                <textarea
                    class="input code-input"
                    id="payload_json"
                    name="payload_json"
                    rows="6"
                    spellcheck="false"
                    placeholder="{ }"
                    aria-describedby=by
                    aria-invalid=invalid
                >
                    {typed}
                </textarea>
            </Labelled>
        </details>
    }
}

fn when_and_where(flash: &Flash, definition: &Definition) -> impl IntoView + use<> {
    let names = ["run_at", "priority", "queue"];
    let open = names.iter().any(|n| !flash.value(n).is_empty() || flash.error(n).is_some());
    let field = |name: &str, label: &str, hint: String| {
        Field::new(name, label).optional().hint(hint).error(flash.error(name))
    };
    view! {
        <details class="fold" open=open>
            <summary>"Scheduling"</summary>
            <TextField
                field=field("run_at", "Run at (UTC)", "Leave empty to run it now.".into())
                name="run_at"
                kind="datetime-local"
                value=flash.value("run_at")
            />
            <TextField
                field=field("priority", "Priority", "1 to 1000; lower runs first. The default is 100.".into())
                name="priority"
                kind="number"
                value=flash.value("priority")
            />
            <TextField
                field=field("queue", "Queue", format!("default, high or low. The default is {}.", definition.queue))
                name="queue"
                value=flash.value("queue")
            />
        </details>
    }
}
