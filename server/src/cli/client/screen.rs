//! How `jobs tail` looks: a bar that fills up on a terminal, fields between tabs in a pipe.

use super::show::colour_of;
use crate::cli::{
    Out,
    text::{Paint, plain},
};
use leasehold_app::components::badge::Tone;
use leasehold_types::{JobStatus, text::printable};
use serde_json::Value;
use std::io::{IsTerminal, Write};

const BAR: usize = 24;

pub struct Screen {
    on_terminal: bool,
    /// The last line is a bar that the next one replaces.
    unfinished: bool,
}

impl Screen {
    pub fn new() -> Self {
        Self { on_terminal: std::io::stdout().is_terminal(), unfinished: false }
    }

    pub fn show(&mut self, name: &str, data: &Value, out: Out) {
        if out.is_json() || !self.on_terminal {
            return out.say(&in_fields(name, data), data);
        }
        // That a line was logged says nothing here: the lines themselves are on the job's page.
        if data["metadata"]["kind"] == "job.log" {
            return;
        }
        let mut stdout = std::io::stdout().lock();
        let again = if self.unfinished { "\r\x1b[2K" } else { "" };
        self.unfinished = data["metadata"]["kind"] == "job.progress";
        let end = if self.unfinished { "" } else { "\n" };
        // A reader that went away is no error.
        let _ = write!(stdout, "{again}{}{end}", printable(&as_bar(name, data)));
        let _ = stdout.flush();
    }
}

impl Screen {
    /// How it ended, in words; programs read the exit code.
    pub fn end(&mut self, end: JobStatus, out: Out) {
        if out.is_json() || !self.on_terminal {
            return;
        }
        if std::mem::take(&mut self.unfinished) {
            out.say_text("");
        }
        let tone = Tone::of_status(end);
        let word = tone.label();
        let painted = colour_of(tone).map_or_else(|| word.to_owned(), |c| Paint::of_stdout().put(c, word));
        out.say_text(&painted);
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if self.unfinished {
            println!();
        }
    }
}

fn in_fields(name: &str, data: &Value) -> String {
    let field = |key: &str| plain(&data[key]);
    if name == "snapshot" {
        return format!("now\t{}\t{}\t-", field("status"), field("progress_percent"));
    }
    format!("{}\t{}\t{}\t{}", field("timestamp"), field("stage"), field("progress"), field("message"))
}

fn as_bar(name: &str, data: &Value) -> String {
    let snapshot = name == "snapshot";
    let (percent, stage) = if snapshot { ("progress_percent", "status") } else { ("progress", "stage") };
    let percent = usize::try_from(data[percent].as_u64().unwrap_or(0)).unwrap_or(0).min(100);
    let full = percent * BAR / 100;
    let bar = "█".repeat(full) + &"░".repeat(BAR - full);
    let time = if snapshot { "now".to_owned() } else { time_of_day(&plain(&data["timestamp"])) };
    let message = data["message"].as_str().map(|_| plain(&data["message"])).unwrap_or_default();
    format!("{time:<8}  {bar} {percent:>3} %  {}  {message}", plain(&data[stage])).trim_end().to_owned()
}

/// `2026-11-17T08:30:01.5Z` at half past eight.
fn time_of_day(moment: &str) -> String {
    moment.split_once('T').map_or(moment, |(_, time)| time.get(..8).unwrap_or(time)).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_bar_is_as_full_as_the_job_is_far() {
        let event = json!({"timestamp": "2026-11-17T08:30:01.5Z", "stage": "reading", "progress": 50, "message": "page 4"});
        let bar = "█".repeat(12) + &"░".repeat(12);
        assert_eq!(as_bar("", &event), format!("08:30:01  {bar}  50 %  reading  page 4"));
        assert_eq!(in_fields("", &event), "2026-11-17T08:30:01.5Z\treading\t50\tpage 4");
        let now = json!({"status": "queued", "progress_percent": 0});
        assert!(as_bar("snapshot", &now).starts_with("now       ░░░"), "{}", as_bar("snapshot", &now));
    }
}
