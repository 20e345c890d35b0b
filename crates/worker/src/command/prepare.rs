//! From a job to a call: program, arguments, environment. A value fills the place it was given and no other.

use crate::commands::{
    CommandSpec, Program,
    template::{RenderError, Template, Values},
};
use leasehold_queue::params::ClaimedJob;
use serde_json::Value;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    pub program: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(String, OsString)>,
    pub working_dir: PathBuf,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    #[error(transparent)]
    Value(#[from] RenderError),
    #[error("argument {0} would begin with “-” and become an option")]
    WouldBeOption(usize),
    #[error("payload.{0} is not used by the command")]
    Unmapped(String),
    #[error("the payload must be an object")]
    NotAnObject,
}

pub fn call(spec: &CommandSpec, job: &ClaimedJob, leasehold: &Path) -> Result<Call, Refused> {
    check_payload(spec, &job.payload)?;
    let default = |property: &str| spec.default_of(property);
    // The tenant always comes from the job's row, never from what a caller sent.
    let values = Values {
        tenant_id: job.tenant_id.to_string(),
        tenant_slug: &job.tenant_slug,
        job_id: job.id.to_string(),
        job_number: job.lease.number,
        job_attempt: job.attempt,
        payload: &job.payload,
        default: &default,
    };
    Ok(Call {
        program: match &spec.program {
            Program::Leasehold => leasehold.to_owned(),
            Program::At(path) => path.clone(),
        },
        args: arguments(spec, &values)?,
        env: environment(spec, &values)?,
        working_dir: spec.working_dir.clone().unwrap_or_else(|| PathBuf::from("/")),
    })
}

fn check_payload(spec: &CommandSpec, payload: &Value) -> Result<(), Refused> {
    let properties = match payload {
        Value::Null => return Ok(()),
        Value::Object(properties) => properties,
        _ => return Err(Refused::NotAnObject),
    };
    match properties.keys().find(|property| !spec.uses(property)) {
        Some(unused) => Err(Refused::Unmapped(unused.clone())),
        None => Ok(()),
    }
}

fn arguments(spec: &CommandSpec, values: &Values<'_>) -> Result<Vec<String>, Refused> {
    let mut args = Vec::with_capacity(spec.args.len());
    for (i, argument) in spec.args.iter().enumerate() {
        let Some(text) = rendered(&argument.template, values, argument.optional)? else { continue };
        if argument.template.before_first_hole() == Some("") && text.starts_with('-') {
            return Err(Refused::WouldBeOption(i + 1));
        }
        args.push(text);
    }
    Ok(args)
}

fn environment(spec: &CommandSpec, values: &Values<'_>) -> Result<Vec<(String, OsString)>, Refused> {
    let inherited = spec.env_inherit.iter().filter_map(|name| Some((name.clone(), std::env::var_os(name)?)));
    let mut env: Vec<_> = inherited.collect();
    for (name, template) in &spec.env_set {
        if let Some(text) = rendered(template, values, true)? {
            env.push((name.clone(), text.into()));
        }
    }
    Ok(env)
}

fn rendered(template: &Template, values: &Values<'_>, optional: bool) -> Result<Option<String>, Refused> {
    match template.render(values) {
        Ok(text) => Ok(Some(text)),
        Err(RenderError::Missing(_)) if optional => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::CommandBook;
    use leasehold_queue::params::Lease;
    use leasehold_types::{JobId, LeaseId, TenantId, Timestamp, WorkerId};
    use serde_json::json;
    use uuid::Uuid;

    const BOOK: &str = r#"
        [commands.c]
        program = "@leasehold"
        args = ["run", "{{payload.file}}", "--as={{payload.name}}", { arg = "{{payload.note}}", optional = true }]
        env = { TENANT = "{{tenant.slug}}", NOTE = "{{payload.note}}" }
        [commands.c.schema]
        required = ["file"]
        [commands.c.schema.properties]
        file = {}
        name = { default = "nobody" }
        note = {}
    "#;

    fn called(payload: Value) -> Result<Call, Refused> {
        let book = CommandBook::parse(BOOK, Path::new("test")).unwrap();
        let lease = Lease { number: 7, worker_id: WorkerId("w".into()), lease_id: LeaseId(Uuid::nil()) };
        let job = ClaimedJob {
            lease,
            id: JobId(Uuid::nil()),
            tenant_id: TenantId(Uuid::nil()),
            tenant_slug: "acme".into(),
            domain: "commands".into(),
            queue: "default".into(),
            job_type: "c".into(),
            definition_id: None,
            payload,
            checkpoint: None,
            attempt: 1,
            max_attempts: 3,
            progress: 0,
            leased_until: Timestamp::default(),
            trace_id: String::new(),
            request_id: None,
        };
        call(book.get("c").unwrap(), &job, Path::new("/opt/leasehold"))
    }

    #[test]
    fn one_template_gives_one_argument() {
        let call = called(json!({"file": "a b; rm -rf / $(x)", "note": "two\nlines"})).unwrap();
        assert_eq!(call.program, Path::new("/opt/leasehold"));
        assert_eq!(call.args, ["run", "a b; rm -rf / $(x)", "--as=nobody", "two\nlines"]);
        assert_eq!(call.env, [("NOTE".into(), "two\nlines".into()), ("TENANT".into(), "acme".into())]);
    }

    #[test]
    fn what_is_optional_and_missing_is_left_out() {
        let call = called(json!({"file": "x"})).unwrap();
        assert_eq!(call.args, ["run", "x", "--as=nobody"]);
        assert_eq!(call.env, [("TENANT".into(), "acme".into())]);
        assert_eq!(called(json!({})), Err(Refused::Value(RenderError::Missing("file".into()))));
    }

    #[test]
    fn a_value_never_becomes_an_option_of_its_own() {
        assert_eq!(called(json!({"file": "--delete"})), Err(Refused::WouldBeOption(2)));
        assert_eq!(called(json!({"file": -1})), Err(Refused::WouldBeOption(2)));
        assert!(called(json!({"file": "x", "name": "--delete"})).is_ok(), "it stays behind --as=");
    }

    #[test]
    fn nul_and_properties_nobody_uses_are_refused() {
        assert_eq!(called(json!({"file": "a\0b"})), Err(Refused::Value(RenderError::Nul("file".into()))));
        assert_eq!(called(json!({"file": "x", "extra": 1})), Err(Refused::Unmapped("extra".into())));
        assert_eq!(called(json!([1])), Err(Refused::NotAnObject));
    }
}
