//! Lines with which a program speaks to its worker: `::progress …`, `::result …`, `::error …`.
//!
//! Words are `key=value`; a value with blanks is put in double quotes. `message=` takes the rest of the line, so it
//! comes last and needs no quotes.

use leasehold_queue::{progress::ProgressReport, transition::Failure};
use leasehold_types::ErrorClass;
use std::time::Duration;

#[derive(Clone, PartialEq, Debug)]
pub enum Marker {
    Progress(ProgressReport),
    Error(Failure),
}

/// The longest wait a program may ask for.
const LONGEST_WAIT: f64 = 7.0 * 86_400.0;

/// What stands behind `::result`, which is data and may be long.
pub fn result(line: &str) -> Option<&str> {
    line.strip_prefix("::result ")
}

pub fn is_one(line: &str) -> bool {
    line.starts_with("::")
}

/// None when the line is an ordinary one; an error says what is wrong with one that tries to be a marker.
pub fn parse(line: &str) -> Option<Result<Marker, String>> {
    let rest = line.strip_prefix("::")?;
    let (word, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    match word {
        "progress" => Some(progress(rest)),
        "error" => Some(error(rest)),
        _ => None,
    }
}

fn progress(text: &str) -> Result<Marker, String> {
    let mut report = ProgressReport::default();
    for (key, value) in words(text)? {
        match key {
            "stage" => report.stage = Some(value.to_owned()),
            "percent" => {
                let number: f64 = value.trim_end_matches('%').parse().map_err(|_| not(key, value))?;
                // A percentage that is no number at all becomes 0; the conversion cannot overflow.
                report.percent = Some(number.clamp(0.0, 100.0) as i16);
            }
            "message" => report.message = Some(value.to_owned()),
            _ => return Err(format!("“{key}” is not one of stage, percent, message")),
        }
    }
    Ok(Marker::Progress(report))
}

fn error(text: &str) -> Result<Marker, String> {
    let mut failure = Failure::default();
    for (key, value) in words(text)? {
        match key {
            "code" => failure.error_code = Some(code(value)),
            "class" => {
                let class = value.parse::<ErrorClass>().map_err(|e| e.to_string())?;
                failure.error_class = Some(class);
            }
            "retryable" => failure.retryable = Some(value.parse().map_err(|_| not(key, value))?),
            "retry_after" => {
                let seconds: f64 = value.parse().map_err(|_| not(key, value))?;
                if !(0.0..=LONGEST_WAIT).contains(&seconds) {
                    return Err(not(key, value));
                }
                failure.retry_after = Some(Duration::from_secs_f64(seconds));
            }
            "message" => value.clone_into(&mut failure.message),
            _ => return Err(format!("“{key}” is not one of code, class, retryable, retry_after, message")),
        }
    }
    Ok(Marker::Error(failure))
}

fn not(key: &str, value: &str) -> String {
    format!("{key}={value} cannot be understood")
}

/// Codes are compared and counted: short, and of plain characters.
fn code(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    text.chars().take(64).map(|c| if plain(c) { c } else { '_' }).collect()
}

fn words(text: &str) -> Result<Vec<(&str, &str)>, String> {
    let mut words = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (key, after) =
            rest.split_once('=').ok_or_else(|| format!("“{rest}” is not of the form key=value"))?;
        let (value, next) = value(key.trim(), after)?;
        words.push((key.trim(), value));
        rest = next.trim_start();
    }
    Ok(words)
}

fn value<'a>(key: &str, text: &'a str) -> Result<(&'a str, &'a str), String> {
    if let Some(quoted) = text.strip_prefix('"')
        && let Some((value, next)) = quoted.split_once('"')
        && (next.is_empty() || next.starts_with(' '))
    {
        return Ok((value, next));
    }
    if key == "message" {
        return Ok((text, ""));
    }
    if text.starts_with('"') {
        return Err(format!("the quotes of {key} are not closed"));
    }
    Ok(text.split_once(' ').unwrap_or((text, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(line: &str) -> ProgressReport {
        match parse(line) {
            Some(Ok(Marker::Progress(report))) => report,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn progress_takes_stage_percent_and_a_free_message() {
        let full = report("::progress stage=reading percent=40 message=Page 4 of 10, a=b");
        assert_eq!((full.stage.as_deref(), full.percent), (Some("reading"), Some(40)));
        assert_eq!(full.message.as_deref(), Some("Page 4 of 10, a=b"));
        let quoted = report(r#"::progress message="half way" percent=50.7% stage="a b""#);
        assert_eq!((quoted.stage.as_deref(), quoted.percent), (Some("a b"), Some(50)));
        assert_eq!(quoted.message.as_deref(), Some("half way"));
        assert_eq!(report("::progress percent=900").percent, Some(100));
    }

    #[test]
    fn a_result_is_what_stands_behind_its_word() {
        assert_eq!(result(r#"::result {"rows": 3}"#), Some(r#"{"rows": 3}"#));
        assert_eq!(result("::results {"), None);
    }

    #[test]
    fn an_error_names_the_failure() {
        let line =
            "::error code=source/gone class=rate_limited retryable=false retry_after=1.5 message=It is gone";
        let Some(Ok(Marker::Error(failure))) = parse(line) else { panic!() };
        assert_eq!(failure.error_code.as_deref(), Some("source_gone"));
        assert_eq!(failure.error_class, Some(ErrorClass::RateLimited));
        assert_eq!(
            (failure.retryable, failure.retry_after),
            (Some(false), Some(Duration::from_millis(1_500)))
        );
        assert_eq!(failure.message, "It is gone");
    }

    #[test]
    fn other_lines_are_ordinary_and_bad_markers_say_why() {
        for line in ["progress", "::group::x", "", " ::progress percent=1"] {
            assert_eq!(parse(line), None, "{line}");
        }
        for line in ["::progress percent=x", "::progress lots", "::error class=odd", "::error retry_after=-1"]
        {
            assert!(matches!(parse(line), Some(Err(_))), "{line}");
        }
    }
}
