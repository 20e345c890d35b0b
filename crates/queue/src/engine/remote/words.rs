//! What a worker says, made fit to be kept: bounded, without secrets, without what a database cannot hold.

use crate::{payload, remote::HeldJob, secrets::Redactor, transition::Ending};
use leasehold_types::{Problem, ProblemCode};
use serde_json::Value;

/// The most of one line that is kept, in characters.
pub const LONGEST_LINE: usize = 8 * 1024;
pub const LONGEST_MESSAGE: usize = 500;
const LONGEST_ERROR: usize = 4_000;
const LONGEST_STACK: usize = 64 * 1024;
pub const LONGEST_CODE: usize = 64;

/// A result or a checkpoint.
pub fn check_json(what: &str, value: &Value, most: usize) -> Result<(), Problem> {
    let size = value.to_string().len();
    if size > most {
        let detail = format!("The {what} has {size} bytes; at most {most} are allowed. Nothing was changed.");
        return Err(Problem::new(ProblemCode::PayloadTooLarge, detail));
    }
    payload::check_content(value).map_err(|_| {
        Problem::invalid(what, "It is nested too deeply or contains a NUL character. Nothing was changed.")
    })
}

pub fn redactor(job: &HeldJob) -> Redactor {
    job.payload.as_ref().map(Redactor::for_payload).unwrap_or_default()
}

pub fn bounded(ending: Ending, redactor: &Redactor) -> Ending {
    let Ending::Failed(mut failure) = ending else { return ending };
    failure.message = said(redactor, &failure.message, LONGEST_ERROR);
    failure.stack = failure.stack.map(|stack| said(redactor, &stack, LONGEST_STACK));
    failure.error_code = failure.error_code.map(|code| clean(&code, LONGEST_CODE)).filter(|c| !c.is_empty());
    Ending::Failed(failure)
}

/// Cut before it is searched for secrets: a worker may send very much.
pub fn said(redactor: &Redactor, text: &str, most: usize) -> String {
    redactor.text(&clean(text, most)).into_owned()
}

/// Text a database can keep.
pub fn clean(text: &str, most: usize) -> String {
    text.chars().map(|c| if c == '\0' { '\u{fffd}' } else { c }).take(most).collect()
}

pub fn stale(number: i64) -> Problem {
    let detail = format!(
        "Job #{number} is not held under this lease: it was taken back, given to another worker or has ended. \
         Nothing was changed; stop working on it and drop the result."
    );
    Problem::new(ProblemCode::StaleLease, detail)
}
