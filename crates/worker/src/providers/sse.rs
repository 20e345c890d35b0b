//! A streamed chat answer: lines of `data: {…}`, put together as they come.

use serde_json::Value;

/// No answer is longer; more is a provider gone mad.
pub const LONGEST_ANSWER: usize = 4 * 1024 * 1024;

#[derive(Default)]
pub struct Answer {
    unread: Vec<u8>,
    pub text: String,
    pub characters: usize,
    pub model: Option<String>,
    pub usage: Option<Value>,
    /// The provider said that this is all.
    pub complete: bool,
    /// What it said instead of going on.
    pub error: Option<String>,
}

impl Answer {
    /// Takes the next bytes, which may end anywhere; false when there are too many.
    pub fn push(&mut self, bytes: &[u8]) -> bool {
        self.unread.extend_from_slice(bytes);
        while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            self.line(String::from_utf8_lossy(&line).trim_end());
        }
        self.unread.len() + self.text.len() <= LONGEST_ANSWER
    }

    fn line(&mut self, line: &str) {
        let Some(data) = line.strip_prefix("data:").map(str::trim) else { return };
        if data == "[DONE]" {
            self.complete = true;
            return;
        }
        let Ok(event) = serde_json::from_str::<Value>(data) else { return };
        if let Some(error) = event.get("error") {
            let said =
                error.get("message").and_then(Value::as_str).map_or_else(|| error.to_string(), str::to_owned);
            self.error = Some(said);
        }
        let choice = &event["choices"][0];
        if let Some(piece) = choice["delta"]["content"].as_str() {
            self.text.push_str(piece);
            self.characters += piece.chars().count();
        }
        self.complete |= choice["finish_reason"].is_string();
        self.model = event["model"].as_str().map(str::to_owned).or_else(|| self.model.take());
        self.usage =
            event.get("usage").filter(|usage| usage.is_object()).cloned().or_else(|| self.usage.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_put_together_from_any_pieces() {
        let stream = "data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"Grü\"}}]}\n\n: ping\n\n\
            data: {\"choices\":[{\"delta\":{\"content\":\"ße\"},\"finish_reason\":\"stop\"}]}\r\n\r\n\
            data: {\"choices\":[],\"usage\":{\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";
        for size in [1, 2, 7, 1_000] {
            let mut answer = Answer::default();
            assert!(stream.as_bytes().chunks(size).all(|piece| answer.push(piece)));
            assert_eq!((answer.text.as_str(), answer.characters), ("Grüße", 5));
            assert_eq!(answer.model.as_deref(), Some("m"));
            assert_eq!(answer.usage.unwrap()["completion_tokens"], 2);
            assert!(answer.complete);
        }
    }

    #[test]
    fn an_answer_that_breaks_off_is_not_complete() {
        let mut answer = Answer::default();
        answer.push(b"data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n");
        assert!(!answer.complete);
        answer.push(b"data: {\"error\":{\"message\":\"overloaded\"}}\n");
        assert_eq!(answer.error.as_deref(), Some("overloaded"));
    }

    #[test]
    fn an_endless_answer_is_cut() {
        let mut answer = Answer::default();
        assert!(!answer.push(&vec![b'x'; LONGEST_ANSWER + 1]));
    }
}
