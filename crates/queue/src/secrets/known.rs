//! The names that announce a secret and the shapes that are one.

use regex::Regex;
use std::sync::LazyLock;

pub const REDACTED: &str = "***REDACTED***";

/// Names of fields that hold a secret; `_` stands for itself, a dash or nothing.
pub const NAMES: [&str; 15] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "token",
    "secret",
    "secret_key",
    "api_key",
    "access_key",
    "private_key",
    "client_secret",
    "authorization",
    "credential",
    "credentials",
    "cookie",
];

/// Words that make a name look like a secret's wherever they stand in it; compared without case, dashes and underscores.
const PARTS: [&str; 9] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "authorization",
    "credential",
    "privatekey",
];

/// Broader than [`is_secret_name`]: to hide one name too many costs little, to show one too many a secret.
pub fn looks_secret(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    // How many tokens a model has read is no secret.
    let counts_tokens = plain.ends_with("tokens");
    PARTS.iter().any(|part| plain.contains(part) && !(counts_tokens && *part == "token"))
}

pub const SHAPES: [&str; 7] = [
    // AWS
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    // GitHub, GitLab
    r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}",
    // Slack
    r"\bxox[abeprs]-[\w-]{10,}",
    // OpenAI
    r"\bsk[-_][A-Za-z0-9_-]{20,}",
    // Google
    r"\bAIza[\w-]{35}",
    // Leasehold's own keys
    r"\blh_[A-Za-z0-9]+_[A-Za-z0-9_-]{16,}",
    // JSON Web Tokens
    r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?",
];

/// A pattern's alternatives for these names.
pub fn alternatives<S: AsRef<str>>(names: &[S]) -> String {
    let one = |name: &S| name.as_ref().split(['_', '-']).map(regex::escape).collect::<Vec<_>>().join("[_-]?");
    names.iter().map(one).collect::<Vec<_>>().join("|")
}

/// Matches a field's name that ends in one of these: `password`, `db_password`, `dbPassword`, `X-Auth-Token`.
pub fn field_pattern<S: AsRef<str>>(names: &[S]) -> String {
    format!(r"(?i)(?:^|[\W_]|[a-z])(?:{})$", alternatives(names))
}

pub static SECRET_NAME: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&field_pattern(&NAMES)).ok());

/// The name of a field that holds a secret.
pub fn is_secret_name(name: &str) -> bool {
    SECRET_NAME.as_ref().is_some_and(|regex| regex.is_match(name))
}
