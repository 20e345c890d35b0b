//! How a request reached us: from whom, under which name, and whether the browser's own connection is https. Proxies
//! that are trusted are believed; for the rest only what they themselves show counts.

use crate::{
    hosts::{is_loopback, name_of},
    proxies::TrustedProxies,
};
use axum::{
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, Uri, header},
    middleware::Next,
    response::Response,
};
use leasehold_app::ssr::CookieTrouble;
use std::{
    net::SocketAddr,
    sync::{Arc, Once},
};
use url::Url;

/// What is known before any request.
#[derive(Clone, Debug, Default)]
pub struct Front {
    pub proxies: TrustedProxies,
    pub public_url: Option<Url>,
    pub insecure_cookies: bool,
}

/// In every request's extensions.
#[derive(Clone, PartialEq, Debug)]
pub struct Reached {
    /// As the browser's address bar has it, with the port if there is one.
    pub host: Option<String>,
    /// Known for certain.
    pub https: bool,
    /// The session cookie goes without `Secure`: with it, it would never come back.
    pub plain_cookie: bool,
    /// The browser will not keep the cookie it is given.
    pub loses_cookie: bool,
}

impl Front {
    fn reached(&self, believed: bool, uri: &Uri, headers: &HeaderMap) -> Reached {
        let said = |name: &str| headers.get_all(name).iter().next_back().and_then(|v| v.to_str().ok());
        let last = |text: &str| text.rsplit(',').next().unwrap_or_default().trim().to_owned();
        let forwarded = said("x-forwarded-host").map(last).filter(|host| believed && !host.is_empty());
        let host = forwarded.or_else(|| host(uri, headers).map(str::to_owned));
        let name = host.as_deref().map(name_of).unwrap_or_default();
        // Whoever claims this falsely only makes their own cookie stricter.
        let claimed = said("x-forwarded-proto")
            .is_some_and(|schemes| schemes.split(',').any(|s| s.trim().eq_ignore_ascii_case("https")));
        let published = self.public_url.as_ref().is_some_and(|url| {
            url.scheme() == "https" && url.host_str().is_some_and(|own| own.eq_ignore_ascii_case(name))
        });
        let https = published || (believed && claimed);
        let plain_cookie = !https && !claimed && (self.insecure_cookies || is_loopback(name));
        // Browsers tell where a request comes from only on connections they hold to be safe.
        let seems_safe = https || claimed || headers.contains_key("sec-fetch-site");
        Reached { loses_cookie: !plain_cookie && !seems_safe, host, https, plain_cookie }
    }
}

/// The name asked for.
fn host<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    let from_uri = uri.authority().map(|authority| authority.as_str());
    from_uri.or_else(|| headers.get(header::HOST).and_then(|v| v.to_str().ok()))
}

/// Before everything that asks who it is.
pub async fn find_out(State(front): State<Arc<Front>>, mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0);
    let believed = peer.is_some_and(|peer| front.proxies.contains(peer.ip()));
    if let Some(peer) = peer {
        let client = front.proxies.client(peer.ip(), request.headers());
        request.extensions_mut().insert(ConnectInfo(SocketAddr::new(client, peer.port())));
    }
    let reached = front.reached(believed, request.uri(), request.headers());
    if reached.loses_cookie {
        let host = reached.host.clone().unwrap_or_default();
        warn_once(&host, request.uri().path());
        request.extensions_mut().insert(CookieTrouble(host));
    }
    request.extensions_mut().insert(reached);
    next.run(request).await
}

/// Programs use the API by plain http without harm; a browser that wants to sign in cannot.
fn warn_once(host: &str, path: &str) {
    static SAID: Once = Once::new();
    if path == "/login" || path == "/setup" || path.starts_with("/do/") {
        SAID.call_once(|| {
            tracing::warn!(
                host,
                "a browser came by plain http under a name that is not this machine's: it will not keep the session \
                 cookie, so nobody can sign in that way. Put a TLS proxy in front (and name it in \
                 JOBS_TRUSTED_PROXIES), use an ssh tunnel to 127.0.0.1, or set JOBS_INSECURE_COOKIES=true on a \
                 network you trust"
            );
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(k, v)| (k.parse().unwrap(), HeaderValue::from_static(v))).collect()
    }

    fn reached(front: &Front, believed: bool, pairs: &[(&'static str, &'static str)]) -> Reached {
        front.reached(believed, &Uri::from_static("/"), &headers(pairs))
    }

    #[test]
    fn cookies_are_plain_only_on_this_machine_and_without_tls() {
        let front = Front::default();
        for host in ["localhost:3000", "127.0.0.1", "[::1]:3000", "127.0.0.9:1"] {
            assert!(reached(&front, false, &[("host", host)]).plain_cookie, "{host}");
            for believed in [false, true] {
                let behind = reached(&front, believed, &[("host", host), ("x-forwarded-proto", "https")]);
                assert!(!behind.plain_cookie && !behind.loses_cookie, "{host}");
                assert_eq!(behind.https, believed, "{host}");
            }
        }
        for host in ["jobs.example", "localhost.evil.example", "10.0.0.1:3000", "[2001:db8::1]"] {
            assert!(!reached(&front, false, &[("host", host)]).plain_cookie, "{host}");
        }
    }

    #[test]
    fn a_browser_that_will_lose_its_cookie_is_noticed() {
        let lan = [("host", "jobs.lan:3000")];
        assert!(reached(&Front::default(), false, &lan).loses_cookie);
        let safe = [("host", "jobs.lan"), ("sec-fetch-site", "none")];
        assert!(!reached(&Front::default(), false, &safe).loses_cookie, "browsers send it only by https");
        let allowed = Front { insecure_cookies: true, ..Front::default() };
        let plain = reached(&allowed, false, &lan);
        assert!(plain.plain_cookie && !plain.loses_cookie);
        let published = Front { public_url: Some("https://jobs.lan".parse().unwrap()), ..allowed };
        let known = reached(&published, false, &lan);
        assert!(known.https && !known.plain_cookie && !known.loses_cookie);
    }

    #[test]
    fn only_a_trusted_proxy_names_the_host() {
        let pairs = [("host", "127.0.0.1:3000"), ("x-forwarded-host", "a.example, jobs.example")];
        let of = |believed| reached(&Front::default(), believed, &pairs).host.unwrap();
        assert_eq!((of(true).as_str(), of(false).as_str()), ("jobs.example", "127.0.0.1:3000"));
    }
}
