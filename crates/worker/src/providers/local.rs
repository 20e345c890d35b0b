//! Two providers that need nothing and nobody: for a first try, for tests, and for machines without a network. The
//! same request always has the same answer, and wherever they are shown they are marked "local, deterministic".

use super::{Heard, Provider};
use async_trait::async_trait;
use leasehold_queue::units::{UnitError, UnitOutcome};
use leasehold_types::ErrorClass;
use serde_json::{Value, json};

const MODEL: &str = "local, deterministic";

/// "Recognises" pages that are text already.
pub struct Reader;

#[async_trait]
impl Provider for Reader {
    async fn call(&self, request: &Value, heard: &Heard) -> UnitOutcome {
        let Some(text) = request.get("text").and_then(Value::as_str) else {
            let message = "The local reader knows only pages with a “text”; it cannot see pictures.";
            return Err(UnitError::permanent("unreadable_page", ErrorClass::UnsupportedFormat, message));
        };
        heard(text.chars().count());
        Ok(json!({"text": text, "model": MODEL}))
    }
}

/// Answers a chat by tidying up the last message: words that were broken at a line's end are joined, and lines
/// become paragraphs.
pub struct Writer;

#[async_trait]
impl Provider for Writer {
    async fn call(&self, request: &Value, heard: &Heard) -> UnitOutcome {
        let messages = request.get("messages").and_then(Value::as_array);
        let last = messages.and_then(|all| all.last()).and_then(|message| message.get("content")?.as_str());
        let Some(last) = last else {
            let message = "The request has no message to answer.";
            return Err(UnitError::permanent("no_message", ErrorClass::ValidationError, message));
        };
        let text = tidy(last);
        heard(text.chars().count());
        let words = |text: &str| text.split_whitespace().count();
        let usage = json!({"prompt_tokens": words(last), "completion_tokens": words(&text)});
        Ok(json!({"text": text, "model": MODEL, "usage": usage}))
    }
}

fn tidy(text: &str) -> String {
    let paragraphs = text.replace("\r\n", "\n");
    let tidied = paragraphs.split("\n\n").map(|paragraph| {
        let mut whole = String::new();
        for line in paragraph.lines() {
            let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
            match whole.strip_suffix('-') {
                Some(head) if line.starts_with(char::is_lowercase) => whole.truncate(head.len()),
                _ if whole.is_empty() => {}
                _ => whole.push(' '),
            }
            whole.push_str(&line);
        }
        whole.trim().to_owned()
    });
    tidied.filter(|paragraph| !paragraph.is_empty()).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_words_and_lines_are_joined() {
        assert_eq!(tidy("The har-\nbour  is\nquiet.\n\n\nA new day"), "The harbour is quiet.\n\nA new day");
        assert_eq!(tidy("Port-\nLa Nouvelle"), "Port- La Nouvelle");
        assert_eq!(tidy(" \n"), "");
    }

    #[tokio::test]
    async fn what_they_cannot_do_they_say() {
        let picture = Reader.call(&json!({"file": "a.png"}), &|_| {}).await.unwrap_err();
        assert_eq!((picture.code.as_str(), picture.retryable), ("unreadable_page", false));
        assert_eq!(Writer.call(&json!({}), &|_| {}).await.unwrap_err().code, "no_message");
    }
}
