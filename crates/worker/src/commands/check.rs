//! From what is written to what may run: every rule of the command book, each with the field it is about.

use super::{
    Argument, CommandSpec, Program,
    file::{Arg, Entry, Env, Retry},
    resources,
    template::Template,
};
use crate::guard::Limits;
use leasehold_queue::arg_schema::Checker;
use leasehold_types::{DefinitionLimits, ErrorClass, Problem, stage, view::RetryPolicy};
use serde_json::{Value, json};
use std::{path::PathBuf, time::Duration};

/// One year; more is surely a slip of the pen.
const LONGEST_TIMEOUT: i32 = 31_536_000;
const LONGEST_GRACE: u64 = 600;

pub struct Wrong {
    pub field: String,
    pub message: String,
}

pub fn wrong(field: impl Into<String>, message: impl Into<String>) -> Wrong {
    Wrong { field: field.into(), message: message.into() }
}

pub fn command(key: &str, table: toml::Table, defaults: Limits) -> Result<CommandSpec, Wrong> {
    let entry: Entry = table.try_into().map_err(|e: toml::de::Error| {
        let message = e.message().to_owned();
        // The reader names an unknown or missing setting in backquotes.
        let field = message.split('`').nth(1).unwrap_or("settings").to_owned();
        wrong(field, message)
    })?;
    check_name("key", key)?;
    check_name("domain", &entry.domain)?;
    check_name("queue", &entry.queue)?;
    check_numbers(&entry)?;
    stage::check(&entry.stages).map_err(|m| wrong("stages", m))?;
    let resources = Limits {
        user: resources::user(entry.user.as_deref())?,
        new_privileges: entry.allow_new_privileges,
        ..entry.resources().over(defaults)?
    };
    let spec = CommandSpec {
        key: key.to_owned(),
        description: entry.description,
        domain: entry.domain,
        queue: entry.queue,
        program: program(&entry.program)?,
        args: arguments(entry.args)?,
        working_dir: working_dir(entry.working_dir)?,
        env_set: variables(&entry.env)?,
        env_inherit: inherited(entry.env)?,
        timeout_seconds: entry.timeout_seconds,
        grace: Duration::from_secs(entry.grace_seconds),
        max_attempts: entry.max_attempts,
        retry: retry(entry.retry)?,
        stages: entry.stages,
        limits: limits(entry.limits)?,
        resources,
        schema: schema(entry.schema)?,
    };
    check_mapping(&spec)?;
    Ok(spec)
}

fn check_name(field: &str, name: &str) -> Result<(), Wrong> {
    let fine = !name.is_empty()
        && name.len() <= 64
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if fine {
        return Ok(());
    }
    Err(wrong(field, format!("“{name}” must be 1 to 64 letters, digits, -, _ or .")))
}

fn check_numbers(entry: &Entry) -> Result<(), Wrong> {
    if !(1..=LONGEST_TIMEOUT).contains(&entry.timeout_seconds) {
        return Err(wrong("timeout_seconds", format!("must be between 1 and {LONGEST_TIMEOUT}")));
    }
    if entry.grace_seconds > LONGEST_GRACE {
        return Err(wrong("grace_seconds", format!("must be at most {LONGEST_GRACE}")));
    }
    if !(1..=100).contains(&entry.max_attempts) {
        return Err(wrong("max_attempts", "must be between 1 and 100"));
    }
    Ok(())
}

fn program(text: &str) -> Result<Program, Wrong> {
    if text == "@leasehold" {
        return Ok(Program::Leasehold);
    }
    // A search path would let the environment choose what runs.
    if !text.starts_with('/') || text.contains('\0') {
        return Err(wrong("program", format!("“{text}” must be an absolute path, or @leasehold")));
    }
    Ok(Program::At(PathBuf::from(text)))
}

fn working_dir(text: Option<String>) -> Result<Option<PathBuf>, Wrong> {
    match text {
        Some(text) if !text.starts_with('/') || text.contains('\0') => {
            Err(wrong("working_dir", format!("“{text}” must be an absolute path")))
        }
        text => Ok(text.map(PathBuf::from)),
    }
}

