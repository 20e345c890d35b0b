//! What is wrong with a payload, in our words: where, and what is asked for there. The value that was sent is never
//! repeated; it may be large, or secret.

use jsonschema::{ValidationError, error::TypeKind, error::ValidationErrorKind as Kind};
use serde_json::Value;

const LONGEST_FIELD: usize = 160;
const LONGEST_MESSAGE: usize = 240;

pub(super) fn of_payload(error: &ValidationError<'_>) -> (String, String) {
    let field = format!("payload{}", error.instance_path().as_str());
    (cut(&field, LONGEST_FIELD), cut(&sentence(error.kind()), LONGEST_MESSAGE))
}

/// Why a schema is none.
pub(super) fn of_schema(error: &ValidationError<'_>) -> String {
    let place = cut(error.instance_path().as_str(), LONGEST_FIELD);
    let place = if place.is_empty() { "At the top".to_owned() } else { format!("At {place}") };
    match error.kind() {
        Kind::Referencing(wrong) => cut(&format!("{place}: {wrong}."), LONGEST_MESSAGE),
        kind => cut(&format!("{place}: {}", sentence(kind)), LONGEST_MESSAGE),
    }
}

fn sentence(kind: &Kind) -> String {
    match kind {
        Kind::Required { property } => {
            format!("“{}” is missing.", cut(property.as_str().unwrap_or_default(), 100))
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            format!("Members that are not known here: {}.", names(unexpected))
        }
        Kind::Type { kind: TypeKind::Single(one) } => format!("It must be of type {one}."),
        Kind::Type { kind: TypeKind::Multiple(several) } => {
            let several: Vec<_> = several.iter().map(|one| one.to_string()).collect();
            format!("It must be of type {}.", several.join(" or "))
        }
        Kind::Enum { options } => format!("It must be one of {}.", options_in_words(options)),
        Kind::Constant { expected_value } => format!("It must be {}.", small(expected_value)),
        Kind::Minimum { limit } => format!("It must be at least {}.", small(limit)),
        Kind::Maximum { limit } => format!("It must be at most {}.", small(limit)),
        Kind::ExclusiveMinimum { limit } => format!("It must be more than {}.", small(limit)),
        Kind::ExclusiveMaximum { limit } => format!("It must be less than {}.", small(limit)),
        Kind::MultipleOf { multiple_of } => format!("It must be a multiple of {multiple_of}."),
        Kind::MinLength { limit } => format!("It must have at least {limit} characters."),
        Kind::MaxLength { limit } => format!("It must have at most {limit} characters."),
        Kind::MinItems { limit } => format!("It must have at least {limit} items."),
        Kind::MaxItems { limit } => format!("It must have at most {limit} items."),
        Kind::MinProperties { limit } => format!("It must have at least {limit} members."),
        Kind::MaxProperties { limit } => format!("It must have at most {limit} members."),
        Kind::Format { format } => format!("It must have the format {}.", cut(format, 60)),
        Kind::Pattern { pattern } => format!("It must match the pattern {}.", cut(pattern, 120)),
        Kind::UniqueItems => "Its items must be different from each other.".into(),
        Kind::Contains => "No item is like the one it must contain.".into(),
        Kind::AnyOf { .. } => "It has none of the forms that are allowed here (anyOf).".into(),
        Kind::OneOfNotValid { .. } => "It has none of the forms that are allowed here (oneOf).".into(),
        Kind::OneOfMultipleValid { .. } => {
            "It has more than one of the forms of which one is allowed (oneOf).".into()
        }
        Kind::Not { .. } => "It has a form that is not allowed here (not).".into(),
        Kind::FalseSchema => "Nothing is allowed here.".into(),
        Kind::PropertyNames { error } => format!("A name is not allowed: {}", sentence(error.kind())),
        other => format!("It does not fit `{}`.", cut(other.keyword(), 60)),
    }
}

fn options_in_words(options: &Value) -> String {
    let Value::Array(options) = options else { return small(options) };
    let shown: Vec<_> = options.iter().take(12).map(small).collect();
    let more = if options.len() > shown.len() { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

fn names(names: &[String]) -> String {
    let shown: Vec<_> = names.iter().take(4).map(|name| format!("“{}”", cut(name, 40))).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn small(value: &Value) -> String {
    cut(&value.to_string(), 60)
}

pub(super) fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
