//! The two text formats: Prometheus' own, and OpenMetrics, which also carries exemplars.

use super::{
    histogram::Histogram,
    names::{Family, Kind},
};
use axum::http::{HeaderMap, header};
use std::fmt::{Display, Write};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Prometheus,
    OpenMetrics,
}

impl Format {
    pub fn asked_for(headers: &HeaderMap) -> Self {
        let accept = headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let open = accept.split(',').any(|part| {
            let mut words = part.split(';').map(str::trim);
            words.next() == Some("application/openmetrics-text") && !words.any(|w| w == "q=0")
        });
        if open { Self::OpenMetrics } else { Self::Prometheus }
    }

    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Writes families one after the other; a family without samples is not mentioned.
pub struct Exposition {
    format: Format,
    text: String,
    /// The family whose samples are being written.
    current: &'static str,
}

impl Exposition {
    pub fn new(format: Format) -> Self {
        Self { format, text: String::with_capacity(64 * 1024), current: "" }
    }

    pub fn sample(&mut self, family: &'static Family, labels: &[&str], value: impl Display) {
        self.head(family);
        self.text.push_str(family.name);
        self.labels(family.labels, labels, None);
        self.end(value);
    }

    pub fn histogram(
        &mut self,
        family: &'static Family,
        labels: &[&str],
        bounds: &[f64],
        observed: &Histogram,
    ) {
        if observed.is_empty() {
            return;
        }
        self.head(family);
        let bounds = bounds.iter().map(|bound| bound.to_string()).chain(["+Inf".to_owned()]);
        for (bound, (count, exemplar)) in bounds.zip(observed.cumulative()) {
            self.part(family, "_bucket", labels, Some(&bound));
            let shown = exemplar.filter(|_| self.format == Format::OpenMetrics);
            match shown {
                Some(e) => {
                    let mut trace = String::new();
                    escape(&mut trace, &e.trace_id);
                    let note = format!("{count} # {{trace_id=\"{trace}\"}} {} {}", e.value, e.at_seconds);
                    self.end(note);
                }
                None => self.end(count),
            }
        }
        self.part(family, "_sum", labels, None);
        self.end(observed.sum());
        self.part(family, "_count", labels, None);
        self.end(observed.count());
    }

    pub fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }

    fn head(&mut self, family: &'static Family) {
        if self.current == family.name {
            return;
        }
        self.current = family.name;
        // OpenMetrics names a counter's family without the ending of its samples.
        let name = match (self.format, family.kind) {
            (Format::OpenMetrics, Kind::Counter) => family.name.trim_end_matches("_total"),
            _ => family.name,
        };
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {}", family.help);
        let _ = writeln!(self.text, "# TYPE {name} {}", family.kind.word());
    }

    fn part(&mut self, family: &Family, ending: &str, labels: &[&str], bound: Option<&str>) {
        self.text.push_str(family.name);
        self.text.push_str(ending);
        self.labels(family.labels, labels, bound);
    }

    fn labels(&mut self, names: &[&str], values: &[&str], bound: Option<&str>) {
        debug_assert_eq!(names.len(), values.len(), "labels of {}", self.current);
        let pairs = names.iter().zip(values).map(|(n, v)| (*n, *v)).chain(bound.map(|b| ("le", b)));
        let mut opening = '{';
        for (name, value) in pairs {
            self.text.push(opening);
            self.text.push_str(name);
            self.text.push_str("=\"");
            escape(&mut self.text, value);
            self.text.push('"');
            opening = ',';
        }
        if opening == ',' {
            self.text.push('}');
        }
    }

    fn end(&mut self, value: impl Display) {
        let _ = writeln!(self.text, " {value}");
    }
}

fn escape(out: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            // Allowed, but they would garble a terminal.
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{histogram::Exemplar, names};

    #[test]
    fn hostile_labels_stay_inside_their_quotes() {
        let mut page = Exposition::new(Format::Prometheus);
        page.sample(&names::TENANT_DEPTH, &["a\"} 1\nx{\\", "queued"], 3);
        let text = page.finish();
        assert!(text.ends_with("jobs_depth{tenant=\"a\\\"} 1\\nx{\\\\\",status=\"queued\"} 3\n"), "{text}");
    }

    #[test]
    fn exemplars_and_the_end_mark_are_only_in_openmetrics() {
        let mut seen = Histogram::default();
        seen.observe_with(&[1.0], Exemplar { trace_id: "t\"1".into(), value: 0.5, at_seconds: 7.0 });
        let page = |format| {
            let mut page = Exposition::new(format);
            page.histogram(&names::DURATION, &["d", "q", "t"], &[1.0], &seen);
            page.sample(&names::CREATED, &["d", "q", "t"], 1);
            page.finish()
        };
        let (plain, open) = (page(Format::Prometheus), page(Format::OpenMetrics));
        assert!(!plain.contains("trace_id") && !plain.contains("EOF"));
        assert!(plain.contains("# TYPE jobs_created_total counter\n"));
        assert!(open.contains("le=\"1\"} 1 # {trace_id=\"t\\\"1\"} 0.5 7\n"), "{open}");
        assert!(open.contains("# TYPE jobs_created counter\njobs_created_total{"), "{open}");
        assert!(open.ends_with("# EOF\n"));
    }

    #[test]
    fn openmetrics_is_written_for_who_asks_for_it() {
        let asked = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            Format::asked_for(&headers)
        };
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2";
        assert_eq!(asked(prometheus), Format::OpenMetrics);
        assert_eq!(asked("text/plain"), Format::Prometheus);
        assert_eq!(asked("application/openmetrics-text;q=0, */*"), Format::Prometheus);
    }
}
