//! What a command may use of its machine, as it is written: numbers, sizes such as `"512MB"`, or `"unlimited"`.

use super::check::{Wrong, wrong};
use crate::guard::{Limit, Limits};
use nix::unistd::{Uid, User};
use serde::Deserialize;

/// Enough for every sane program, and far too little for a fork bomb to hurt. The others have no limit unless told.
const DEFAULT_PROCESSES: u64 = 512;

/// `512`, `"512MB"` or `"unlimited"`.
#[derive(Deserialize, Clone)]
#[serde(untagged)]
pub enum Amount {
    Number(u64),
    Text(String),
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    pub memory: Option<Amount>,
    pub cpu_seconds: Option<Amount>,
    pub open_files: Option<Amount>,
    pub processes: Option<Amount>,
    pub file_size: Option<Amount>,
}

impl Defaults {
    const fn said(&self, limit: Limit) -> Option<&Amount> {
        match limit {
            Limit::Memory => self.memory.as_ref(),
            Limit::CpuSeconds => self.cpu_seconds.as_ref(),
            Limit::OpenFiles => self.open_files.as_ref(),
            Limit::Processes => self.processes.as_ref(),
            Limit::FileSize => self.file_size.as_ref(),
        }
    }

    /// What applies where a command says nothing.
    pub fn limits(&self) -> Result<Limits, Wrong> {
        let built_in = Limits { processes: Some(DEFAULT_PROCESSES), ..Limits::default() };
        self.over(built_in)
    }

    /// What is said here, and otherwise what was said before.
    pub fn over(&self, mut limits: Limits) -> Result<Limits, Wrong> {
        for limit in Limit::ALL {
            if let Some(amount) = self.said(limit) {
                limits.set(limit, amount_of(limit, amount)?);
            }
        }
        Ok(limits)
    }
}

fn amount_of(limit: Limit, amount: &Amount) -> Result<Option<u64>, Wrong> {
    let is_size = matches!(limit, Limit::Memory | Limit::FileSize);
    let number = match amount {
        Amount::Number(number) => Some(*number),
        Amount::Text(text) if text == "unlimited" => return Ok(None),
        Amount::Text(text) if is_size => bytes(text),
        Amount::Text(_) => None,
    };
    let example = if is_size { "a size such as \"512MB\"" } else { "a whole number" };
    match number {
        Some(0) => Err(wrong(limit.setting(), "must be at least 1, or \"unlimited\"")),
        Some(number) => Ok(Some(number)),
        None => Err(wrong(limit.setting(), format!("must be {example}, or \"unlimited\""))),
    }
}

const UNITS: [(&str, u32); 7] =
    [("KIB", 10), ("MIB", 20), ("GIB", 30), ("KB", 10), ("MB", 20), ("GB", 30), ("B", 0)];

/// A unit is 1024 of the next smaller one.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_uppercase();
    let (number, shift) = UNITS
        .iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)))
        .unwrap_or((text.as_str(), 0));
    number.trim().parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// As `commands.toml` would say it.
pub fn in_words(limit: Limit, number: u64) -> String {
    match limit {
        Limit::Memory | Limit::FileSize => {
            let whole = [("GB", 30), ("MB", 20), ("KB", 10)]
                .into_iter()
                .find(|(_, shift)| number.is_multiple_of(1 << shift));
            whole.map_or_else(
                || format!("{number} bytes"),
                |(unit, shift)| format!("{} {unit}", number >> shift),
            )
        }
        Limit::CpuSeconds => format!("{number} s"),
        Limit::OpenFiles | Limit::Processes => number.to_string(),
    }
}

/// Whom the command runs as; found now, so that a name nobody has stops the start and not a job.
pub fn user(name: Option<&str>) -> Result<Option<(u32, u32)>, Wrong> {
    let Some(name) = name else { return Ok(None) };
    let unknown = || wrong("user", format!("“{name}” is no user of this machine"));
    let user = User::from_name(name).ok().flatten().ok_or_else(unknown)?;
    if !Uid::effective().is_root() && user.uid != Uid::effective() {
        return Err(wrong("user", format!("only a worker that runs as root can run commands as “{name}”")));
    }
    // Switching to whom it is already would need root for nothing.
    Ok((user.uid != Uid::effective()).then(|| (user.uid.as_raw(), user.gid.as_raw())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_told_alike() {
        for (text, number) in
            [("512MB", 512 << 20), ("1 GiB", 1 << 30), ("64kb", 64 << 10), ("1000", 1_000), ("7B", 7)]
        {
            assert_eq!(bytes(text), Some(number), "{text}");
        }
        for text in ["", "MB", "-1MB", "1.5GB", "1TBX", "99999999999GB"] {
            assert_eq!(bytes(text), None, "{text}");
        }
        assert_eq!(in_words(Limit::Memory, 512 << 20), "512 MB");
        assert_eq!(in_words(Limit::FileSize, 1_000), "1000 bytes");
    }
}
