//! Lists for people: aligned columns on a terminal, fields between tabs in a pipe.

use leasehold_types::text::turns_letters;
use serde_json::Value;
use std::io::IsTerminal;

/// The rows of an answer: the list it is, or the first list in it.
pub fn rows(answer: &Value) -> Vec<Value> {
    let list = match answer {
        Value::Array(list) => Some(list),
        Value::Object(map) => map.values().find_map(Value::as_array),
        _ => None,
    };
    list.cloned().unwrap_or_default()
}

pub fn of(rows: &[Value], columns: &[&str]) -> String {
    write(rows, columns, std::io::stdout().is_terminal())
}

fn write(rows: &[Value], columns: &[&str], aligned: bool) -> String {
    let cells: Vec<Vec<String>> =
        rows.iter().map(|row| columns.iter().map(|column| cell(&row[*column])).collect()).collect();
    if !aligned {
        return cells.iter().map(|row| row.join("\t")).collect::<Vec<_>>().join("\n");
    }
    if cells.is_empty() {
        return "Nothing there.".to_owned();
    }
    let head: Vec<_> = columns.iter().map(|column| column.to_uppercase()).collect();
    let all: Vec<_> = std::iter::once(&head).chain(&cells).collect();
    let width = |place: usize| all.iter().map(|row| row[place].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..columns.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let padded: Vec<_> = row.iter().zip(&widths).map(|(text, width)| format!("{text:<width$}")).collect();
        padded.join("  ").trim_end().to_owned()
    };
    all.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

/// One field on one line; control characters of a stranger's text must not move a terminal's cursor.
pub fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.chars().map(|c| if c.is_control() || turns_letters(c) { ' ' } else { c }).collect()
}

/// The plain fields of an answer, one on each line.
pub fn fields(answer: &Value) -> String {
    let Value::Object(map) = answer else { return cell(answer) };
    let tab = if std::io::stdout().is_terminal() { "  " } else { "\t" };
    let widest = map.keys().map(String::len).max().unwrap_or(0);
    let width = if tab == "\t" { 0 } else { widest };
    let lines = map.iter().map(|(name, value)| format!("{name:<width$}{tab}{}", cell(value)));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pipe_gets_tabs_and_a_terminal_columns() {
        let rows = [json!({"number": 7, "status": "queued"}), json!({"number": 12, "status": null})];
        assert_eq!(write(&rows, &["number", "status"], false), "7\tqueued\n12\t-");
        assert_eq!(write(&rows, &["number", "status"], true), "NUMBER  STATUS\n7       queued\n12      -");
    }

    #[test]
    fn a_text_cannot_move_the_cursor() {
        assert_eq!(cell(&json!("a\u{1b}[2Jb\tc\n")), "a [2Jb c ");
        assert_eq!(cell(&json!("invoice\u{202e}fdp.exe")), "invoice fdp.exe");
    }
}
