//! `/api/docs`: the description of the API as a page for people. Plain HTML in the dashboard's style, made once at the
//! start; it works without script, which only adds buttons that copy.

mod events;
mod example;
mod fields;
mod html;

use super::openapi::EVERYWHERE;
use axum::{
    http::header,
    response::{Html, IntoResponse},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use html::{code, escape, prose};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write;

const COPY: &str = include_str!("docs/copy.js");
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

pub fn page(api: &Value) -> impl IntoResponse + Clone + use<> {
    ([(header::CONTENT_SECURITY_POLICY, policy())], Html(document(api)))
}

/// No script runs but the one that is part of the page.
fn policy() -> String {
    let script = BASE64_STANDARD.encode(Sha256::digest(COPY));
    format!(
        "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'sha256-{script}'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'"
    )
}

struct Operation<'a> {
    method: &'a str,
    path: &'a str,
    said: &'a Value,
}

impl Operation<'_> {
    fn anchor(&self) -> String {
        escape(self.said["operationId"].as_str().unwrap_or_default())
    }

    fn scope(&self) -> Option<&str> {
        self.said["security"][0]["api_key"][0].as_str()
    }
}

fn document(api: &Value) -> String {
    let (mut index, mut body) = (String::new(), String::new());
    for tag in api["tags"].as_array().into_iter().flatten() {
        let name = tag["name"].as_str().unwrap_or_default();
        let operations = of_tag(api, name);
        if operations.is_empty() {
            continue;
        }
        let _ = write!(index, "<li><a href=\"#{0}\">{0}</a><ul>", escape(name));
        let about = prose(tag["description"].as_str().unwrap_or_default());
        let _ = write!(body, "<section id=\"{0}\"><h2>{0}</h2>{about}", escape(name));
        for operation in &operations {
            let (method, path) = (operation.method, escape(&short(operation.path)));
            let _ = write!(
                index,
                "<li><a href=\"#{}\"><span class=\"verb verb-{method}\">{method}</span> {path}</a></li>",
                operation.anchor()
            );
            body.push_str(&article(api, operation));
        }
        index.push_str("</ul></li>");
        body.push_str("</section>");
    }
    let about = prose(api["info"]["description"].as_str().unwrap_or_default());
    let version = escape(api["info"]["version"].as_str().unwrap_or_default());
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>API · Leasehold</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"/favicon.svg\" type=\"image/svg+xml\">\
         <link rel=\"stylesheet\" href=\"/style.css\"></head><body class=\"api\">\
         <header class=\"api-head\"><a class=\"api-back\" href=\"/\">← Dashboard</a> <span>Leasehold API</span></header>\
         <nav class=\"api-index\" aria-label=\"Operations\">\
         <ul>{index}<li><a href=\"#problems\">problems</a></li></ul></nav>\
         <main class=\"api-text\"><h1>The HTTP API</h1>{about}{KEYS}\
         <p>The same for programs: <a href=\"/api/openapi.json\">/api/openapi.json</a> (OpenAPI {}, version {version}).</p>\
         {body}{}</main><script>{COPY}</script></body></html>",
        escape(api["openapi"].as_str().unwrap_or_default()),
        problems()
    )
}

const KEYS: &str = "<p>A request shows a key as <code>X-API-KEY</code> or <code>Authorization: Bearer</code>. What a key may \
    do is its scope: <code>read</code>, <code>write</code> and <code>admin</code> include those before them; \
    <code>worker</code> opens the worker protocol and nothing else. A tenant’s key reaches its tenant; what belongs to another \
    does not exist for it. A key of the installation reaches all, or with <code>X-Tenant: slug</code> one of them. \
    <code>X-Request-ID</code> is echoed, kept with jobs and in the audit log, and on every line that is logged about a request.</p>";

fn of_tag<'a>(api: &'a Value, tag: &str) -> Vec<Operation<'a>> {
    let mut found = Vec::new();
    for (path, item) in api["paths"].as_object().into_iter().flatten() {
        for method in METHODS {
            let said = &item[method];
            if said["tags"][0] == tag {
                found.push(Operation { method, path, said });
            }
        }
    }
    found
}

/// The common beginning is said once, at the top.
fn short(path: &str) -> String {
    path.strip_prefix("/api/v1").unwrap_or(path).to_owned()
}

