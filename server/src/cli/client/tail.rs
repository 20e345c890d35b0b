//! `leasehold jobs tail`: a job's events as they happen. A connection that breaks is made again where it broke. The exit
//! code says how the job ended.

use super::{
    Target, blocking,
    call::{Call, Server},
    curl, ended_with,
    screen::Screen,
};
use crate::cli::Out;
use leasehold_types::{JobStatus, Problem};
use serde_json::Value;
use std::{process::ExitCode, time::Duration};

const BEFORE_AGAIN: Duration = Duration::from_secs(1);
/// Times in a row that nothing could be read at all.
const PATIENCE: u32 = 30;

pub fn run(target: &Target, job: &str, out: Out) -> ExitCode {
    let call = Call::get(format!("/jobs/{job}/events"));
    if target.curl {
        out.line(&curl::line(target, &call).replacen("curl -sS", "curl -sSN", 1));
        return ExitCode::SUCCESS;
    }
    let work = async { follow(&Server::new(target)?, &call, job, out).await };
    ended_with(out, blocking(work).map(exit_code))
}

/// 0 is a job that did what it was made for.
fn exit_code(end: JobStatus) -> ExitCode {
    match end {
        JobStatus::Cancelled => ExitCode::from(4),
        JobStatus::Failed | JobStatus::DeadLetter | JobStatus::Quarantined => ExitCode::from(3),
        JobStatus::Completed | JobStatus::Queued | JobStatus::Processing => ExitCode::SUCCESS,
    }
}

async fn follow(server: &Server, call: &Call, job: &str, out: Out) -> Result<JobStatus, Problem> {
    let mut last_id: Option<String> = None;
    let mut in_vain = 0;
    let mut screen = Screen::new();
    loop {
        let headers: Vec<_> = last_id.iter().map(|id| ("last-event-id", id.clone())).collect();
        match server.open(call, &headers, None).await {
            Ok(answer) => {
                let heard = read(answer, &mut last_id, out, &mut screen).await;
                if heard.anything {
                    in_vain = 0;
                }
                let end = match heard.end {
                    Some(end) => Some(end),
                    None => end_of(server, job).await?,
                };
                if let Some(end) = end {
                    screen.end(end, out);
                    return Ok(end);
                }
            }
            // The first answer decides; later a server may be away for a moment.
            Err(problem) if last_id.is_none() || !is_passing(&problem) => return Err(problem),
            Err(problem) if in_vain >= PATIENCE => return Err(problem),
            Err(_) => {}
        }
        in_vain += 1;
        tokio::time::sleep(BEFORE_AGAIN).await;
    }
}

fn is_passing(problem: &Problem) -> bool {
    problem.code.status() >= 500 || problem.code.status() == 429
}

#[derive(Default)]
struct Heard {
    anything: bool,
    end: Option<JobStatus>,
}

/// Shows what comes until the job ends, or the stream breaks.
async fn read(
    mut answer: reqwest::Response,
    last_id: &mut Option<String>,
    out: Out,
    screen: &mut Screen,
) -> Heard {
    let mut lines = Lines::default();
    let mut heard = Heard::default();
    while let Ok(Some(chunk)) = answer.chunk().await {
        for event in lines.push(&chunk) {
            if let Some(id) = event.id {
                *last_id = Some(id);
            }
            let Ok(data) = serde_json::from_str::<Value>(&event.data) else { continue };
            screen.show(&event.name, &data, out);
            heard.anything = true;
            heard.end = end_told_by(&event.name, &data);
            if heard.end.is_some() {
                return heard;
            }
        }
    }
    heard
}

/// Quarantined jobs end no stream, as somebody may requeue them; but nothing more comes by itself. After the snapshot of
/// any other job that has ended comes the event that ended it.
fn end_told_by(name: &str, data: &Value) -> Option<JobStatus> {
    let status = data["metadata"]["status"].as_str().or_else(|| data["status"].as_str());
    let status: JobStatus = status.and_then(|s| s.parse().ok())?;
    let more_comes = name == "snapshot" && status.is_terminal();
    (status.is_finished() && !more_comes).then_some(status)
}

async fn end_of(server: &Server, job: &str) -> Result<Option<JobStatus>, Problem> {
    let view = match server.send(&Call::get(format!("/jobs/{job}"))).await {
        Err(problem) if is_passing(&problem) => return Ok(None),
        answer => answer?,
    };
    let status = view["status"].as_str().and_then(|status| status.parse::<JobStatus>().ok());
    Ok(status.filter(|status| status.is_finished()))
}

#[derive(Debug, Default, PartialEq)]
struct Event {
    name: String,
    id: Option<String>,
    data: String,
}

/// Events out of pieces that are cut anywhere.
#[derive(Default)]
struct Lines {
    rest: Vec<u8>,
    event: Event,
}

impl Lines {
    fn push(&mut self, chunk: &[u8]) -> Vec<Event> {
        self.rest.extend_from_slice(chunk);
        let mut complete = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
            complete.extend(self.line(&line));
        }
        complete
    }

    fn line(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return (!event.data.is_empty()).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event.name = value.to_owned(),
            "id" => self.event.id = Some(value.to_owned()),
            "data" if self.event.data.is_empty() => self.event.data = value.to_owned(),
            "data" => self.event.data = format!("{}\n{value}", self.event.data),
            // Comments keep the line open and say nothing.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_job_that_has_ended_already_keeps_nobody_waiting() {
        let quarantined = json!({"status": "quarantined"});
        assert_eq!(end_told_by("snapshot", &quarantined), Some(JobStatus::Quarantined));
        assert_eq!(end_told_by("snapshot", &json!({"status": "completed"})), None, "its last event follows");
        assert_eq!(end_told_by("snapshot", &json!({"status": "queued"})), None);
        let last = json!({"metadata": {"status": "failed"}});
        assert_eq!(end_told_by("", &last), Some(JobStatus::Failed));
    }

    #[test]
    fn events_are_read_however_they_are_cut() {
        let text =
            ": hello\n\nevent: snapshot\ndata: {\"a\":\"ü\"}\n\nid: 7\r\ndata: {\r\ndata: }\r\n\r\nid: 8\n";
        let expected = [
            Event { name: "snapshot".into(), id: None, data: "{\"a\":\"ü\"}".into() },
            Event { name: String::new(), id: Some("7".into()), data: "{\n}".into() },
        ];
        for size in [1, 2, 3, 7, 1_000] {
            let mut lines = Lines::default();
            let found: Vec<_> = text.as_bytes().chunks(size).flat_map(|chunk| lines.push(chunk)).collect();
            assert_eq!(found, expected, "in pieces of {size}");
        }
    }
}
