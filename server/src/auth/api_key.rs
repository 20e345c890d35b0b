//! API keys: `lh_<prefix>_<secret>`, sent as `X-API-KEY` or `Authorization: Bearer`.
//!
//! The door of the REST API. [`enter`] stands in front of a resource and knows which scope its key must have; what
//! lies behind finds a [`Scope`] confined to the key's tenant. A key of the installation has none: it reaches every
//! tenant, or the one that `X-Tenant` names. Cookies are never looked at here, so another site has nothing to borrow; only
//! streams may also be opened by somebody signed in (`stream_reader`).

use super::origin::{origin_of, request_id_of};
use crate::{problem, rates::ApiRates, secret};
use axum::{
    extract::{ConnectInfo, FromRequestParts, Request, State},
    http::{HeaderMap, header, request::Parts},
    middleware::Next,
    response::Response,
};
use clap::ValueEnum;
use leasehold_queue::{
    Actor, Engine, Permission, Reach, Scope, refusals::Refusal as Refused, rules::api_keys::USE_NOTED_EVERY,
    throttle::network,
};
use leasehold_types::{Problem, ProblemCode, view::ApiKey};
use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

/// The tenant a key of the installation acts in.
pub const TENANT: &str = "x-tenant";

/// What a key may be used for. Each includes those before it, except that only `worker` opens the worker's door.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub enum KeyScope {
    Worker,
    Read,
    Write,
    Admin,
}

impl KeyScope {
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// What the installation itself is run with belongs to nobody's tenant.
    fn permission(self, of_installation: bool) -> Permission {
        match self {
            Self::Worker => Permission::Work,
            Self::Read => Permission::View,
            Self::Admin if of_installation => Permission::Govern,
            Self::Write | Self::Admin => Permission::Operate,
        }
    }

    fn is_met_by(self, held: &[Self]) -> bool {
        match self {
            Self::Worker => held.contains(&Self::Worker),
            needed => held.iter().any(|scope| *scope >= needed),
        }
    }
}

/// In front of one resource.
#[derive(Clone)]
pub struct Entrance {
    pub engine: Arc<Engine>,
    pub rates: Arc<ApiRates>,
    pub needs: KeyScope,
}

pub async fn enter(State(entrance): State<Entrance>, mut request: Request, next: Next) -> Response {
    let origin = origin_of(request.extensions(), request.headers());
    let address = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    match admit_at_rate(&entrance, address, request.headers(), origin).await {
        Ok(scope) => {
            request.extensions_mut().insert(scope);
            next.run(request).await
        }
        Err(problem) => refused(&problem),
    }
}

/// Says how to come in, if that is what is missing.
pub fn refused(problem: &Problem) -> Response {
    let mut refused = problem::respond(problem);
    if problem.code == ProblemCode::Unauthenticated {
        let scheme = header::HeaderValue::from_static("Bearer realm=\"leasehold\"");
        refused.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
    }
    refused
}

/// The scope [`enter`] found.
pub struct Entered(pub Scope);

impl<S: Sync> FromRequestParts<S> for Entered {
    type Rejection = Response;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        let scope = parts.extensions.get::<Scope>().cloned();
        scope.map(Self).ok_or_else(|| problem::respond(&unknown()))
    }
}

/// A key that works counts for itself; whoever has none counts by address.
pub async fn admit_at_rate(
    entrance: &Entrance,
    address: Option<IpAddr>,
    headers: &HeaderMap,
    origin: Option<String>,
) -> Result<Scope, Problem> {
    let (rates, key) = (&entrance.rates, shown(headers));
    rates.before(address, key)?;
    let admitted = admit(entrance, headers, address, origin).await;
    match &admitted {
        Err(problem) if problem.code == ProblemCode::Unauthenticated => rates.failed(address),
        Err(problem) if problem.code == ProblemCode::Unavailable => {}
        _ => rates.worked(key.unwrap_or_default())?,
    }
    admitted
}

/// Whoever governs the installation; refused before anything else of the request is looked at.
pub struct Governing(pub Scope);

impl<S: Sync> FromRequestParts<S> for Governing {
    type Rejection = Response;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let Entered(scope) = Entered::from_request_parts(parts, state).await?;
        scope.require(Permission::Govern).map_err(|problem| problem::respond(&problem))?;
        Ok(Self(scope))
    }
}

