//! Who may open a stream of the API: a key, as everywhere; a token made for this stream; or somebody signed in on this
//! very site, because a browser's `EventSource` can send neither a key nor any other header.

use super::origin::origin_of;
use super::{
    api_key::{self, Entrance, KeyScope},
    middleware, session_cookie,
    stream_token::{self, Claims},
};
use crate::{api::Api, reached::Reached, sse::Who};
use axum::{
    extract::{ConnectInfo, FromRequestParts},
    http::request::Parts,
    response::Response,
};
use leasehold_queue::Scope;
use leasehold_types::{Problem, ProblemCode};
use std::net::{IpAddr, SocketAddr};

/// Parameters that say who reads, not what.
pub const TOKEN: &str = "token";
pub const TENANT: &str = "tenant";

pub struct StreamReader {
    pub who: Who,
    /// What the token was made for; none when there is no token.
    pub bound: Option<Claims>,
}

impl StreamReader {
    pub fn scope(&self) -> &Scope {
        self.who.scope()
    }
}

impl FromRequestParts<Api> for StreamReader {
    type Rejection = Response;
    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Response> {
        admit_at_rate(parts, api).await.map_err(|problem| api_key::refused(&problem))
    }
}

/// Whoever shows a key counts by it, everybody else by their address.
async fn admit_at_rate(parts: &Parts, api: &Api) -> Result<StreamReader, Problem> {
    let address = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    if api_key::shown(&parts.headers).is_some() {
        return admit(parts, api, address).await;
    }
    api.rates.before(address, None)?;
    let admitted = admit(parts, api, address).await;
    if admitted.as_ref().is_err_and(|problem| problem.code == ProblemCode::Unauthenticated) {
        api.rates.failed(address);
    }
    admitted
}

async fn admit(parts: &Parts, api: &Api, address: Option<IpAddr>) -> Result<StreamReader, Problem> {
    let asked = |name: &str| {
        let mut pairs = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
        pairs.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
    };
    let engine = &api.engine;
    let tenant = asked(TENANT);
    if api_key::shown(&parts.headers).is_some() {
        let entrance = Entrance { engine: engine.clone(), rates: api.rates.clone(), needs: KeyScope::Read };
        let origin = origin_of(&parts.extensions, &parts.headers);
        let scope = api_key::admit_at_rate(&entrance, address, &parts.headers, origin).await?;
        let scope = match tenant {
            Some(slug) => api_key::within_tenant(engine, scope, &slug).await?,
            None => scope,
        };
        return Ok(StreamReader { who: Who::Key { scope }, bound: None });
    }
    if let Some(token) = asked(TOKEN) {
        let (who, claims) = stream_token::open(engine, &token).await?;
        return Ok(StreamReader { who, bound: Some(claims) });
    }
    let Some(reached) = parts.extensions.get::<Reached>() else { return Err(api_key::missing()) };
    let Some((user, session)) = session_cookie::signed_in(engine, reached, &parts.headers).await? else {
        return Err(api_key::missing());
    };
    if !middleware::comes_from_here(reached.host.as_deref(), &parts.headers) {
        let detail =
            "Another site opened this stream. Streams of a signed-in person are for pages of this site.";
        return Err(Problem::new(ProblemCode::CrossSite, detail));
    }
    let Some(slug) = tenant else {
        return Err(Problem::invalid(TENANT, "Name the tenant whose events you want: ?tenant=slug."));
    };
    let visit = Box::new(engine.visit(user, &slug).await?);
    Ok(StreamReader { who: Who::Session { visit, session }, bound: None })
}
