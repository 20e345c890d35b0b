//! The jobs table's filters as they stand in the address, so that a view can be bookmarked and shared.

use leasehold_types::{JobFilter, JobStatus, PageRequest};

#[derive(Clone, PartialEq, Debug, Default)]
pub struct JobsQuery {
    pub filter: JobFilter,
    pub before: Option<i64>,
}

impl JobsQuery {
    /// Unknown names and unreadable values are left out: an old bookmark still shows something.
    pub fn parse(query: &str) -> Self {
        let mut parsed = Self::default();
        for (name, value) in pairs(query) {
            let text = Some(value.trim().to_owned()).filter(|v| !v.is_empty());
            match name.as_str() {
                "status" => parsed.filter.statuses.extend(value.parse::<JobStatus>()),
                "domain" => parsed.filter.domain = text,
                "type" => parsed.filter.job_type = text,
                "queue" => parsed.filter.queue = text,
                "q" => parsed.filter.q = text.map(|t| t.chars().take(200).collect()),
                "before" => parsed.before = value.parse().ok().filter(|n| *n > 0),
                _ => {}
            }
        }
        parsed
    }

    /// The jobs of one queue of one domain; other domains may have a queue of the same name.
    pub fn of_queue(domain: &str, queue: &str) -> Self {
        let filter = JobFilter {
            domain: Some(domain.to_owned()),
            queue: Some(queue.to_owned()),
            ..JobFilter::default()
        };
        Self { filter, before: None }
    }

    /// The address of the list in this tenant.
    pub fn href(&self, slug: &str) -> String {
        format!("/t/{slug}/jobs{}", self.to_search())
    }

    pub fn page(&self) -> PageRequest {
        PageRequest { before: self.before, ..PageRequest::default() }
    }

    /// The first page of the same filter with one status, or with all.
    #[must_use]
    pub fn with_status(&self, status: Option<JobStatus>) -> Self {
        let filter = JobFilter { statuses: status.into_iter().collect(), ..self.filter.clone() };
        Self { filter, before: None }
    }

    #[must_use]
    pub fn before(&self, number: i64) -> Self {
        Self { before: Some(number), ..self.clone() }
    }

    /// `?status=failed&q=…`, or nothing.
    pub fn to_search(&self) -> String {
        let mut parts = Vec::new();
        let filter = &self.filter;
        parts.extend(filter.statuses.iter().map(|s| format!("status={s}")));
        let texts = [
            ("domain", &filter.domain),
            ("type", &filter.job_type),
            ("queue", &filter.queue),
            ("q", &filter.q),
        ];
        parts.extend(texts.iter().filter_map(|(name, v)| Some(format!("{name}={}", encode(v.as_ref()?)))));
        parts.extend(self.before.map(|n| format!("before={n}")));
        if parts.is_empty() { String::new() } else { format!("?{}", parts.join("&")) }
    }
}

/// The names and values of a query string, in order, with repeats.
pub fn pairs(query: &str) -> Vec<(String, String)> {
    let query = query.strip_prefix('?').unwrap_or(query);
    let read = |text: &str| decode(&text.replace('+', " "));
    query
        .split('&')
        .filter(|part| !part.is_empty())
        .map(|part| part.split_once('=').unwrap_or((part, "")))
        .map(|(name, value)| (read(name), read(value)))
        .collect()
}

/// One value of a query string.
pub fn value(query: &str, name: &str) -> Option<String> {
    pairs(query).into_iter().find(|(n, _)| n == name).map(|(_, v)| v)
}

/// Percent-encodes everything but the unreserved characters.
pub fn encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
        out
    })
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let hex = bytes.get(i + 1..i + 3).and_then(|h| std::str::from_utf8(h).ok());
        match (bytes[i], hex.and_then(|h| u8::from_str_radix(h, 16).ok())) {
            (b'%', Some(byte)) => {
                out.push(byte);
                i += 3;
            }
            (byte, _) => {
                out.push(byte);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_survives_the_address_bar() {
        let query =
            JobsQuery::parse("status=failed&status=dead_letter&type=demo-import&q=a%26b+%C3%BC&before=90");
        assert_eq!(query.filter.statuses, [JobStatus::Failed, JobStatus::DeadLetter]);
        assert_eq!(query.filter.q.as_deref(), Some("a&b ü"));
        assert_eq!(query.page().before, Some(90));
        assert_eq!(JobsQuery::parse(&query.to_search()), query);
    }

    #[test]
    fn a_queue_is_found_again_whatever_it_is_called() {
        let query = JobsQuery::of_queue("decks & more", "a/b?c=d#é");
        let href = query.href("acme");
        assert_eq!(href, "/t/acme/jobs?domain=decks%20%26%20more&queue=a%2Fb%3Fc%3Dd%23%C3%A9");
        assert_eq!(JobsQuery::parse(href.split_once('?').unwrap().1), query);
    }

    #[test]
    fn nonsense_in_the_address_is_ignored() {
        let query = JobsQuery::parse("?status=sleeping&before=-3&q=++&colour=blue&%zz=%");
        assert_eq!(query, JobsQuery::default());
        assert_eq!(query.to_search(), "");
    }
}
