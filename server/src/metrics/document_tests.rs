//! `docs/metrics.md` names every metric: the table in it is written from the list. `UPDATE_DOCS=1` writes it anew.

use super::names::{ALL, From};

const BEGIN: &str = "<!-- the table is written by the tests -->\n";
const END: &str = "<!-- end of the table -->\n";

fn table() -> String {
    let mut text = String::new();
    for (from, title) in [
        (From::Database, "From the database: the whole installation"),
        (From::Events, "From events: the whole installation, since this process started"),
        (From::Process, "This process"),
    ] {
        text += &format!("\n### {title}\n\n| name | type | labels | meaning |\n|---|---|---|---|\n");
        for family in ALL.iter().filter(|family| family.from == from) {
            let labels: Vec<_> = family.labels.iter().map(|label| format!("`{label}`")).collect();
            let (name, kind, labels) = (family.name, family.kind.word(), labels.join(", "));
            text += &format!("| `{name}` | {kind} | {labels} | {} |\n", family.help);
        }
    }
    text + "\n"
}

#[test]
fn the_document_lists_every_metric() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/metrics.md");
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let (head, rest) =
        written.split_once(BEGIN).expect("docs/metrics.md has the mark where the table begins");
    let (old, tail) = rest.split_once(END).expect("docs/metrics.md has the mark where the table ends");
    let table = table();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, [head, BEGIN, &table, END, tail].concat()).unwrap();
        return;
    }
    assert!(old == table, "docs/metrics.md is out of date: run this test with UPDATE_DOCS=1");
}

#[test]
fn names_follow_the_rules_of_their_kind() {
    use super::names::Kind;
    for (place, family) in ALL.iter().enumerate() {
        let total = family.name.ends_with("_total");
        assert_eq!(total, family.kind == Kind::Counter, "{}", family.name);
        assert!(family.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'));
        assert!(!family.help.contains(['\n', '\\']) && family.help.ends_with('.'), "{}", family.name);
        assert!(ALL[..place].iter().all(|other| other.name != family.name), "{} twice", family.name);
    }
}
