//! What a request says beside its body.

use crate::{api::Refusal, headers::REQUEST_ID};
use axum::{extract::FromRequestParts, http::request::Parts};
use leasehold_queue::Scope;
use leasehold_types::{Problem, TenantId};

#[derive(Clone, Default)]
pub struct Caller {
    pub request_id: Option<String>,
    pub idempotency_key: Option<String>,
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let request_id = parts.headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
        let idempotency_key = match parts.headers.get("idempotency-key").map(|value| value.to_str()) {
            Some(Ok(key)) => Some(key.to_owned()),
            Some(Err(_)) => {
                let message = "It must be plain text. Nothing was enqueued.";
                return Err(Problem::invalid("Idempotency-Key", message).into());
            }
            None => None,
        };
        Ok(Self { request_id: request_id.map(str::to_owned), idempotency_key })
    }
}

/// The tenant a job is made in.
pub fn one_tenant(scope: &Scope) -> Result<TenantId, Problem> {
    scope.tenant().ok_or_else(|| {
        let message = "This key reaches every tenant: say in which one, by the header X-Tenant: <slug>. Nothing was \
                       changed.";
        Problem::invalid("X-Tenant", message)
    })
}