/// Headers that every route takes are said once, at the top.
fn is_everywhere(parameter: &Value) -> bool {
    EVERYWHERE.iter().any(|(name, _)| parameter["name"] == *name)
}

fn article(api: &Value, operation: &Operation) -> String {
    let (said, method, path) = (operation.said, operation.method, escape(operation.path));
    let anchor = operation.anchor();
    let mut text = format!(
        "<article id=\"{anchor}\"><h3><a href=\"#{anchor}\">{}</a></h3>\
         <p class=\"api-line\"><span class=\"verb verb-{method}\">{method}</span> <code>{path}</code>",
        escape(said["summary"].as_str().unwrap_or_default())
    );
    if let Some(scope) = operation.scope() {
        let _ = write!(text, "<span class=\"api-scope\">key: {}</span>", escape(scope));
    }
    text.push_str("</p>");
    text.push_str(&prose(said["description"].as_str().unwrap_or_default()));
    let summary = said["summary"].as_str().unwrap_or_default();
    let titled = |what: &str| format!("{summary}: {what}");
    if let Some(parameters) = said["parameters"].as_array() {
        let own: Vec<_> = parameters.iter().filter(|p| !is_everywhere(p)).cloned().collect();
        text.push_str(&fields::of_parameters(api, &own, &titled("parameters")));
    }
    let body = &said["requestBody"]["content"]["application/json"]["schema"];
    if !body.is_null() {
        text.push_str("<h4>Body</h4>");
        text.push_str(&fields::of_schema(api, body, &titled("body")));
    }
    let shell = example::curl(api, operation.method, operation.path, said);
    let (of, shell) = (escape(summary), escape(&shell));
    let _ = write!(
        text,
        "<div class=\"api-curl\" data-of=\"{of}\"><pre tabindex=\"0\" role=\"region\" aria-label=\"{of}: with curl\">\
         <code>{shell}</code></pre></div>"
    );
    text.push_str(&answers(api, said, summary));
    text.push_str("</article>");
    text
}

/// What comes back when all is well; problems are alike everywhere and have a chapter of their own.
fn answers(api: &Value, said: &Value, summary: &str) -> String {
    let mut text = String::new();
    let responses = said["responses"].as_object();
    for (status, response) in responses.into_iter().flatten().filter(|(status, _)| status.starts_with('2')) {
        let _ = write!(text, "<h4>Answer {} {}</h4>", code(status), prose_line(response));
        for content in response["content"].as_object().into_iter().flatten().map(|(_, content)| content) {
            let title = format!("{summary}: answer {status}");
            let events = events::of_schema(api, &content["schema"], &title);
            text.push_str(&events.unwrap_or_else(|| fields::of_schema(api, &content["schema"], &title)));
            text.push_str(&shown(&content["example"], &format!("{title}, example")));
        }
    }
    text
}

/// An example, folded: it is long and says again what the table says.
fn shown(example: &Value, title: &str) -> String {
    if example.is_null() {
        return String::new();
    }
    let text = escape(&serde_json::to_string_pretty(example).unwrap_or_default());
    format!(
        "<details class=\"api-example\"><summary>Example</summary><pre tabindex=\"0\" role=\"region\" aria-label=\"{}\"><code>{text}\
         </code></pre></details>",
        escape(title)
    )
}

fn prose_line(response: &Value) -> String {
    escape(response["description"].as_str().unwrap_or_default())
}

fn problems() -> String {
    let rows: String = leasehold_types::ProblemCode::ALL
        .iter()
        .map(|problem| {
            let (name, status, title) = (problem.as_str(), problem.status(), problem.title());
            format!("<tr><td><code>{name}</code></td><td>{status}</td><td>{}</td></tr>", escape(title))
        })
        .collect();
    format!(
        "<section id=\"problems\"><h2>problems</h2><p>An error is <code>application/problem+json</code> (RFC 9457). \
         <code>code</code> is stable; <code>errors</code> names the fields; <code>Retry-After</code> says when to try \
         again.</p><div class=\"api-scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Problems\"><table class=\"api-fields\"><thead><tr><th scope=\"col\">Code</th><th scope=\"col\">Status</th><th scope=\"col\">Meaning</th>\
         </tr></thead><tbody>{rows}</tbody></table></div></section>"
    )
}