fn arguments(args: Vec<Arg>) -> Result<Vec<Argument>, Wrong> {
    let each = args.into_iter().enumerate().map(|(i, arg)| {
        let field = format!("args[{i}]");
        let (text, optional) = match arg {
            Arg::Plain(text) => (text, false),
            Arg::Table(table) => (table.arg, table.optional),
        };
        let template = Template::parse(&text).map_err(|m| wrong(field.clone(), m))?;
        if matches!(template.before_first_hole(), Some("-" | "--")) {
            let message =
                format!("“{text}” lets a value choose the option; write --name={{{{payload.name}}}}");
            return Err(wrong(field, message));
        }
        if optional && template.payload_properties().next().is_none() {
            return Err(wrong(field, format!("“{text}” is optional but uses nothing of the payload")));
        }
        Ok(Argument { template, optional })
    });
    each.collect()
}

fn variables(env: &Env) -> Result<Vec<(String, Template)>, Wrong> {
    let each = env.set.iter().map(|(name, text)| {
        let field = format!("env.{name}");
        check_variable(&field, name)?;
        let template = Template::parse(text).map_err(|m| wrong(field, m))?;
        Ok((name.clone(), template))
    });
    each.collect()
}

fn inherited(env: Env) -> Result<Vec<String>, Wrong> {
    for name in &env.inherit {
        check_variable("env.inherit", name)?;
        let ours = name == "DATABASE_URL" || name.starts_with("JOBS_") || name.starts_with("LEASEHOLD_");
        if ours {
            let message =
                format!("{name} is Leasehold's own and may hold a secret; set the variable instead");
            return Err(wrong("env.inherit", message));
        }
    }
    Ok(env.inherit)
}

fn check_variable(field: &str, name: &str) -> Result<(), Wrong> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(wrong(field, format!("“{name}” is not a name of an environment variable")));
    }
    Ok(())
}

fn retry(retry: Retry) -> Result<RetryPolicy, Wrong> {
    let Retry { base_seconds, cap_seconds, jitter, retryable_classes } = retry;
    if !(base_seconds.is_finite() && base_seconds >= 0.0 && cap_seconds.is_finite()) {
        return Err(wrong("retry", "base_seconds and cap_seconds must be numbers of seconds"));
    }
    if cap_seconds < base_seconds {
        return Err(wrong("retry.cap_seconds", "must not be smaller than base_seconds"));
    }
    for class in &retryable_classes {
        class.parse::<ErrorClass>().map_err(|e| wrong("retry.retryable_classes", e.to_string()))?;
    }
    Ok(RetryPolicy { base_seconds, cap_seconds, jitter, retryable_classes })
}

fn limits(limits: DefinitionLimits) -> Result<DefinitionLimits, Wrong> {
    let field_of = |problem: &Problem| problem.errors.first().map_or("", |e| &e.field).to_owned();
    limits.check().map_err(|problem| {
        wrong(format!("limits.{}", field_of(&problem)), "must be at least 1, or left out")
    })?;
    Ok(limits)
}

/// Without a schema a command takes no payload at all.
fn schema(table: Option<toml::Table>) -> Result<Value, Wrong> {
    let Some(table) = table else {
        return Ok(json!({"type": "object", "properties": {}, "additionalProperties": false}));
    };
    let schema = serde_json::to_value(table).map_err(|e| wrong("schema", e.to_string()))?;
    Checker::new(&schema).map_err(|why| wrong("schema", why))?;
    Ok(schema)
}

/// Every property of the payload goes somewhere, and everything a template needs is sure to be there.
fn check_mapping(spec: &CommandSpec) -> Result<(), Wrong> {
    let properties = spec.schema.get("properties").and_then(Value::as_object);
    for property in properties.into_iter().flat_map(|p| p.keys()) {
        if !spec.uses(property) {
            return Err(wrong(
                format!("schema.properties.{property}"),
                "no argument and no variable uses this property",
            ));
        }
    }
    let required = spec.schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|r| r == name));
    for (field, template, optional) in named_templates(spec) {
        for property in template.payload_properties() {
            if properties.is_none_or(|known| !known.contains_key(property)) {
                return Err(wrong(field, format!("payload.{property} is not a property of the schema")));
            }
            if !optional && !is_required(property) && spec.default_of(property).is_none() {
                let message = format!(
                    "payload.{property} may be missing: require it, give it a default, or write \
                     {{ arg = \"…\", optional = true }}"
                );
                return Err(wrong(field, message));
            }
        }
    }
    Ok(())
}

fn named_templates(spec: &CommandSpec) -> impl Iterator<Item = (String, &Template, bool)> {
    let args = spec.args.iter().enumerate().map(|(i, a)| (format!("args[{i}]"), &a.template, a.optional));
    // A variable whose property is missing is simply not set.
    let env = spec.env_set.iter().map(|(name, template)| (format!("env.{name}"), template, true));
    args.chain(env)
}
