//! What a command may use, and how a guardian is told.

use std::{fmt, str::FromStr};

/// None is no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// Bytes that all its processes together hold in memory.
    pub memory: Option<u64>,
    /// Seconds of computing, of all its processes together.
    pub cpu_seconds: Option<u64>,
    /// Per process.
    pub open_files: Option<u64>,
    /// Processes and threads at a time.
    pub processes: Option<u64>,
    /// Bytes of any one file it writes.
    pub file_size: Option<u64>,
    /// Whom it runs as; only root can be another one.
    pub user: Option<(u32, u32)>,
    /// Whether set-uid programs such as sudo work.
    pub new_privileges: bool,
}

/// A limit that was broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    Memory,
    CpuSeconds,
    OpenFiles,
    Processes,
    FileSize,
}

impl Limit {
    pub const ALL: [Self; 5] =
        [Self::Memory, Self::CpuSeconds, Self::OpenFiles, Self::Processes, Self::FileSize];

    /// As in `commands.toml`.
    pub const fn setting(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::CpuSeconds => "cpu_seconds",
            Self::OpenFiles => "open_files",
            Self::Processes => "processes",
            Self::FileSize => "file_size",
        }
    }

    /// The failure's `error_code`.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Memory => "memory_limit",
            Self::CpuSeconds => "cpu_limit",
            Self::OpenFiles => "open_files_limit",
            Self::Processes => "process_limit",
            Self::FileSize => "file_size_limit",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.setting())
    }
}

impl FromStr for Limit {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|limit| limit.setting() == text).ok_or(())
    }
}

impl Limits {
    pub const fn get(&self, limit: Limit) -> Option<u64> {
        match limit {
            Limit::Memory => self.memory,
            Limit::CpuSeconds => self.cpu_seconds,
            Limit::OpenFiles => self.open_files,
            Limit::Processes => self.processes,
            Limit::FileSize => self.file_size,
        }
    }

    pub const fn set(&mut self, limit: Limit, to: Option<u64>) {
        match limit {
            Limit::Memory => self.memory = to,
            Limit::CpuSeconds => self.cpu_seconds = to,
            Limit::OpenFiles => self.open_files = to,
            Limit::Processes => self.processes = to,
            Limit::FileSize => self.file_size = to,
        }
    }
}

/// `memory=1048576,processes=8`: one word, without blanks.
impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = Limit::ALL.iter().filter_map(|limit| Some(format!("{limit}={}", self.get(*limit)?)));
        let user = self.user.map(|(user, group)| format!("user={user}:{group}"));
        let privileges = self.new_privileges.then(|| "new_privileges=1".to_owned());
        f.write_str(&numbers.chain(user).chain(privileges).collect::<Vec<_>>().join(","))
    }
}

impl FromStr for Limits {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut limits = Self::default();
        for pair in text.split(',').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or(())?;
            match name {
                "user" => {
                    let (user, group) = value.split_once(':').ok_or(())?;
                    limits.user = Some((user.parse().map_err(|_| ())?, group.parse().map_err(|_| ())?));
                }
                "new_privileges" => limits.new_privileges = value == "1",
                _ => limits.set(name.parse()?, Some(value.parse().map_err(|_| ())?)),
            }
        }
        Ok(limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_survive_the_way_to_the_guardian() {
        let all = Limits {
            memory: Some(1 << 30),
            cpu_seconds: Some(60),
            open_files: Some(64),
            processes: Some(8),
            file_size: Some(0),
            user: Some((65_534, 65_534)),
            new_privileges: true,
        };
        for limits in [all, Limits::default(), Limits { processes: Some(3), ..Limits::default() }] {
            assert_eq!(limits.to_string().parse(), Ok(limits));
        }
        for wrong in ["memory", "memory=much", "colour=1", "user=1"] {
            assert_eq!(wrong.parse::<Limits>(), Err(()), "{wrong}");
        }
    }
}
