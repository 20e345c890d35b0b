//! Payload templates: JSON in which strings may name values by `{{path}}`. Substitution, and nothing else.
//!
//! A string that is exactly one placeholder becomes the value itself, whatever its type; inside other text it
//! becomes text. What is put in is data: braces in it stay as they are. A path that leads nowhere is an error,
//! and so is a result that grows beyond its bound.

use leasehold_types::{Problem, ProblemCode};
use serde_json::{Map, Value};
use std::{fmt::Write as _, io};

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

/// Whether there is any placeholder; an error when one cannot be understood or begins at an unknown root.
pub fn check(template: &Value, roots: &[&str]) -> Result<bool, Problem> {
    if !template.is_object() {
        return Err(Problem::invalid("payload_template", "The template must be a JSON object."));
    }
    check_value(template, "payload_template", roots)
}

fn check_value(value: &Value, place: &str, roots: &[&str]) -> Result<bool, Problem> {
    match value {
        Value::String(text) => {
            let pieces = pieces(text).map_err(|message| Problem::invalid(place, message))?;
            let paths = pieces.iter().filter_map(|piece| match piece {
                Piece::Path(path) => Some(*path),
                Piece::Text(_) => None,
            });
            let mut any = false;
            for path in paths {
                any = true;
                let root = path.split('.').next().unwrap_or_default();
                if !roots.contains(&root) {
                    let message = format!("“{root}” is not known here; there are {}.", roots.join(", "));
                    return Err(Problem::invalid(place, message));
                }
            }
            Ok(any)
        }
        Value::Array(items) => items.iter().enumerate().try_fold(false, |any, (index, item)| {
            Ok(check_value(item, &format!("{place}/{index}"), roots)? || any)
        }),
        Value::Object(map) => map.iter().try_fold(false, |any, (key, item)| {
            Ok(check_value(item, &format!("{place}/{key}"), roots)? || any)
        }),
        _ => Ok(false),
    }
}

/// The template with every placeholder replaced. `most_bytes` bounds what may be put in.
pub fn render(template: &Value, context: &Map<String, Value>, most_bytes: usize) -> Result<Value, Problem> {
    Rendering { context, left: most_bytes, most_bytes }.value(template)
}

struct Rendering<'a> {
    context: &'a Map<String, Value>,
    left: usize,
    most_bytes: usize,
}

impl Rendering<'_> {
    fn value(&mut self, template: &Value) -> Result<Value, Problem> {
        Ok(match template {
            Value::String(text) => self.text(text)?,
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.value(item)).collect::<Result<_, _>>()?)
            }
            Value::Object(map) => {
                let entries = map.iter().map(|(key, item)| Ok((key.clone(), self.value(item)?)));
                Value::Object(entries.collect::<Result<_, Problem>>()?)
            }
            plain => plain.clone(),
        })
    }

    fn text(&mut self, text: &str) -> Result<Value, Problem> {
        let pieces = pieces(text).map_err(refused)?;
        if let [Piece::Path(path)] = pieces[..] {
            return Ok(self.look_up(path)?.clone());
        }
        let mut out = String::with_capacity(text.len());
        for piece in pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Path(path) => match self.look_up(path)? {
                    Value::String(text) => out.push_str(text),
                    other => write!(out, "{other}").map_err(|_| refused("The value cannot be written."))?,
                },
            }
        }
        Ok(Value::String(out))
    }

    fn look_up(&mut self, path: &str) -> Result<&Value, Problem> {
        let context = self.context;
        let mut steps = path.split('.');
        let found = steps.next().and_then(|root| context.get(root));
        let found = steps.fold(found, |value, step| value.and_then(|value| child(value, step)));
        let value = found.ok_or_else(|| refused(format!("There is no “{path}” to put into the payload.")))?;
        self.pay_for(value)?;
        Ok(value)
    }

    fn pay_for(&mut self, value: &Value) -> Result<(), Problem> {
        let mut size = Size(0);
        let counted = serde_json::to_writer(&mut size, value);
        self.left = counted.ok().and_then(|()| self.left.checked_sub(size.0)).ok_or_else(|| {
            let detail = format!("The payload would have more than {} bytes.", self.most_bytes);
            Problem::new(ProblemCode::PayloadTooLarge, detail)
        })?;
        Ok(())
    }
}

