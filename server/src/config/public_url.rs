//! The address people open, which the server cannot know by itself behind a proxy or on a terminal.

use super::sources::{Sources, wrong};
use leasehold_types::Problem;
use url::Url;

const NAME: &str = "JOBS_PUBLIC_URL";

pub fn public_url(sources: &Sources) -> Result<Option<Url>, Problem> {
    let Some(text) = sources.get(NAME).filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    let plain = |url: &Url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none()
    };
    let rule = "must be like https://jobs.example.org: a scheme, a host and at most a port";
    match Url::parse(text.trim()) {
        Ok(url) if plain(&url) => Ok(Some(url)),
        _ => Err(wrong(NAME, text, rule)),
    }
}
