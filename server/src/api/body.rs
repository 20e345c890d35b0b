//! What a request carries: JSON whose mistakes are named by their path, and a job in the address.

use super::Refusal;
use axum::{
    extract::{FromRequest, FromRequestParts, Path, Request},
    http::request::Parts,
};
use http_body_util::BodyExt;
use leasehold_types::{JobRef, Problem};
use serde::de::DeserializeOwned;

/// A JSON body. Nothing at all counts as `{}`.
pub struct Body<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Refusal;
    async fn from_request(request: Request, _: &S) -> Result<Self, Refusal> {
        let bytes = request.into_body().collect().await.map_err(unreadable)?.to_bytes();
        let bytes = if bytes.trim_ascii().is_empty() { b"{}".as_slice() } else { &bytes };
        Ok(Self(parse(bytes)?))
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // Fields in a list would be taken for those of the same place.
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err(Problem::invalid("body", "It must be a JSON object. Nothing was changed."));
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { "body".to_owned() } else { path };
        Problem::invalid(field, format!("{}. Nothing was changed.", error.into_inner()))
    })?;
    reader.end().map_err(|error| Problem::invalid("body", format!("{error}. Nothing was changed.")))?;
    Ok(value)
}

/// Why it was cut off is told by whoever cut it off.
fn unreadable(_: axum::Error) -> Problem {
    Problem::invalid("body", "The body could not be read to its end. Nothing was changed.")
}

/// What stands behind the `?`. Names nobody knows are refused, not ignored: a filter with a typing error would
/// otherwise answer with everything.
pub struct Query<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        Ok(Self(parse_query(parts.uri.query().unwrap_or_default())?))
    }
}

fn parse_query<T: DeserializeOwned>(query: &str) -> Result<T, Problem> {
    let reader = serde_urlencoded::Deserializer::new(form_urlencoded::parse(query.as_bytes()));
    serde_path_to_error::deserialize(reader).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { "query".to_owned() } else { path };
        Problem::invalid(field, format!("{}.", error.into_inner()))
    })
}

/// `{id}`: a job's number or id. What is neither names nothing.
pub struct JobPath(pub JobRef);

impl<S: Send + Sync> FromRequestParts<S> for JobPath {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let named = Path::<String>::from_request_parts(parts, state).await.ok();
        let job = named.and_then(|Path(id)| id.parse().ok());
        Ok(Self(job.ok_or_else(|| Problem::not_found("This job"))?))
    }
}

/// `{id}` of something else. What is no text names nothing.
pub struct NamePath(pub String);

impl<S: Send + Sync> FromRequestParts<S> for NamePath {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let named = Path::<String>::from_request_parts(parts, state).await.ok();
        named.map(|Path(name)| Self(name)).ok_or_else(|| Problem::not_found("This address").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        #[serde(default)]
        lines: Vec<Inner>,
    }

    #[derive(Deserialize, Debug)]
    struct Inner {
        #[expect(dead_code, reason = "only its reading is tested")]
        seq: i64,
    }

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    struct Asked {
        limit: Option<u32>,
    }

    #[test]
    fn a_mistake_in_the_address_is_named_too() {
        assert_eq!(parse_query::<Asked>("limit=5").unwrap().limit, Some(5));
        assert_eq!(parse_query::<Asked>("").unwrap().limit, None);
        for (query, field) in [("limit=x", "limit"), ("limit=-1", "limit"), ("limti=5", "limti")] {
            assert_eq!(parse_query::<Asked>(query).unwrap_err().errors[0].field, field, "{query}");
        }
        assert!(parse_query::<Asked>("limit=1&limit=2").is_err());
    }

    #[test]
    fn a_mistake_is_named_by_its_path() {
        let field = |text: &str| parse::<Outer>(text.as_bytes()).unwrap_err().errors.remove(0).field;
        assert_eq!(field(r#"{"lines": [{"seq": 1}, {"seq": "two"}]}"#), "lines[1].seq");
        assert_eq!(field(r#"{"line": []}"#), "line");
        assert_eq!(field("[1"), "body");
        assert_eq!(field("{} trailing"), "body");
        assert!(parse::<Outer>(b"{}").unwrap().lines.is_empty());
    }
}
