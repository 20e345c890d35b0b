//! The process's own log, without secrets: whatever a dependency, a request or an error message brings along.

use leasehold_queue::secrets::Redactor;
use std::io::{Result, Write};

/// The subscriber writes every event at once, so a secret is always seen whole.
pub struct RedactedLog<W> {
    redactor: Redactor,
    to: W,
}

impl<W: Write> RedactedLog<W> {
    pub fn new(redactor: Redactor, to: W) -> Self {
        Self { redactor, to }
    }
}

impl<W: Write> Write for RedactedLog<W> {
    fn write(&mut self, event: &[u8]) -> Result<usize> {
        let text = String::from_utf8_lossy(event);
        self.to.write_all(self.redactor.text(&text).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_logged_without_its_secrets() {
        let mut log = RedactedLog::new(Redactor::default(), Vec::new());
        log.write_all(b"INFO request{id=7}: failed url=https://x/?api_key=abcdef rows=3\n").unwrap();
        let written = String::from_utf8(log.to).unwrap();
        assert_eq!(written, "INFO request{id=7}: failed url=https://x/?api_key=***REDACTED*** rows=3\n");
    }
}
