//! Values nobody understands, names nobody knows, settings that do not fit together.

use super::finding::Finding;
use crate::config::Config;
use leasehold_types::Problem;

pub fn look(config: Option<&Config>, problems: &[Problem]) -> Vec<Finding> {
    let mut found: Vec<_> = problems.iter().map(wrong).collect();
    let warnings = config.map(|config| config.warnings.as_slice()).unwrap_or_default();
    found.extend(warnings.iter().map(|warning| {
        let fix = "Correct or remove the setting; docs/configuration.md lists them all.";
        Finding::warning("configuration", format!("{}.", warning.trim_end_matches('.')), fix)
    }));
    if found.is_empty() {
        found.push(Finding::ok("configuration", "Every setting is known and understood."));
    }
    found
}

fn wrong(problem: &Problem) -> Finding {
    let place = problem.errors.first().map_or("the configuration", |error| error.field.as_str());
    let fix = format!(
        "Correct {place} in the environment or in leasehold.toml; the server does not start with it."
    );
    Finding::error("configuration", problem.detail.clone(), fix)
}