/// A member of an object, or of an array by its place.
pub fn child<'a>(value: &'a Value, step: &str) -> Option<&'a Value> {
    match value {
        Value::Object(map) => map.get(step),
        Value::Array(items) => step.parse::<usize>().ok().and_then(|index| items.get(index)),
        _ => None,
    }
}

/// Counts bytes and keeps none.
struct Size(usize);

impl io::Write for Size {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn refused(detail: impl Into<String>) -> Problem {
    Problem::new(ProblemCode::InvalidPayload, detail)
}

enum Piece<'a> {
    Text(&'a str),
    Path(&'a str),
}

fn pieces(text: &str) -> Result<Vec<Piece<'_>>, String> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while let Some((before, opened)) = rest.split_once(OPEN) {
        let (path, after) =
            opened.split_once(CLOSE).ok_or_else(|| format!("A “{OPEN}” is never closed by “{CLOSE}”."))?;
        let path = path.trim();
        let plain = |step: &str| {
            !step.is_empty() && !step.contains(['{', '}']) && !step.contains(char::is_whitespace)
        };
        if !path.split('.').all(plain) {
            return Err(format!("“{path}” is not a path such as event.folder_path."));
        }
        if !before.is_empty() {
            pieces.push(Piece::Text(before));
        }
        pieces.push(Piece::Path(path));
        rest = after;
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rendered(template: Value) -> Result<Value, Problem> {
        let event = json!({
            "id": 7, "name": "Ann", "list": [1, {"x": true}], "none": null, "braces": "{{event.id}}",
        });
        render(&template, &Map::from_iter([("event".to_owned(), event)]), 1_000)
    }

    #[test]
    fn a_lone_placeholder_keeps_its_type_and_an_embedded_one_is_text() {
        let cases = [
            (json!("{{event.id}}"), json!(7)),
            (json!("{{ event.id }}"), json!(7)),
            (json!("{{event.none}}"), json!(null)),
            (json!("{{event.list}}"), json!([1, {"x": true}])),
            (json!("{{event.list.1.x}}"), json!(true)),
            (json!("no {{event.id}}!"), json!("no 7!")),
            (json!("{{event.name}}{{event.id}}"), json!("Ann7")),
            (json!(" {{event.id}}"), json!(" 7")),
            (json!("{{event.list}} x"), json!("[1,{\"x\":true}] x")),
            (json!({"a": ["{{event.name}}", 3, "plain", ""]}), json!({"a": ["Ann", 3, "plain", ""]})),
            (json!({"{{event.id}}": 1}), json!({"{{event.id}}": 1})),
        ];
        for (template, expected) in cases {
            assert_eq!(rendered(template.clone()).unwrap(), expected, "{template}");
        }
    }

    #[test]
    fn values_are_never_rendered_again() {
        assert_eq!(rendered(json!("{{event.braces}}")).unwrap(), json!("{{event.id}}"));
        assert_eq!(rendered(json!("x{{event.braces}}")).unwrap(), json!("x{{event.id}}"));
    }

    #[test]
    fn a_path_that_leads_nowhere_is_an_error() {
        for nowhere in
            ["{{event.missing}}", "{{event.id.deeper}}", "{{event.list.9}}", "{{other}}", "{{event.list.x}}"]
        {
            let problem = rendered(json!({ "a": nowhere })).unwrap_err();
            assert_eq!(problem.code, ProblemCode::InvalidPayload, "{nowhere}");
        }
    }

    #[test]
    fn the_output_is_bounded() {
        let many = Value::Array(vec![json!("{{event.list}}"); 1_000]);
        assert_eq!(rendered(many).unwrap_err().code, ProblemCode::PayloadTooLarge);
    }

    #[test]
    fn a_template_is_checked_before_it_is_kept() {
        let roots = ["event", "tenant"];
        assert_eq!(check(&json!({"a": "{{event.x}}"}), &roots), Ok(true));
        assert_eq!(check(&json!({"a": ["plain", 1]}), &roots), Ok(false));
        for (wrong, field) in [
            (json!("{{event.x}}"), "payload_template"),
            (json!({"a": "{{event.x"}), "payload_template/a"),
            (json!({"a": ["", "{{}}"]}), "payload_template/a/1"),
            (json!({"a": "{{event..x}}"}), "payload_template/a"),
            (json!({"a": "{{schedule.due_at}}"}), "payload_template/a"),
            (json!({"a": "{{ event.x | upper }}"}), "payload_template/a"),
        ] {
            assert_eq!(check(&wrong, &roots).unwrap_err().errors[0].field, field, "{wrong}");
        }
    }
}
