//! Where answers and errors go, and in which form.

use super::text;
use crate::problem;
use leasehold_types::{Problem, text::printable_json};
use serde_json::Value;
use std::io::Write;

/// Where answers go, without what a terminal would obey. A reader that went away (`| head`) is no error.
#[derive(Clone, Copy)]
pub struct Out {
    json: bool,
}

impl Out {
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    /// One answer, in the form asked for.
    pub fn say(self, text: &str, json: &Value) {
        let mut stdout = std::io::stdout().lock();
        let _ = if self.json {
            writeln!(stdout, "{}", printable_json(&json.to_string()))
        } else {
            writeln!(stdout, "{}", text::printable_in_colour(text))
        };
        let _ = stdout.flush();
    }

    /// A line for people and shells, whatever form was asked for.
    pub fn say_text(self, text: &str) {
        let mut stdout = std::io::stdout().lock();
        let _ = writeln!(stdout, "{}", text::printable_in_colour(text));
        let _ = stdout.flush();
    }

    pub fn is_json(self) -> bool {
        self.json
    }

    pub fn fail(self, problem: &Problem) {
        let mut stderr = std::io::stderr().lock();
        let _ = if self.json {
            writeln!(stderr, "{}", printable_json(&problem::body(problem).to_string()))
        } else {
            writeln!(stderr, "{}", in_words(problem, text::Paint::of_stderr()))
        };
    }
}

/// What went wrong, and below it one line for each field that is not right.
fn in_words(problem: &Problem, paint: text::Paint) -> String {
    let name = paint.put(text::Colour::Red, "leasehold:");
    let errors = &problem.errors;
    let detail = text::lines(&problem.detail);
    let line = |field: &str, message: &str| text::one_line(&format!("{field}: {message}"));
    if let [only] = &errors[..]
        && only.message == problem.detail
    {
        let said = detail.contains(&only.field);
        return format!("{name} {}", if said { detail } else { line(&only.field, &only.message) });
    }
    let lines: Vec<_> =
        errors.iter().map(|error| format!("\n  {}", line(&error.field, &error.message))).collect();
    format!("{name} {detail}{}", lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_types::ProblemCode;

    #[test]
    fn each_field_that_is_not_right_has_a_line() {
        let said = |problem: Problem| in_words(&problem, text::Paint::new(false));
        let many = Problem::new(ProblemCode::InvalidPayload, "The payload does not fit.");
        let many =
            many.with_field("payload.rows", "must be at least 1").with_field("payload.name", "is\nmissing");
        let expected = "leasehold: The payload does not fit.\n  payload.rows: must be at least 1\n  payload.name: is missing";
        assert_eq!(said(many), expected);
        assert_eq!(said(Problem::invalid("priority", "It is 0.")), "leasehold: priority: It is 0.");
        assert_eq!(said(Problem::invalid("KEY", "Put a key into KEY.")), "leasehold: Put a key into KEY.");
    }
}
