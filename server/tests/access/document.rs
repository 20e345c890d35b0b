//! `docs/access.md`: the table of who may use which route, written from the cases that are tried.

use crate::rest::{Case, Need};
use std::path::Path;

fn text(cases: &[Case]) -> String {
    let head = "# Who may use which route\n\nWritten by the test that tries every route with every kind of key \
        (`UPDATE_DOCS=1` writes it anew). Without a key, or with a revoked one,\nevery route answers 401; what belongs to another \
        tenant is 404 for everyone else. A key of the installation may do what a tenant’s\nadmin may, in every tenant.\n\n\
        | route | read | write | admin | installation | worker |\n|---|---|---|---|---|---|\n";
    let mark = |yes: bool| if yes { "yes" } else { "" };
    let row = |case: &Case| {
        let rank = match case.need {
            Need::Read => 0,
            Need::Write => 1,
            Need::Admin => 2,
            Need::Govern => 3,
            Need::Worker => 9,
        };
        let columns: Vec<_> = (0..4).map(|column| mark(rank <= column)).collect();
        let worker = mark(case.need == Need::Worker);
        format!("| `{} {}` | {} | {worker} |\n", case.method, case.path, columns.join(" | "))
    };
    head.to_owned() + &cases.iter().map(row).collect::<String>()
}

pub fn check(cases: &[Case]) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/access.md");
    let text = text(cases);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    (written != text).then(|| "docs/access.md is out of date: run this test with UPDATE_DOCS=1".to_owned())
}
