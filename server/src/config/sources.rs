//! Where settings come from, and how their texts become values.

use super::{settings::is_known, unavailable};
use leasehold_types::{Problem, ProblemCode};
use std::{
    collections::{BTreeMap, BTreeSet},
    str::FromStr,
    time::Duration,
};

pub struct Sources {
    pub flags: BTreeMap<&'static str, String>,
    pub env: BTreeMap<String, String>,
    /// By the names of the environment.
    pub file: BTreeMap<String, String>,
}

impl Sources {
    pub fn get(&self, name: &str) -> Option<&str> {
        debug_assert!(is_known(name), "{name} is not in the list");
        let found = self.flags.get(name).or_else(|| self.env.get(name)).or_else(|| self.file.get(name));
        found.map(String::as_str).filter(|v| !v.is_empty())
    }

    /// The value and where it stands, whether or not anybody knows the name.
    pub fn found(&self, name: &str) -> Option<(&str, &'static str)> {
        let places = [
            (self.flags.get(name), "command line"),
            (self.env.get(name), "environment"),
            (self.file.get(name), "configuration file"),
        ];
        let mut set = places.into_iter().filter_map(|(value, place)| Some((value?.as_str(), place)));
        set.find(|(value, _)| !value.is_empty())
    }

    /// Takes a setting out of every place; false when it was in none.
    pub fn forget(&mut self, name: &str) -> bool {
        let gone = [
            self.flags.remove(name).is_some(),
            self.env.remove(name).is_some(),
            self.file.remove(name).is_some(),
        ];
        gone.contains(&true)
    }

    pub fn database(&self) -> String {
        let flag_or_env = self.flags.get("JOBS_DB_URL").or_else(|| self.env.get("JOBS_DB_URL"));
        let found = flag_or_env.or_else(|| self.env.get("DATABASE_URL")).filter(|v| !v.is_empty());
        found
            .map_or_else(|| self.get("JOBS_DB_URL").unwrap_or("sqlite:data/leasehold.db"), String::as_str)
            .into()
    }

    pub fn parsed<T: FromStr>(&self, name: &str, default: T) -> Result<T, Problem>
    where
        T::Err: std::fmt::Display,
    {
        let Some(text) = self.get(name) else { return Ok(default) };
        text.trim().parse().map_err(|error: T::Err| wrong(name, text, &error.to_string()))
    }

    pub fn seconds(&self, name: &str, default: u64) -> Result<Duration, Problem> {
        let seconds: f64 = self.parsed(name, default as f64)?;
        Duration::try_from_secs_f64(seconds)
            .map_err(|error| wrong(name, &seconds.to_string(), &error.to_string()))
    }

    pub fn switch(&self, name: &str, default: bool) -> Result<bool, Problem> {
        match self.get(name).map(str::to_ascii_lowercase).as_deref() {
            None => Ok(default),
            Some("true" | "1" | "yes" | "on") => Ok(true),
            Some("false" | "0" | "no" | "off") => Ok(false),
            Some(other) => Err(wrong(name, other, "say true or false")),
        }
    }

    pub fn number_from_zero(&self, name: &str) -> Result<i64, Problem> {
        self.get(name).map_or(Ok(0), |text| number_from_zero(name, text))
    }

    /// The setting of this name and every narrower one (`NAME_…`) that is set, by name.
    pub fn family(&self, name: &str) -> Vec<(String, String)> {
        let member =
            |n: &str| n.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
        let names: BTreeSet<&String> =
            self.env.keys().chain(self.file.keys()).filter(|n| member(n)).collect();
        let set = names.into_iter().filter(|n| is_known(n));
        set.filter_map(|n| Some((n.clone(), self.get(n)?.to_owned()))).collect()
    }

    /// Every name that is set, whether or not anybody knows it.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let flags = self.flags.keys().copied();
        flags.chain(self.env.keys().chain(self.file.keys()).map(String::as_str))
    }

    pub fn unknown(&self) -> Vec<String> {
        let known = |name: &str| name == "DATABASE_URL" || is_known(name);
        let from_env = self.env.keys().filter(|k| !known(k)).map(|k| (k, "the environment"));
        let from_file = self.file.keys().filter(|k| !known(k)).map(|k| (k, "the configuration file"));
        let sentence = |(name, place): (&String, _)| match unavailable::find(name) {
            Some(known) => {
                format!("{name} in {place} has no effect: {}", known.reason)
            }
            None => format!("{name} in {place} is not a setting of this version; it has no effect"),
        };
        from_env.chain(from_file).map(sentence).collect()
    }
}

/// The configuration file as settings; a file that was asked for must exist.
pub fn read_file(asked_for: Option<&str>) -> Result<BTreeMap<String, String>, Problem> {
    let path = asked_for.unwrap_or("leasehold.toml");
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && asked_for.is_none() => {
            return Ok(BTreeMap::new());
        }
        Err(error) => return Err(unreadable(path, &error.to_string())),
    };
    let table: toml::Table =
        text.parse().map_err(|error: toml::de::Error| unreadable(path, &error.to_string()))?;
    let setting = |(name, value): (String, toml::Value)| {
        let name = format!("JOBS_{}", name.to_ascii_uppercase());
        // A pattern may well contain a comma.
        let separator = if name == "JOBS_SECRET_PATTERNS" { ";" } else { "," };
        let text = match value {
            toml::Value::String(text) => text,
            toml::Value::Array(items) => {
                items.iter().map(|i| i.as_str().unwrap_or_default()).collect::<Vec<_>>().join(separator)
            }
            other => other.to_string(),
        };
        (name, text)
    };
    Ok(table.into_iter().map(setting).collect())
}

fn unreadable(path: &str, why: &str) -> Problem {
    Problem::new(ProblemCode::InvalidInput, format!("The configuration file {path} cannot be read: {why}"))
}

pub fn wrong(name: &str, value: &str, why: &str) -> Problem {
    Problem::invalid(name, format!("{name} cannot be “{value}”: {why}."))
}

/// The parts of a list, trimmed; empty ones are left out.
pub fn items(text: &str, separator: char) -> Vec<String> {
    text.split(separator).map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

/// The same for a list that protects: one that names nothing would protect nothing.
pub fn some_items(name: &str, text: &str, separator: char) -> Result<Vec<String>, Problem> {
    let items = items(text, separator);
    if items.is_empty() {
        return Err(wrong(name, text, "it names nothing; write at least one, or leave the setting out"));
    }
    Ok(items)
}

pub fn number_from_zero(name: &str, text: &str) -> Result<i64, Problem> {
    let number: i64 = text.trim().parse().map_err(|error| wrong(name, text, &format!("{error}")))?;
    if number < 0 {
        return Err(wrong(name, text, "it must be 0 (no limit) or more"));
    }
    Ok(number)
}
