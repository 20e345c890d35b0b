//! One thing that was looked at: how it is, and how to fix it.

use serde_json::{Value, json};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    Ok,
    Warning,
    Error,
}

impl Level {
    const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    pub level: Level,
    /// Stable: what was looked at.
    pub check: &'static str,
    pub says: String,
    pub mend: Option<String>,
}

impl Finding {
    pub fn ok(check: &'static str, says: impl Into<String>) -> Self {
        Self { level: Level::Ok, check, says: says.into(), mend: None }
    }

    pub fn warning(check: &'static str, says: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { level: Level::Warning, check, says: says.into(), mend: Some(mend.into()) }
    }

    pub fn error(check: &'static str, says: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { level: Level::Error, check, says: says.into(), mend: Some(mend.into()) }
    }
}

/// For people: a line each, and how to fix it below.
pub fn text(findings: &[Finding]) -> String {
    let mut lines = Vec::new();
    for finding in findings {
        lines.push(format!("{:<8} {:<14} {}", finding.level.word(), finding.check, finding.says));
        lines.extend(finding.mend.as_ref().map(|mend| format!("{:<24}→ {mend}", "")));
    }
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    lines.push(format!("{} errors, {} warnings.", count(Level::Error), count(Level::Warning)));
    lines.join("\n")
}

pub fn report(findings: &[Finding]) -> Value {
    let list: Vec<_> = findings
        .iter()
        .map(|f| json!({"level": f.level.word(), "check": f.check, "says": f.says, "mend": f.mend}))
        .collect();
    let healthy = !findings.iter().any(|finding| finding.level == Level::Error);
    json!({"healthy": healthy, "findings": list})
}
