//! From what is written to what can be called: every rule of `providers.toml`, each with the setting it is about.

use super::{Provider, file::Entry, local, openai::OpenAi, tesseract::Tesseract};
use leasehold_queue::units::ProviderSpec;
use leasehold_types::unit::UnitKind;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

const LONGEST_TIMEOUT: u64 = 3_600;

#[derive(Debug)]
pub struct Wrong {
    pub field: String,
    pub message: String,
}

fn wrong(field: impl Into<String>, message: impl Into<String>) -> Wrong {
    Wrong { field: field.into(), message: message.into() }
}

pub fn provider(
    name: &str,
    table: toml::Table,
    guard_program: &Path,
) -> Result<(ProviderSpec, Arc<dyn Provider>), Wrong> {
    let entry: Entry = table.try_into().map_err(|e: toml::de::Error| {
        let message = e.message().to_owned();
        // The reader names an unknown or missing setting in backquotes.
        let field = message.split('`').nth(1).unwrap_or("settings").to_owned();
        wrong(field, message)
    })?;
    let spec = spec(name, &entry)?;
    if !(1..=LONGEST_TIMEOUT).contains(&entry.timeout_seconds) {
        return Err(wrong("timeout_seconds", format!("must be between 1 and {LONGEST_TIMEOUT}")));
    }
    only_for(&entry)?;
    let provider: Arc<dyn Provider> = match (entry.engine.as_str(), spec.kind) {
        ("local", UnitKind::Llm) => Arc::new(local::Writer),
        ("local", UnitKind::Ocr) => Arc::new(local::Reader),
        ("openai", UnitKind::Llm) => Arc::new(open_ai(entry)?),
        ("tesseract", UnitKind::Ocr) => Arc::new(tesseract(entry, guard_program)?),
        ("openai", _) => return Err(wrong("engine", "“openai” answers type \"llm\" only")),
        ("tesseract", _) => return Err(wrong("engine", "“tesseract” answers type \"ocr\" only")),
        (other, _) => {
            return Err(wrong("engine", format!("“{other}” is not one of local, openai, tesseract")));
        }
    };
    Ok((spec, provider))
}

fn spec(name: &str, entry: &Entry) -> Result<ProviderSpec, Wrong> {
    let kind = entry.kind.parse().map_err(|e| wrong("type", format!("{e}")))?;
    let retry_delay = Duration::try_from_secs_f64(entry.retry_delay_seconds)
        .map_err(|_| wrong("retry_delay_seconds", "must be a number of seconds, 0 or more"))?;
    let spec = ProviderSpec {
        name: name.to_owned(),
        kind,
        is_local: entry.engine == "local",
        requests_per_second: entry.requests_per_second,
        max_concurrency: entry.max_concurrency,
        max_retries: entry.max_retries,
        retry_delay,
    };
    spec.check().map_err(|problem| {
        let field = problem.errors.first().map_or("settings", |error| error.field.as_str());
        wrong(field, problem.detail.clone())
    })?;
    Ok(spec)
}

/// A setting of another engine is a slip of the pen.
fn only_for(entry: &Entry) -> Result<(), Wrong> {
    let given = [
        ("base_url", "openai", entry.base_url.is_some()),
        ("model", "openai", entry.model.is_some()),
        ("api_key_env", "openai", entry.api_key_env.is_some()),
        ("program", "tesseract", entry.program.is_some()),
        ("languages", "tesseract", entry.languages.is_some()),
        ("folder", "tesseract", entry.folder.is_some()),
    ];
    match given.into_iter().find(|(_, engine, given)| *given && *engine != entry.engine) {
        Some((field, engine, _)) => Err(wrong(field, format!("belongs to engine \"{engine}\""))),
        None => Ok(()),
    }
}

fn open_ai(entry: Entry) -> Result<OpenAi, Wrong> {
    let base = entry.base_url.ok_or_else(|| wrong("base_url", "is missing"))?;
    if !base.starts_with("https://") && !base.starts_with("http://") {
        return Err(wrong("base_url", "must begin with https:// or http://"));
    }
    let model = entry.model.filter(|model| !model.is_empty()).ok_or_else(|| wrong("model", "is missing"))?;
    let timeout = Duration::from_secs(entry.timeout_seconds);
    OpenAi::new(&base, model, entry.api_key_env, timeout).map_err(|message| wrong("base_url", message))
}

fn tesseract(entry: Entry, guard_program: &Path) -> Result<Tesseract, Wrong> {
    let program = entry.program.unwrap_or_else(|| PathBuf::from("/usr/bin/tesseract"));
    if !program.is_absolute() {
        return Err(wrong("program", "must be an absolute path"));
    }
    if entry.folder.as_ref().is_some_and(|folder| !folder.is_absolute()) {
        return Err(wrong("folder", "must be an absolute path"));
    }
    let languages = entry.languages.unwrap_or_else(|| "eng".into());
    let plain = |c: char| c.is_ascii_alphanumeric() || "_+".contains(c);
    if languages.is_empty() || !languages.chars().all(plain) {
        return Err(wrong("languages", "must be names such as \"eng\" or \"eng+deu\""));
    }
    Ok(Tesseract {
        program,
        languages,
        folder: entry.folder,
        timeout: Duration::from_secs(entry.timeout_seconds),
        guard_program: guard_program.to_owned(),
    })
}
