//! Files of jobs, for whoever holds a signed link. Nobody has to be signed in: the signature is the right to the file.

use crate::problem;
use axum::{
    body::Body,
    extract::{Path, Query, State, rejection::PathRejection},
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};
use leasehold_queue::{Engine, attachments::Attachment, signing};
use leasehold_types::{AttachmentId, Problem, ProblemCode, text::turns_letters};
use serde::Deserialize;
use std::{fmt::Write, sync::Arc};

/// As it stands in the link; what cannot be read is refused like a wrong signature.
#[derive(Deserialize)]
pub struct Signed {
    #[serde(default)]
    expires: String,
    #[serde(default)]
    signature: String,
}

pub async fn download(
    State(engine): State<Arc<Engine>>,
    id: Result<Path<String>, PathRejection>,
    Query(signed): Query<Signed>,
    headers: HeaderMap,
) -> Response {
    let id = id.map(|Path(id)| id).unwrap_or_default();
    let answer = match fetch(&engine, &id, &signed).await {
        Ok(file) => respond(file),
        Err(problem) => Err(problem),
    };
    answer.unwrap_or_else(|problem| problem::respond_to(&headers, &problem))
}

async fn fetch(engine: &Engine, id: &str, signed: &Signed) -> Result<Attachment, Problem> {
    let (Ok(id), Ok(expires)) = (id.parse::<AttachmentId>(), signed.expires.parse::<i64>()) else {
        return Err(signing::unreadable());
    };
    engine.follow_link(id, expires, &signed.signature).await
}

/// Always a download, never a page: a file may hold anything, also script.
fn respond(file: Attachment) -> Result<Response, Problem> {
    let built = Response::builder()
        .header(header::CONTENT_TYPE, &file.view.content_type)
        .header(header::CONTENT_DISPOSITION, disposition(&file.view.name))
        .header(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))
        .header(header::ETAG, format!("\"{}\"", file.view.sha256))
        .body(Body::from(file.bytes));
    built.map_err(|error| {
        tracing::error!(%error, file = %file.view.id, "a file cannot be sent");
        Problem::new(ProblemCode::Internal, "This file cannot be sent. The log has the details.")
    })
}

/// The name in plain letters for old programs, and as it is (RFC 5987) for all others.
pub fn disposition(name: &str) -> String {
    // Names that were kept before this was seen to when they are kept.
    let name = name.replace(turns_letters, "");
    let plain: String = name
        .chars()
        .map(|c| if (c.is_ascii_graphic() || c == ' ') && !"\"\\%;".contains(c) { c } else { '_' })
        .collect();
    let mut exact = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => exact.push(char::from(byte)),
            // Writing to a String cannot fail.
            _ => drop(write!(exact, "%{byte:02X}")),
        }
    }
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{exact}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_makes_a_sound_header() {
        assert_eq!(
            disposition("Łódź \"1\".pdf"),
            "attachment; filename=\"__d_ _1_.pdf\"; filename*=UTF-8''%C5%81%C3%B3d%C5%BA%20%221%22.pdf"
        );
        assert!(disposition("invoice\u{202e}fdp.exe").ends_with("''invoicefdp.exe"));
        assert!(HeaderValue::from_str(&disposition("a\r\nb: c\u{7f}")).is_ok());
    }
}
