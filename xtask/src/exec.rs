//! Running other programs: shown, checked, and where needed read along.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

/// The command line as one could type it.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{word}'") }
}

/// Runs to the end with our own output; an exit code other than 0 is an error.
pub fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|e| format!("{}: {e}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed ({status})", shown(command))) }
}

/// What the command wrote to its standard output.
pub fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{}: {e}", shown(command)))?;
    if output.status.success() {
        return String::from_utf8(output.stdout).map_err(|e| format!("{}: {e}", shown(command)));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{} failed ({}): {}", shown(command), output.status, said.trim()))
}

pub struct Followed {
    pub succeeded: bool,
}

/// Runs to the end, passing on both outputs line by line while `each_line` reads along.
pub fn follow(command: &mut Command, mut each_line: impl FnMut(&str)) -> Result<Followed, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("{}: {e}", shown(command)))?;
    let (sender, lines) = mpsc::sync_channel(256);
    if let Some(stdout) = child.stdout.take() {
        send_lines(stdout, sender.clone());
    }
    if let Some(stderr) = child.stderr.take() {
        send_lines(stderr, sender);
    }
    let mut out = std::io::stdout().lock();
    for line in lines {
        // A closed terminal must not keep us from counting.
        writeln!(out, "{line}").ok();
        each_line(&line);
    }
    let status = child.wait().map_err(|e| format!("{}: {e}", shown(command)))?;
    Ok(Followed { succeeded: status.success() })
}

fn send_lines(from: impl Read + Send + 'static, to: mpsc::SyncSender<String>) {
    thread::spawn(move || {
        let mut reader = BufReader::new(from);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes).is_ok_and(|n| n > 0) {
            let line = String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned();
            if to.send(line).is_err() {
                return;
            }
            bytes.clear();
        }
    });
}
