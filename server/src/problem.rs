//! A [`Problem`] as an HTTP answer (RFC 9457), or as a small page for someone who looks at it in a browser.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use leasehold_types::Problem;
use serde_json::{Value, json};

/// What [`page`] needs, and nothing else.
pub const PAGE_POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'");

/// The members of RFC 9457, then ours.
pub fn body(problem: &Problem) -> Value {
    let mut body = json!({
        "type": "about:blank",
        "title": problem.code.title(),
        "status": problem.code.status(),
        "detail": problem.detail,
        "code": problem.code.as_str(),
    });
    if !problem.errors.is_empty() {
        body["errors"] = json!(problem.errors);
    }
    if let Some(seconds) = problem.retry_after_seconds {
        body["retry_after_seconds"] = json!(seconds);
    }
    body
}

pub fn respond(problem: &Problem) -> Response {
    with_body(problem, "application/problem+json", body(problem).to_string())
}

/// The same for whoever asked: a page when the request says it wants one.
pub fn respond_to(request: &HeaderMap, problem: &Problem) -> Response {
    if !wants_html(request) {
        return respond(problem);
    }
    let page = page(problem.code.title(), &problem.detail);
    let mut response = with_body(problem, "text/html; charset=utf-8", page);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, PAGE_POLICY);
    response
}

/// In the dashboard's style, which it can do without.
pub fn page(title: &str, detail: &str) -> String {
    let (title, detail) = (escape(title), escape(detail));
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title} · Leasehold</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <link rel=\"stylesheet\" href=\"/style.css\"></head><body><main class=\"lone\">\
         <span class=\"brand\">Leasehold</span><div class=\"card lone-card lone-message\">\
         <h1>{title}</h1><p>{detail}</p><a class=\"button\" href=\"/\">Go to the start page</a>\
         </div></main></body></html>"
    )
}

pub fn wants_html(headers: &HeaderMap) -> bool {
    headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).is_some_and(|v| v.contains("text/html"))
}

fn with_body(problem: &Problem, content_type: &'static str, body: String) -> Response {
    let status = StatusCode::from_u16(problem.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Body::from(body)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(seconds) = problem.retry_after_seconds {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_types::ProblemCode;

    #[test]
    fn a_problem_carries_its_code_and_fields() {
        let problem = Problem::invalid("email", "No.").retry_after(3);
        let body = body(&problem);
        assert_eq!(body["code"], "INVALID_INPUT");
        assert_eq!(body["status"], 422);
        assert_eq!(body["errors"][0]["field"], "email");
        assert_eq!(respond(&problem).headers()[header::RETRY_AFTER], "3");
    }

    #[test]
    fn a_browser_gets_a_page_that_cannot_be_injected_into() {
        let mut request = HeaderMap::new();
        request.insert(header::ACCEPT, HeaderValue::from_static("text/html,*/*"));
        let answer = respond_to(&request, &Problem::new(ProblemCode::CrossSite, "<script>"));
        assert_eq!(answer.status(), StatusCode::FORBIDDEN);
        assert_eq!(answer.headers()[header::CONTENT_TYPE], "text/html; charset=utf-8");
        assert_eq!(escape("<a href=\"x\">"), "&lt;a href=&quot;x&quot;&gt;");
    }
}
