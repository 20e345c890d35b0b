//! Who may read `/metrics`: whoever shows a key that may read, and, unless told otherwise, programs on this machine.
//! A key of a tenant sees that tenant's figures.

use super::Exposed;
use crate::{
    auth::api_key::{self, Entrance, KeyScope},
    config::Anonymous,
    hosts::{is_loopback, name_of},
    problem,
    reached::Reached,
};
use axum::{
    extract::{ConnectInfo, FromRequestParts, Request, State},
    http::{HeaderMap, Version, header, request::Parts},
    middleware::Next,
    response::Response,
};
use leasehold_queue::Scope;
use leasehold_types::{Problem, ProblemCode, TenantId};
use std::net::{IpAddr, SocketAddr};

/// What a proxy adds. One on this machine speaks for somebody who is not.
const SENT_BY_A_PROXY: &[&str] = &["x-forwarded-for", "forwarded", "x-real-ip", "via", "x-forwarded-host"];

pub async fn enter(State(exposed): State<Exposed>, mut request: Request, next: Next) -> Response {
    let headers = request.headers();
    let shows_a_key = headers.contains_key("x-api-key") || headers.contains_key(header::AUTHORIZATION);
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
    let host = request.extensions().get::<Reached>().and_then(|reached| reached.host.as_deref());
    let rule = exposed.metrics.config.anonymous;
    let direct = rule != Anonymous::Loopback || is_direct(request.version());
    if !shows_a_key && direct && is_open_to(rule, peer, host, headers) {
        request.extensions_mut().insert(Scope::system("metrics"));
        return next.run(request).await;
    }
    let (engine, rates) = (exposed.engine.clone(), exposed.rates.clone());
    let entrance = Entrance { engine, rates, needs: KeyScope::Read };
    api_key::enter(State(entrance), request, next).await
}

/// A proxy that was told nothing speaks HTTP/1.0 and adds no header, under the name it reaches us by.
fn is_direct(version: Version) -> bool {
    version >= Version::HTTP_11
}

fn is_open_to(rule: Anonymous, peer: Option<IpAddr>, host: Option<&str>, headers: &HeaderMap) -> bool {
    match rule {
        Anonymous::Nobody => false,
        Anonymous::Everyone => true,
        // The name is looked at as well, so that a page in a browser here cannot read it under a name of its own.
        Anonymous::Loopback => {
            peer.is_some_and(|ip| ip.to_canonical().is_loopback())
                && host.is_some_and(|host| is_loopback(name_of(host)))
                && !SENT_BY_A_PROXY.iter().any(|name| headers.contains_key(*name))
        }
    }
}

/// The tenant a reader is confined to; none sees all.
pub struct Reader(pub Option<TenantId>);

impl<S: Sync> FromRequestParts<S> for Reader {
    type Rejection = Response;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        let Some(scope) = parts.extensions.get::<Scope>() else {
            return Err(problem::respond(&Problem::not_found("This address")));
        };
        if scope.domains.is_some() {
            let detail = "The figures are of all domains; a key that is kept to some cannot read them.";
            return Err(problem::respond(&Problem::new(ProblemCode::Forbidden, detail)));
        }
        Ok(Self(scope.tenant()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn open(rule: Anonymous, peer: &str, pairs: &[(&'static str, &'static str)]) -> bool {
        let headers = pairs.iter().map(|(k, v)| (k.parse().unwrap(), HeaderValue::from_static(v))).collect();
        let host = pairs.iter().find(|(name, _)| *name == "host").map(|(_, host)| *host);
        is_open_to(rule, Some(peer.parse().unwrap()), host, &headers)
    }

    #[test]
    fn only_programs_on_this_machine_need_no_key() {
        let here = [("host", "127.0.0.1:3000")];
        assert!(open(Anonymous::Loopback, "127.0.0.1", &here));
        assert!(open(Anonymous::Loopback, "::ffff:127.0.0.1", &[("host", "localhost:3000")]));
        assert!(!open(Anonymous::Loopback, "10.0.0.7", &here));
        assert!(!open(Anonymous::Nobody, "127.0.0.1", &here));
        assert!(open(Anonymous::Everyone, "10.0.0.7", &here));
    }

    #[test]
    fn a_proxy_on_this_machine_is_not_this_machine() {
        for (name, value) in
            [("x-forwarded-for", "6.6.6.6"), ("forwarded", "for=6.6.6.6"), ("via", "1.1 proxy")]
        {
            assert!(
                !open(Anonymous::Loopback, "127.0.0.1", &[("host", "127.0.0.1"), (name, value)]),
                "{name}"
            );
        }
        assert!(!open(Anonymous::Loopback, "127.0.0.1", &[("host", "jobs.example.org")]));
        assert!(!open(Anonymous::Loopback, "127.0.0.1", &[]));
    }
}
