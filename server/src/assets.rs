//! The browser's files, inside the binary: style, icons, script and wasm. A compressed sibling (`.br`, `.gz`)
//! is sent when the client takes it and it is not older than the file itself.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use rust_embed::{EmbeddedFile, RustEmbed};

#[derive(RustEmbed)]
#[folder = "$CARGO_MANIFEST_DIR/../target/site"]
struct Site;

const ENCODINGS: [(&str, &str); 2] = [("br", ".br"), ("gzip", ".gz")];

/// The file at that path of the site; none when there is no such file.
pub fn respond(method: &Method, path: &str, request: &HeaderMap) -> Option<Response> {
    let name = path.trim_start_matches('/');
    let plain = name.split('/').all(|part| !part.is_empty() && !part.starts_with('.'));
    if !plain || !matches!(*method, Method::GET | Method::HEAD) {
        return None;
    }
    let original = Site::get(name)?;
    let sibling = ENCODINGS.iter().find_map(|(encoding, suffix)| {
        let file = accepts(request, encoding).then(|| Site::get(&format!("{name}{suffix}"))).flatten()?;
        (file.metadata.last_modified() >= original.metadata.last_modified()).then_some((file, *encoding))
    });
    let (file, encoding) = sibling.map_or((original, None), |(file, encoding)| (file, Some(encoding)));
    Some(answer(name, file, encoding, method, request))
}

fn answer(
    name: &str,
    file: EmbeddedFile,
    encoding: Option<&'static str>,
    method: &Method,
    request: &HeaderMap,
) -> Response {
    let tag = format!("\"{}\"", crate::secret::hex(&file.metadata.sha256_hash()[..16]));
    let known = request.get(header::IF_NONE_MATCH).and_then(|v| v.to_str().ok());
    let fresh = known.is_some_and(|known| known.split(',').any(|t| t.trim().trim_start_matches("W/") == tag));
    let body = if fresh || *method == Method::HEAD { Body::empty() } else { Body::from(file.data) };
    let status = if fresh { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    let mime = mime_guess::from_path(name).first_or_octet_stream();
    let mime = if mime.type_() == "text" { format!("{mime}; charset=utf-8") } else { mime.to_string() };
    for (key, value) in [(header::CONTENT_TYPE, mime), (header::ETAG, tag)] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(key, value);
        }
    }
    let caching = if carries_hash(name) { "public, max-age=31536000, immutable" } else { "no-cache" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(encoding) = encoding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    response
}

fn accepts(request: &HeaderMap, encoding: &str) -> bool {
    let offered = request.get_all(header::ACCEPT_ENCODING).iter().filter_map(|v| v.to_str().ok());
    offered.flat_map(|v| v.split(',')).any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(encoding));
        let refused = parts.any(|p| p.strip_prefix("q=").and_then(|q| q.parse::<f32>().ok()) == Some(0.0));
        named && !refused
    })
}

/// `app-0f3c9a1b77d2.js`: a new content has a new name, so it may be kept for ever.
fn carries_hash(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let last = stem.rsplit(['-', '.']).next().filter(|part| part.len() < stem.len());
    last.is_some_and(|part| {
        part.len() >= 8
            && part.bytes().all(|b| b.is_ascii_hexdigit())
            && part.bytes().any(|b| b.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_with_a_hash_are_kept_for_ever() {
        assert!(carries_hash("pkg/leasehold-0f3c9a1b77d2.wasm"));
        for name in ["style.css", "pkg/leasehold.wasm", "a-facade.js", "0f3c9a1b77d2.js"] {
            assert!(!carries_hash(name), "{name}");
        }
    }

    #[test]
    fn an_encoding_is_used_only_when_offered() {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip, br;q=0, zstd"));
        assert!(accepts(&headers, "gzip"));
        assert!(!accepts(&headers, "br"));
        assert!(!accepts(&headers, "deflate"));
    }

    #[test]
    fn nothing_outside_the_site_is_served() {
        for path in ["/", "/../Cargo.toml", "/.hidden", "//etc/passwd", "/nothing.css"] {
            assert!(respond(&Method::GET, path, &HeaderMap::new()).is_none(), "{path}");
        }
    }
}
