//! Which crate may depend on which: the house rules of ARCHITECTURE.md, checked against `cargo tree`.
//!
//! A forbidden crate is forbidden at any depth, since an indirect path breaks the rule just as well.

use std::collections::BTreeSet;

use crate::exec;
use crate::workspace::Workspace;

struct Rule {
    package: &'static str,
    arguments: &'static [&'static str],
    verdict: Verdict,
}

enum Verdict {
    /// Direct dependencies may only be these.
    Only(&'static [&'static str]),
    /// None of these at any depth.
    Never(&'static [&'static str]),
}

const RULES: [Rule; 10] = [
    Rule {
        package: "leasehold-types",
        arguments: &[],
        verdict: Verdict::Only(&["serde", "serde_json", "time", "uuid"]),
    },
    Rule {
        package: "leasehold-queue",
        arguments: &[],
        verdict: Verdict::Never(&[
            "sqlx",
            "sqlx-core",
            "axum",
            "leptos",
            "leasehold-app",
            "leasehold-worker",
        ]),
    },
    Rule {
        package: "leasehold-conformance",
        arguments: &[],
        verdict: Verdict::Only(&[
            "leasehold-queue",
            "leasehold-types",
            "rand",
            "serde_json",
            "tokio",
            "uuid",
        ]),
    },
    Rule {
        package: "leasehold-store-postgres",
        arguments: &[],
        verdict: Verdict::Never(&[
            "axum",
            "leptos",
            "leasehold-app",
            "leasehold-worker",
            "leasehold-store-sqlite",
        ]),
    },
    Rule {
        package: "leasehold-store-sqlite",
        arguments: &[],
        verdict: Verdict::Never(&[
            "axum",
            "leptos",
            "leasehold-app",
            "leasehold-worker",
            "leasehold-store-postgres",
        ]),
    },
    Rule {
        package: "leasehold-worker",
        arguments: &[],
        verdict: Verdict::Never(&["sqlx", "sqlx-core", "axum", "leptos", "leasehold-app"]),
    },
    Rule {
        package: "leasehold-decks",
        arguments: &[],
        verdict: Verdict::Only(&[
            "deunicode",
            "flate2",
            "pdf-writer",
            "pulldown-cmark",
            "serde",
            "serde_json",
            "serde_path_to_error",
            "thiserror",
            "url",
            "zip",
        ]),
    },
    Rule {
        package: "leasehold-sdk",
        arguments: &[],
        verdict: Verdict::Only(&[
            // Files travel in JSON.
            "base64",
            "rand",
            "reqwest",
            "rustls",
            "serde",
            "serde_json",
            "thiserror",
            "tokio",
            "tokio-util",
            "tracing",
            "uuid",
        ]),
    },
    Rule {
        package: "leasehold-app",
        arguments: &["--features", "ssr"],
        verdict: Verdict::Never(&["sqlx", "sqlx-core", "leasehold-store-postgres", "leasehold-store-sqlite"]),
    },
    Rule {
        package: "leasehold-app",
        arguments: &["--no-default-features", "--features", "hydrate", "--target", "wasm32-unknown-unknown"],
        verdict: Verdict::Never(&["leasehold-queue", "tokio", "sqlx", "sqlx-core", "axum"]),
    },
];

pub fn check(workspace: &Workspace) -> Result<(), String> {
    let mut broken = Vec::new();
    for rule in &RULES {
        broken.extend(violations(workspace, rule)?);
    }
    if broken.is_empty() {
        println!("{} dependency rules hold", RULES.len());
        return Ok(());
    }
    Err(format!("dependency rules broken:\n  {}", broken.join("\n  ")))
}

fn violations(workspace: &Workspace, rule: &Rule) -> Result<Vec<String>, String> {
    let direct = matches!(rule.verdict, Verdict::Only(_));
    let mut cargo = workspace.cargo();
    cargo.args(["tree", "--quiet", "-e", "normal", "--prefix", "none", "-f", "{p}", "-p", rule.package]);
    cargo.args(rule.arguments);
    if direct {
        cargo.args(["--depth", "1"]);
    }
    let tree = exec::output(&mut cargo)?;
    let found = names(&tree);
    let is_broken = |name: &str| match rule.verdict {
        Verdict::Only(allowed) => name != rule.package && !allowed.contains(&name),
        Verdict::Never(forbidden) => forbidden.contains(&name),
    };
    let broken = found.into_iter().filter(|name| is_broken(name));
    Ok(broken.map(|name| format!("{} must not depend on {name}", described(rule))).collect())
}

fn described(rule: &Rule) -> String {
    [&[rule.package], rule.arguments].concat().join(" ")
}

/// The names in `cargo tree`'s list, one `name vVERSION …` per line.
fn names(tree: &str) -> BTreeSet<&str> {
    tree.lines().filter_map(|line| line.split_whitespace().next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_first_words_of_the_tree() {
        let tree = "leasehold-types v0.1.0 (/somewhere)\nserde v1.0.228\nserde v1.0.228 (*)\n\n";
        assert_eq!(names(tree).into_iter().collect::<Vec<_>>(), ["leasehold-types", "serde"]);
    }
}