async fn admit(
    entrance: &Entrance,
    headers: &HeaderMap,
    address: Option<IpAddr>,
    origin: Option<String>,
) -> Result<Scope, Problem> {
    let shown = shown(headers).ok_or_else(missing)?;
    let engine = &entrance.engine;
    let refuse = |key: Option<&ApiKey>, why: String| engine.refused(refusal(key, why, address));
    let unreadable = || {
        refuse(None, "not a key".into());
        unknown()
    };
    let (prefix, hidden) = parts(shown).ok_or_else(unreadable)?;
    let found = engine.store().key_by_prefix(prefix).await?;
    let now = engine.now();
    // Hashes of 256 random bits: comparing them byte by byte tells an attacker nothing.
    let wrong = match &found {
        None => Some("not known"),
        Some((_, hash)) if *hash != secret::sha256_hex(hidden) => Some("wrong secret"),
        Some((key, _)) if key.revoked_at.is_some() => Some("revoked"),
        Some((key, _)) if key.expires_at.is_some_and(|at| at <= now) => Some("expired"),
        Some(_) => None,
    };
    let key = found.map(|(key, _)| key);
    if let Some(why) = wrong {
        refuse(key.as_ref(), why.into());
    }
    let key = key.filter(|_| wrong.is_none()).ok_or_else(unknown)?;
    let held = scopes_of(&key);
    if !entrance.needs.is_met_by(&held) {
        let needed = entrance.needs.name();
        refuse(Some(&key), format!("needs the scope {needed}"));
        let detail =
            format!("This needs a key with the scope “{needed}”; this one has {}.", key.scopes.join(", "));
        return Err(Problem::new(ProblemCode::Forbidden, detail));
    }
    if key.last_used_at.is_none_or(|at| at.plus(USE_NOTED_EVERY) <= now) {
        engine.key_used(key.id).await?;
    }
    let of_installation = key.tenant_id.is_none();
    let permission = held.iter().map(|scope| scope.permission(of_installation)).max();
    let reach = key.tenant_id.map_or(Reach::All, Reach::Tenant);
    let actor = actor_of(&key);
    let scope = Scope::new(reach, actor, permission.unwrap_or(Permission::Work))
        .coming_from(origin)
        .in_request(request_id_of(headers));
    let scope = engine.confine(scope);
    within_asked_tenant(engine, scope, headers).await
}

/// `X-Tenant: <slug>` confines a key of the installation; any other key may only name its own tenant.
async fn within_asked_tenant(engine: &Engine, scope: Scope, headers: &HeaderMap) -> Result<Scope, Problem> {
    let Some(asked) = headers.get(TENANT) else { return Ok(scope) };
    let slug = asked.to_str().map_err(|_| Problem::not_found("This tenant"))?;
    within_tenant(engine, scope, slug).await
}

pub async fn within_tenant(engine: &Engine, scope: Scope, slug: &str) -> Result<Scope, Problem> {
    let tenant = engine.tenant(&scope, slug.trim()).await?;
    Ok(scope.within(tenant.id))
}

/// Words of another version are no scopes of this one. A worker always works for one tenant.
fn scopes_of(key: &ApiKey) -> Vec<KeyScope> {
    let known = key.scopes.iter().filter_map(|word| KeyScope::from_str(word, false).ok());
    known.filter(|scope| *scope != KeyScope::Worker || key.tenant_id.is_some()).collect()
}

/// The key a request shows.
pub fn shown(headers: &HeaderMap) -> Option<&str> {
    if let Some(key) = headers.get("x-api-key") {
        return key.to_str().ok().map(str::trim);
    }
    let (scheme, key) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

fn parts(key: &str) -> Option<(&str, &str)> {
    key.strip_prefix("lh_")?
        .split_once('_')
        .filter(|(prefix, hidden)| !prefix.is_empty() && !hidden.is_empty())
}

fn actor_of(key: &ApiKey) -> Actor {
    Actor::Key { id: key.id, name: key.name.clone(), prefix: key.prefix.clone() }
}

/// For the audit log. What was sent is not kept of a key nobody knows: it may be another's secret.
fn refusal(key: Option<&ApiKey>, why: String, address: Option<IpAddr>) -> Refused {
    Refused {
        tenant: key.and_then(|key| key.tenant_id),
        actor: key.map_or_else(|| "an unknown key".to_owned(), |key| actor_of(key).to_string()),
        action: "key.refused",
        object_type: "key",
        object_id: key.map_or_else(|| "unknown".to_owned(), |key| key.prefix.clone()),
        why,
        address: address.map(network),
    }
}

pub fn missing() -> Problem {
    let detail = "Send a key: X-API-KEY: lh_…, or Authorization: Bearer lh_…. Nothing was changed.";
    Problem::new(ProblemCode::Unauthenticated, detail)
}

/// The same answer for every key that does not work: a stranger learns nothing.
pub fn unknown() -> Problem {
    let detail = "This key is not known, has expired or was revoked. Nothing was changed.";
    Problem::new(ProblemCode::Unauthenticated, detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_key_comes_in_either_header() {
        for (name, value) in [("x-api-key", "lh_ab_cd_ef"), ("authorization", "bearer  lh_ab_cd_ef")] {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            assert_eq!(shown(&headers).and_then(parts), Some(("ab", "cd_ef")), "{name}");
        }
        let mut basic = HeaderMap::new();
        basic.insert("authorization", HeaderValue::from_static("Basic bGhf"));
        assert_eq!(shown(&basic), None);
        for wrong in ["", "lh_", "lh_ab", "lh__x", "lh_ab_", "xx_ab_cd"] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_a_key_of_the_installation_governs() {
        assert_eq!(KeyScope::Admin.permission(true), Permission::Govern);
        assert_eq!(KeyScope::Admin.permission(false), Permission::Operate);
        assert_eq!(KeyScope::Write.permission(true), Permission::Operate);
    }

    #[test]
    fn stronger_scopes_include_weaker_ones_but_only_a_worker_works() {
        use KeyScope::{Admin, Read, Worker, Write};
        assert!(Read.is_met_by(&[Write]) && Write.is_met_by(&[Admin]) && Read.is_met_by(&[Read]));
        assert!(!Write.is_met_by(&[Read]) && !Read.is_met_by(&[Worker]) && !Read.is_met_by(&[]));
        assert!(Worker.is_met_by(&[Worker, Read]) && !Worker.is_met_by(&[Admin]));
    }
}
