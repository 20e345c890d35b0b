//! Fields with their label, hint and error tied together, so that a screen reader says all three.

use leptos::prelude::*;

/// One labelled control. `control` gets the ids to point at and the `aria` values.
#[derive(Clone, Debug, Default)]
pub struct Field {
    pub id: String,
    pub label: String,
    pub hint: Option<String>,
    pub error: Option<String>,
    pub required: bool,
}

impl Field {
    pub fn new(id: impl Into<String>, label: impl Into<String>) -> Self {
        Self { id: id.into(), label: label.into(), required: true, ..Self::default() }
    }

    #[must_use]
    pub fn optional(mut self) -> Self {
        self.required = false;
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn error(mut self, error: Option<String>) -> Self {
        self.error = error;
        self
    }

    /// The value of `aria-describedby`.
    pub fn described_by(&self) -> Option<String> {
        let hint = self.hint.is_some().then(|| format!("{}-hint", self.id));
        let error = self.error.is_some().then(|| format!("{}-error", self.id));
        match (hint, error) {
            (Some(hint), Some(error)) => Some(format!("{hint} {error}")),
            (hint, error) => hint.or(error),
        }
    }

    /// The value of `aria-invalid`.
    pub fn invalid(&self) -> Option<&'static str> {
        self.error.is_some().then_some("true")
    }
}

#[component]
pub fn Labelled(field: Field, children: Children) -> impl IntoView {
    let Field { id, label, hint, error, required } = field;
    let wrong = error.is_some();
    view! {
        <div class="field" class:field-wrong=wrong>
            <label for=id.clone()>
                {label} {(!required).then(|| view! { <span class="optional">"optional"</span> })}
            </label>
            {children()}
            {hint.map(|hint| view! { <p class="hint" id=format!("{id}-hint")>{hint}</p> })}
            {error.map(|error| view! { <p class="field-error" id=format!("{id}-error")>{error}</p> })}
        </div>
    }
}

/// A one-line text field.
#[component]
pub fn TextField(
    field: Field,
    #[prop(into)] name: String,
    #[prop(optional, into)] value: String,
    #[prop(default = "text")] kind: &'static str,
    #[prop(optional)] autocomplete: Option<&'static str>,
    #[prop(optional)] autofocus: bool,
    #[prop(optional)] min_length: Option<u32>,
    /// The id of a `<datalist>` with suggestions.
    #[prop(optional, into)]
    list: Option<String>,
) -> impl IntoView {
    let (id, required) = (field.id.clone(), field.required);
    let (described_by, invalid) = (field.described_by(), field.invalid());
    view! {
        <Labelled field>
            <input
                class="input"
                id=id
                name=name
                type=kind
                value=value
                required=required
                autocomplete=autocomplete
                autofocus=autofocus
                minlength=min_length
                list=list
                aria-describedby=described_by
                aria-invalid=invalid
            />
        </Labelled>
    }
}
