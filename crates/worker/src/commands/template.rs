//! `--rows={{payload.rows}}`: text with named holes. One template gives exactly one text, whatever the values hold;
//! there is no shell, no splitting and no second round of filling in.

use serde_json::Value;

/// A text with holes.
#[derive(Clone, PartialEq, Debug)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, PartialEq, Debug)]
enum Part {
    Text(String),
    Hole(Path),
}

/// What fills a hole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Path {
    TenantId,
    TenantSlug,
    JobId,
    JobNumber,
    JobAttempt,
    /// The way from the payload's root to a value.
    Payload(Vec<String>),
}

/// Where the values of the holes come from.
pub struct Values<'a> {
    pub tenant_id: String,
    pub tenant_slug: &'a str,
    pub job_id: String,
    pub job_number: i64,
    pub job_attempt: i32,
    pub payload: &'a Value,
    /// The schema's default for a property of the payload that is not there.
    pub default: &'a (dyn Fn(&str) -> Option<Value> + Sync),
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RenderError {
    #[error("payload.{0} is missing")]
    Missing(String),
    #[error("payload.{0} is a list or an object; an argument needs one text, number or truth value")]
    NotPlain(String),
    #[error("payload.{0} contains a NUL character")]
    Nul(String),
}

impl Template {
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.contains('\0') {
            return Err("contains a NUL character".into());
        }
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, tail) =
                after.split_once("}}").ok_or_else(|| format!("“{text}” opens {{{{ and never closes it"))?;
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            parts.push(Part::Hole(Path::parse(name.trim())?));
            rest = tail;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Self { parts })
    }

    /// The text before the first hole; none when there is no hole at all.
    pub fn before_first_hole(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Hole(_), ..] => Some(""),
            [Part::Text(text), Part::Hole(_), ..] => Some(text),
            _ => None,
        }
    }

    /// The payload properties (first step of the way) that this template uses.
    pub fn payload_properties(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Hole(Path::Payload(way)) => way.first().map(String::as_str),
            _ => None,
        })
    }

    pub fn render(&self, values: &Values<'_>) -> Result<String, RenderError> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(fixed) => text.push_str(fixed),
                Part::Hole(path) => text.push_str(&path.fill(values)?),
            }
        }
        Ok(text)
    }
}

impl Path {
    fn parse(name: &str) -> Result<Self, String> {
        Ok(match name {
            "tenant.id" => Self::TenantId,
            "tenant.slug" => Self::TenantSlug,
            "job.id" => Self::JobId,
            "job.number" => Self::JobNumber,
            "job.attempt" => Self::JobAttempt,
            _ => match name.strip_prefix("payload.").map(|way| way.split('.').map(str::to_owned)) {
                Some(way) if way.clone().all(|step| !step.is_empty()) => Self::Payload(way.collect()),
                _ => {
                    return Err(format!(
                        "{{{{{name}}}}} is unknown; there are payload.<property>, tenant.id, tenant.slug, job.id, \
                         job.number and job.attempt"
                    ));
                }
            },
        })
    }

    fn fill(&self, values: &Values<'_>) -> Result<String, RenderError> {
        match self {
            Self::TenantId => Ok(values.tenant_id.clone()),
            Self::TenantSlug => Ok(values.tenant_slug.to_owned()),
            Self::JobId => Ok(values.job_id.clone()),
            Self::JobNumber => Ok(values.job_number.to_string()),
            Self::JobAttempt => Ok(values.job_attempt.to_string()),
            Self::Payload(way) => {
                let name = way.join(".");
                let found = way.iter().try_fold(values.payload, |at, step| at.get(step));
                // Null means "not given", as in most forms.
                let found = found.filter(|v| !v.is_null()).cloned();
                let value = found.or_else(|| match way.as_slice() {
                    [property] => (values.default)(property),
                    _ => None,
                });
                plain(&name, value)
            }
        }
    }
}

fn plain(name: &str, value: Option<Value>) -> Result<String, RenderError> {
    match value {
        None | Some(Value::Null) => Err(RenderError::Missing(name.to_owned())),
        Some(Value::String(text)) if text.contains('\0') => Err(RenderError::Nul(name.to_owned())),
        Some(Value::String(text)) => Ok(text),
        Some(Value::Number(number)) => Ok(number.to_string()),
        Some(Value::Bool(truth)) => Ok(truth.to_string()),
        Some(Value::Array(_) | Value::Object(_)) => Err(RenderError::NotPlain(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rendered(template: &str, payload: &Value) -> Result<String, RenderError> {
        let values = Values {
            tenant_id: "t-1".into(),
            tenant_slug: "acme",
            job_id: "j-1".into(),
            job_number: 7,
            job_attempt: 2,
            payload,
            default: &|name| (name == "rows").then(|| json!(1200)),
        };
        Template::parse(template).unwrap().render(&values)
    }

    #[test]
    fn holes_are_filled_once_and_never_again() {
        let payload = json!({"a": "{{tenant.id}} $(x) ; `y`", "deep": {"er": true}});
        assert_eq!(rendered("--a={{payload.a}}", &payload).unwrap(), "--a={{tenant.id}} $(x) ; `y`");
        assert_eq!(
            rendered("{{tenant.slug}}/{{job.number}}.{{ job.attempt }}", &payload).unwrap(),
            "acme/7.2"
        );
        assert_eq!(rendered("{{payload.deep.er}}", &payload).unwrap(), "true");
    }

    #[test]
    fn a_default_stands_in_for_what_is_missing_or_null() {
        assert_eq!(rendered("{{payload.rows}}", &json!({"rows": null})).unwrap(), "1200");
        assert_eq!(rendered("{{payload.rows}}", &json!({"rows": 3})).unwrap(), "3");
        assert_eq!(rendered("{{payload.x}}", &json!({})), Err(RenderError::Missing("x".into())));
    }

    #[test]
    fn lists_objects_and_nul_are_refused() {
        assert_eq!(rendered("{{payload.x}}", &json!({"x": [1]})), Err(RenderError::NotPlain("x".into())));
        assert_eq!(rendered("{{payload.x}}", &json!({"x": "a\0b"})), Err(RenderError::Nul("x".into())));
    }

    #[test]
    fn unknown_names_and_open_braces_are_found_when_the_book_is_read() {
        for wrong in ["{{payload}}", "{{payload.}}", "{{env.HOME}}", "{{job.id", "a\0b"] {
            assert!(Template::parse(wrong).is_err(), "{wrong}");
        }
    }
}
