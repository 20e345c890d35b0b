//! The names this server answers to. A browser that was lured here under another one (DNS rebinding) gets nothing.

use crate::{problem, reached::Reached};
use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use leasehold_types::{Problem, ProblemCode};
use std::{net::IpAddr, sync::Arc};

/// Load balancers ask by address, whatever the name is.
const ALWAYS: [&str; 3] = ["/health", "/ready", "/health/ready"];

#[derive(Clone, PartialEq, Debug)]
pub struct AllowedHosts(Option<Vec<String>>);

impl AllowedHosts {
    pub fn any() -> Self {
        Self(None)
    }

    /// Names, or `*.name` for those below it; the error is the one that cannot be a host's.
    pub fn only(names: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let sound = |name: &str| {
            let plain = name.strip_prefix("*.").unwrap_or(name);
            let letters = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
            is_ipv6(plain) || (!plain.is_empty() && plain.bytes().all(letters))
        };
        let listed = names.into_iter().map(|name| if sound(&name) { Ok(normal(&name)) } else { Err(name) });
        listed.collect::<Result<_, _>>().map(|names| Self(Some(names)))
    }

    /// This machine's own names are always allowed.
    pub fn allows(&self, host: Option<&str>) -> bool {
        let Some(names) = &self.0 else { return true };
        let Some(host) = host.map(|host| normal(name_of(host))) else { return false };
        is_loopback(&host)
            || names.iter().any(|name| match name.strip_prefix("*.") {
                Some(parent) => host.strip_suffix(parent).is_some_and(|rest| rest.ends_with('.')),
                None => *name == host,
            })
    }
}

fn is_ipv6(name: &str) -> bool {
    name.trim_matches(['[', ']']).parse::<std::net::Ipv6Addr>().is_ok()
}

fn normal(name: &str) -> String {
    name.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

/// Without the port.
pub fn name_of(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    }
}

pub fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

pub async fn check(State(hosts): State<Arc<AllowedHosts>>, request: Request, next: Next) -> Response {
    let host = request.extensions().get::<Reached>().and_then(|reached| reached.host.as_deref());
    if hosts.allows(host) || ALWAYS.contains(&request.uri().path()) {
        return next.run(request).await;
    }
    let asked = host.map_or_else(|| "no name at all".to_owned(), |host| format!("“{}”", name_of(host)));
    let detail = format!(
        "This server does not answer to {asked}. Use its own name; whoever runs it can add others to JOBS_ALLOWED_HOSTS."
    );
    problem::respond_to(request.headers(), &Problem::new(ProblemCode::Misdirected, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_names_and_this_machine_are_answered() {
        let names = ["Jobs.example.org", "*.corp.test", "10.0.0.7", "2001:db8::7"];
        let hosts = AllowedHosts::only(names.map(str::to_owned)).unwrap();
        for host in [
            "jobs.example.org",
            "JOBS.EXAMPLE.ORG:443",
            "jobs.example.org.",
            "a.corp.test",
            "a.b.corp.test:1",
            "10.0.0.7:3000",
            "[2001:db8::7]:3000",
            "localhost:3000",
            "127.0.0.1",
            "[::1]:3000",
        ] {
            assert!(hosts.allows(Some(host)), "{host}");
        }
        for host in
            ["evil.example", "corp.test", "evilcorp.test", "jobs.example.org.evil.example", "10.0.0.8", ""]
        {
            assert!(!hosts.allows(Some(host)), "{host}");
        }
        assert!(!hosts.allows(None));
        assert!(AllowedHosts::any().allows(Some("evil.example")) && AllowedHosts::any().allows(None));
    }
}
