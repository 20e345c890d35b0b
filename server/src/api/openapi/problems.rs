//! The problems any request can meet: described once, named by every operation.

use crate::{api::Refusal, problem};
use leasehold_types::{Problem, ProblemCode};
use std::collections::BTreeMap;
use utoipa::{
    IntoResponses,
    openapi::{
        Components, ContentBuilder, HeaderBuilder, ObjectBuilder, Ref, RefOr, Response, ResponseBuilder, Type,
    },
};

impl IntoResponses for Refusal {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let named =
            |(status, _): (u16, _)| (status.to_string(), Ref::from_response_name(name(status)).into());
        by_status().into_iter().map(named).collect()
    }
}

/// Puts each of them where the operations say it is.
pub fn describe(components: &mut Components) {
    for (status, codes) in by_status() {
        components.responses.insert(name(status), response(status, &codes).into());
    }
}

fn by_status() -> BTreeMap<u16, Vec<ProblemCode>> {
    let mut by_status: BTreeMap<u16, Vec<ProblemCode>> = BTreeMap::new();
    for code in ProblemCode::ALL {
        by_status.entry(code.status()).or_default().push(*code);
    }
    // Ours to prevent: a description is no excuse for one.
    by_status.remove(&ProblemCode::Internal.status());
    by_status
}

fn response(status: u16, codes: &[ProblemCode]) -> Response {
    let words: Vec<_> = codes.iter().map(|c| format!("`{}` {}", c.as_str(), c.title())).collect();
    let example = problem::body(&Problem::new(codes[0], codes[0].title()));
    let content =
        ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).example(Some(example)).build();
    let response =
        ResponseBuilder::new().description(words.join("; ")).content("application/problem+json", content);
    if !matches!(status, 429 | 503) {
        return response.build();
    }
    let seconds = HeaderBuilder::new()
        .description(Some("Seconds until trying again makes sense."))
        .schema(Some(ObjectBuilder::new().schema_type(Type::Integer)));
    response.header("Retry-After", seconds.build()).build()
}

fn name(status: u16) -> String {
    let name = match status {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        408 => "RequestTimeout",
        409 => "Conflict",
        410 => "Gone",
        413 => "ContentTooLarge",
        415 => "UnsupportedMediaType",
        421 => "MisdirectedRequest",
        422 => "InvalidInput",
        429 => "TooManyRequests",
        503 => "Unavailable",
        other => return format!("Problem{other}"),
    };
    name.to_owned()
}
