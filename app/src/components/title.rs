//! The window's title. The framework writes it into the document as it is, so names are made harmless here.

use leptos::prelude::*;
use leptos_meta::Title;

#[component]
pub fn PageTitle(#[prop(into)] text: String) -> impl IntoView {
    view! { <Title text=escape(&text) /> }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_the_title() {
        assert_eq!(escape("A & B</title><script>"), "A &amp; B&lt;/title&gt;&lt;script&gt;");
    }
}
