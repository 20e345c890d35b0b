//! Every setting as it is in effect and where it came from. Secrets are masked before they get here.

use super::{contradictions, settings::SETTINGS, sources::Sources};

#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    pub settings: Vec<Setting>,
    /// Names nobody knows, and settings that do not fit together.
    pub warnings: Vec<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    pub name: String,
    /// In words when nothing was said.
    pub value: String,
    /// `command line`, `environment`, `configuration file` or `default`.
    pub source: &'static str,
    pub meaning: &'static str,
}

const MASK: &str = "********";
/// Endings of names whose values nobody needs to see.
const HIDDEN: [&str; 5] = ["_SECRET_KEYS", "_KEY", "_TOKEN", "_PASSWORD", "_SECRET"];

impl Report {
    pub fn of(sources: &Sources) -> Self {
        let mut settings: Vec<_> =
            SETTINGS.iter().map(|(name, about)| setting(sources, name, about)).collect();
        for (family, about) in SETTINGS {
            let members = sources.family(family).into_iter().filter(|(name, _)| name != family);
            settings.extend(members.map(|(name, _)| setting(sources, &name, about)));
        }
        Self { settings, warnings: [sources.unknown(), contradictions::found_in(sources)].concat() }
    }
}

impl Setting {
    /// On or off, if that is what it can be.
    pub fn as_flag(&self) -> Option<bool> {
        let switch = SETTINGS.iter().find(|(name, _)| *name == self.name)?;
        let is_switch = switch.1.ends_with("; true") || switch.1.ends_with("; false");
        is_switch.then(|| matches!(self.value.to_ascii_lowercase().as_str(), "true" | "1" | "yes" | "on"))
    }
}

fn setting(sources: &Sources, name: &str, about: &'static str) -> Setting {
    let (meaning, default) = about.rsplit_once("; ").unwrap_or((about, ""));
    let (value, source) = match name {
        "JOBS_DB_URL" => database(sources),
        _ => match sources.found(name) {
            Some((value, source)) => (value.to_owned(), source),
            None => (default.to_owned(), "default"),
        },
    };
    Setting { value: masked(name, value), name: name.to_owned(), source, meaning }
}

/// The other name counts when this one is not set by a flag or the environment.
fn database(sources: &Sources) -> (String, &'static str) {
    let by_other_name = || sources.env.get("DATABASE_URL").is_some_and(|url| !url.is_empty());
    let source = match sources.found("JOBS_DB_URL") {
        Some((_, source)) if source != "configuration file" => source,
        _ if by_other_name() => "environment",
        Some((_, source)) => source,
        None => "default",
    };
    (sources.database(), source)
}

fn masked(name: &str, value: String) -> String {
    if name == "JOBS_DB_URL" {
        return without_password(&value);
    }
    if HIDDEN.iter().any(|ending| name.ends_with(ending)) && !value.is_empty() {
        return MASK.to_owned();
    }
    value
}

/// A password stands between the first `:` after the scheme and the last `@` before the path.
pub fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let host_from = rest.find('/').unwrap_or(rest.len());
    // A password may itself contain a slash or an @: the last @ of all ends it.
    let Some(at) = rest.rfind('@').filter(|at| *at < host_from || rest[..*at].contains(':')) else {
        return query_masked(url);
    };
    let (user, place) = (&rest[..at], &rest[at..]);
    let user = match user.split_once(':') {
        Some((name, _)) => format!("{name}:{MASK}"),
        None => user.to_owned(),
    };
    query_masked(&format!("{scheme}://{user}{place}"))
}

/// `?password=…` is understood by Postgres as well.
fn query_masked(url: &str) -> String {
    let Some((head, query)) = url.split_once('?') else { return url.to_owned() };
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((key, _)) if key.to_ascii_lowercase().contains("password") => format!("{key}={MASK}"),
        _ => pair.to_owned(),
    });
    format!("{head}?{}", pairs.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn report(env: &[(&str, &str)]) -> Report {
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Report::of(&Sources { flags: BTreeMap::new(), env, file: BTreeMap::new() })
    }

    #[test]
    fn passwords_of_databases_are_masked() {
        for (url, shown) in [
            ("postgres://ann:s3cret@db:5432/jobs", "postgres://ann:********@db:5432/jobs"),
            ("postgres://ann:a/b@c@db/jobs", "postgres://ann:********@db/jobs"),
            ("postgres://ann@db/jobs?password=x&a=1", "postgres://ann@db/jobs?password=********&a=1"),
            ("sqlite:data/leasehold.db", "sqlite:data/leasehold.db"),
        ] {
            assert_eq!(without_password(url), shown);
        }
        let shown = report(&[("DATABASE_URL", "postgres://ann:s3cret@db/jobs")]);
        let setting = shown.settings.iter().find(|s| s.name == "JOBS_DB_URL").unwrap();
        assert_eq!((setting.source, setting.value.contains("s3cret")), ("environment", false));
    }

    #[test]
    fn each_setting_says_where_it_came_from() {
        let report = report(&[("JOBS_LEASE_SECONDS", "7"), ("JOBS_DOMAIN_ALLOWLIST_AB12", "decks")]);
        let of = |name: &str| {
            let setting = report.settings.iter().find(|s| s.name == name).unwrap();
            (setting.value.as_str(), setting.source)
        };
        assert_eq!(of("JOBS_LEASE_SECONDS"), ("7", "environment"));
        assert_eq!(of("JOBS_LEASE_MAX_SECONDS"), ("3600", "default"));
        assert_eq!(of("JOBS_DOMAIN_ALLOWLIST_AB12"), ("decks", "environment"));
    }
}
