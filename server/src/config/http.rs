//! What the HTTP server is held to and what it believes: limits of connections and requests, proxies, names, cookies.

use super::sources::{Sources, items, wrong};
use crate::{hosts::AllowedHosts, http::ConnectionLimits, proxies::TrustedProxies, rates::Rate};
use leasehold_types::Problem;
use std::time::Duration;
use url::Url;

#[derive(Clone, Debug)]
pub struct HttpConfig {
    pub connections: ConnectionLimits,
    pub per_key: Rate,
    /// For requests without a key, or with one that does not work.
    pub per_address: Rate,
    pub proxies: TrustedProxies,
    pub hosts: AllowedHosts,
    /// Session cookies are also given to browsers that come by plain http.
    pub insecure_cookies: bool,
}

pub fn http(sources: &Sources, public_url: Option<&Url>) -> Result<HttpConfig, Problem> {
    Ok(HttpConfig {
        connections: ConnectionLimits {
            per_address: sources.parsed("JOBS_MAX_CONNECTIONS_PER_ADDRESS", 512)?,
            write_timeout: at_least_one(sources, "JOBS_HTTP_WRITE_TIMEOUT_SECONDS")?,
            idle_timeout: at_least_one(sources, "JOBS_HTTP_IDLE_TIMEOUT_SECONDS")?,
        },
        per_key: Rate {
            per_second: sources.parsed("JOBS_API_RATE_PER_KEY", 1_000)?,
            burst: sources.parsed("JOBS_API_BURST_PER_KEY", 5_000)?,
        },
        per_address: Rate {
            per_second: sources.parsed("JOBS_API_RATE_PER_ADDRESS", 100)?,
            burst: sources.parsed("JOBS_API_BURST_PER_ADDRESS", 1_000)?,
        },
        proxies: proxies(sources)?,
        hosts: hosts(sources, public_url)?,
        insecure_cookies: sources.switch("JOBS_INSECURE_COOKIES", false)?,
    })
}

/// The address people use, as links that leave the dashboard need it.
pub fn public_url(sources: &Sources) -> Result<Option<Url>, Problem> {
    let name = "JOBS_PUBLIC_URL";
    let Some(text) = sources.get(name) else { return Ok(None) };
    let whole = "say the whole address, such as https://jobs.example.org";
    let url = Url::parse(text.trim()).map_err(|_| wrong(name, text, whole))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong(name, text, whole));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(name, "…", "it must not hold a name or a password"));
    }
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err(wrong(name, text, "it must end after the host: Leasehold cannot live under a path"));
    }
    Ok(Some(url))
}

fn at_least_one(sources: &Sources, name: &str) -> Result<Duration, Problem> {
    let time = sources.seconds(name, 30)?;
    if time < Duration::from_secs(1) {
        return Err(wrong(name, &time.as_secs_f64().to_string(), "it must be at least 1"));
    }
    Ok(time)
}

/// The list wins over the older switch, which trusts every machine of the own networks.
fn proxies(sources: &Sources) -> Result<TrustedProxies, Problem> {
    let nearby = sources.switch("JOBS_TRUST_FORWARDED", false)?;
    let name = "JOBS_TRUSTED_PROXIES";
    match sources.get(name) {
        Some(text) => TrustedProxies::parse(&items(text, ',')).map_err(|item| {
            let rule = "say addresses and networks (10.0.0.5, 10.1.0.0/16, fd00::/8), or `private`, separated by commas";
            wrong(name, &item, rule)
        }),
        None if nearby => Ok(TrustedProxies::private()),
        None => Ok(TrustedProxies::default()),
    }
}

fn hosts(sources: &Sources, public_url: Option<&Url>) -> Result<AllowedHosts, Problem> {
    let name = "JOBS_ALLOWED_HOSTS";
    let Some(text) = sources.get(name) else { return Ok(AllowedHosts::any()) };
    let own = public_url.and_then(Url::host_str).map(str::to_owned);
    let names = items(text, ',').into_iter().chain(own);
    AllowedHosts::only(names).map_err(|item| {
        wrong(name, &item, "say names without a port (jobs.example.org, *.example.org), separated by commas")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn with(env: &[(&str, &str)]) -> Result<(HttpConfig, Option<Url>), Problem> {
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let sources = Sources { flags: BTreeMap::new(), env, file: BTreeMap::new() };
        let public = public_url(&sources)?;
        Ok((http(&sources, public.as_ref())?, public))
    }

    #[test]
    fn nobody_holds_a_connection_for_longer_than_a_minute_by_default() {
        let limits = with(&[]).unwrap().0.connections;
        assert!(limits.longest_hold() <= Duration::from_secs(60), "{limits:?}");
        assert!(limits.per_address > 0);
    }

    #[test]
    fn the_older_switch_trusts_the_own_networks_and_the_list_wins() {
        let trusted =
            |env: &[(&str, &str)], ip: &str| with(env).unwrap().0.proxies.contains(ip.parse().unwrap());
        assert!(!trusted(&[], "127.0.0.1"));
        let old = ("JOBS_TRUST_FORWARDED", "true");
        assert!(trusted(&[old], "127.0.0.1") && trusted(&[old], "10.2.3.4") && !trusted(&[old], "1.2.3.4"));
        let list = ("JOBS_TRUSTED_PROXIES", "1.2.3.4");
        assert!(trusted(&[old, list], "1.2.3.4") && !trusted(&[old, list], "10.2.3.4"));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for (name, value) in [
            ("JOBS_PUBLIC_URL", "jobs.example.org"),
            ("JOBS_PUBLIC_URL", "ftp://jobs.example.org"),
            ("JOBS_PUBLIC_URL", "https://jobs.example.org/leasehold"),
            ("JOBS_PUBLIC_URL", "https://ann:secret@jobs.example.org"),
            ("JOBS_TRUSTED_PROXIES", "nginx"),
            ("JOBS_TRUSTED_PROXIES", "10.0.0.0/33"),
            ("JOBS_ALLOWED_HOSTS", "https://jobs.example.org"),
            ("JOBS_ALLOWED_HOSTS", "jobs.example.org:3000"),
            ("JOBS_HTTP_IDLE_TIMEOUT_SECONDS", "0"),
            ("JOBS_API_RATE_PER_KEY", "-1"),
        ] {
            let problem = with(&[(name, value)]).unwrap_err();
            assert_eq!(problem.errors[0].field, name, "{value}: {problem}");
            assert!(!problem.detail.contains("secret"), "{problem}");
        }
        let (config, url) =
            with(&[("JOBS_PUBLIC_URL", "https://jobs.example.org"), ("JOBS_ALLOWED_HOSTS", "a.b")]).unwrap();
        assert_eq!(url.unwrap().as_str(), "https://jobs.example.org/");
        assert!(config.hosts.allows(Some("jobs.example.org")), "one's own name needs no mention");
    }
}
