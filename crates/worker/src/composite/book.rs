//! `books/ocr_correct`: every page is read (OCR), what was read is corrected (LLM), and the pages become one text.
//!
//! The worked example of a composite job. Pages go their own ways: the first may be corrected while the last has not
//! been read. A page that cannot be read is left out and named; one that cannot be corrected stays as it was read.

use super::Composite;
use crate::executor::{Ctx, failure};
use async_trait::async_trait;
use leasehold_queue::{
    params::{ClaimedJob, NewDefinition},
    transition::Failure,
    units::{UnitResult, WorkUnit},
};
use leasehold_types::{DefinitionLimits, ErrorClass, unit::UnitKind, view::RetryPolicy};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

const MOST_PAGES: usize = 2_000;
const INSTRUCTION: &str = "Correct the recognition errors in this page. Join words that were broken at a line's end. \
    Change nothing else, and answer with the corrected text only.";

/// Where one page stands. What was read travels in the request of its correction, so that it is kept only once.
#[derive(Serialize, Deserialize, Clone)]
#[serde(rename_all = "snake_case")]
enum Page {
    Reading,
    Correcting,
    Corrected(String),
    /// As it was read: the correction failed.
    Uncorrected(String),
    /// It could not be read, and why.
    Missing(String),
}

#[derive(Serialize, Deserialize, Default)]
pub struct Book {
    pages: Vec<Page>,
    llm_provider: String,
}

#[derive(Deserialize)]
struct Scans {
    pages: Vec<Map<String, Value>>,
    #[serde(default)]
    ocr_provider: String,
    #[serde(default)]
    llm_provider: String,
}

pub fn definition() -> NewDefinition {
    let word =
        |title: &str| json!({"type": "string", "title": title, "description": "Empty = the least loaded"});
    NewDefinition {
        key: "books.ocr-correct".into(),
        description: "Reads the pages of a book, corrects them, and puts the text together".into(),
        domain: "books".into(),
        job_type: "ocr_correct".into(),
        queue: "default".into(),
        executor: "builtin".into(),
        arg_schema: json!({
            "type": "object",
            "properties": {
                "pages": {
                    "type": "array", "title": "Pages", "maxItems": MOST_PAGES,
                    "items": {
                        "type": "object",
                        "properties": {
                            "text": {"type": "string", "description": "A page that is text already"},
                            "file": {"type": "string", "description": "A picture in the provider's folder"},
                            "image_base64": {"type": "string", "description": "A picture"}
                        },
                        "minProperties": 1, "maxProperties": 1, "additionalProperties": false
                    }
                },
                "ocr_provider": word("Provider for reading"),
                "llm_provider": word("Provider for correcting")
            },
            "required": ["pages"],
            "additionalProperties": false
        }),
        timeout_seconds: 86_400,
        max_attempts: 5,
        retry: RetryPolicy::default(),
        stages: Vec::new(),
        limits: DefinitionLimits::default(),
    }
}

#[async_trait]
impl Composite for Book {
    async fn start(&mut self, job: &ClaimedJob, _: &Ctx) -> Result<Vec<WorkUnit>, Failure> {
        let scans: Scans = serde_json::from_value(job.payload.clone()).map_err(|error| {
            failure("bad_payload", ErrorClass::ValidationError, format!("The payload does not fit: {error}."))
        })?;
        self.pages = vec![Page::Reading; scans.pages.len()];
        self.llm_provider = scans.llm_provider;
        let units = scans.pages.into_iter().enumerate().map(|(index, mut request)| {
            request.insert("page".into(), json!(index));
            let name = format!("Page {}, reading", index + 1);
            WorkUnit::new(UnitKind::Ocr, name, Value::Object(request)).through(&*scans.ocr_provider)
        });
        Ok(units.collect())
    }

    async fn on_complete(&mut self, ctx: &Ctx, result: &UnitResult) -> Result<Vec<WorkUnit>, Failure> {
        let index = result.unit.request["page"].as_u64().and_then(|page| usize::try_from(page).ok());
        let (Some(index), Some(page)) = (index, index.and_then(|index| self.pages.get_mut(index))) else {
            return Err(failure("unknown_page", ErrorClass::InternalBug, "A unit belongs to no page."));
        };
        let text = |value: &Value| value["text"].as_str().unwrap_or_default().to_owned();
        let (state, follow_up) = match (&result.outcome, result.unit.kind) {
            (Ok(read), UnitKind::Ocr) => {
                (Page::Correcting, Some(correction(index, &text(read), &self.llm_provider)))
            }
            (Ok(corrected), UnitKind::Llm) => (Page::Corrected(text(corrected)), None),
            (Err(error), UnitKind::Ocr) => {
                ctx.note(format!("Page {} cannot be read: {}", index + 1, error.message));
                (Page::Missing(error.message.clone()), None)
            }
            (Err(error), UnitKind::Llm) => {
                ctx.note(format!("Page {} stays uncorrected: {}", index + 1, error.message));
                (Page::Uncorrected(text(&result.unit.request)), None)
            }
        };
        *page = state;
        self.give_up_if_nothing_was_read()?;
        Ok(follow_up.into_iter().collect())
    }

    fn done(&self) -> bool {
        !self.pages.iter().any(|page| matches!(page, Page::Reading | Page::Correcting))
    }

    fn status(&self) -> String {
        let count = |wanted: fn(&Page) -> bool| self.pages.iter().filter(|page| wanted(page)).count();
        let read = self.pages.len() - count(|page| matches!(page, Page::Reading));
        let corrected = count(|page| matches!(page, Page::Corrected(_)));
        format!("{read} of {} pages read, {corrected} corrected", self.pages.len())
    }

    fn result(&self) -> Value {
        let numbers = |wanted: fn(&Page) -> bool| -> Vec<usize> {
            let numbered = self.pages.iter().zip(1..).filter(|(page, _)| wanted(page));
            numbered.map(|(_, number)| number).collect()
        };
        let texts = self.pages.iter().filter_map(|page| match page {
            Page::Corrected(text) | Page::Uncorrected(text) => Some(text.as_str()),
            _ => None,
        });
        json!({
            "pages": self.pages.len(),
            "text": texts.collect::<Vec<_>>().join("\n\n"),
            "uncorrected": numbers(|page| matches!(page, Page::Uncorrected(_))),
            "missing": numbers(|page| matches!(page, Page::Missing(_))),
        })
    }
}

impl Book {
    /// A book without a single page is no result.
    fn give_up_if_nothing_was_read(&self) -> Result<(), Failure> {
        match self.pages.last() {
            Some(Page::Missing(why)) if self.pages.iter().all(|page| matches!(page, Page::Missing(_))) => {
                let message = format!("No page could be read. The last one: {why}");
                // Its calls have been retried already, as far as that made sense.
                let failure = failure("nothing_read", ErrorClass::DependencyUnavailable, message);
                Err(Failure { retryable: Some(false), ..failure })
            }
            _ => Ok(()),
        }
    }
}

fn correction(index: usize, read: &str, provider: &str) -> WorkUnit {
    let request = json!({
        "page": index,
        "text": read,
        "messages": [
            {"role": "system", "content": INSTRUCTION},
            {"role": "user", "content": read},
        ],
    });
    WorkUnit::new(UnitKind::Llm, format!("Page {}, correcting", index + 1), request).through(provider)
}
