//! From where a request came.

use axum::{
    extract::ConnectInfo,
    http::{Extensions, HeaderMap},
};
use leasehold_queue::scope;
use std::net::SocketAddr;

/// Given by the server's outermost layer to every request.
pub fn request_id_of(headers: &HeaderMap) -> Option<String> {
    headers.get("x-request-id").and_then(|id| id.to_str().ok()).map(str::to_owned)
}

/// For the audit log.
pub fn origin_of(extensions: &Extensions, headers: &HeaderMap) -> Option<String> {
    let address = extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    scope::origin(address, request_id_of(headers).as_deref())
}
