//! The processes below one, as Linux tells them.

use nix::{sys::signal::Signal, unistd::Pid};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    pub zombie: bool,
    /// When it began, in ticks: a number that was given to somebody else has another one.
    began: u64,
    /// What it and those it has waited for have computed, in ticks.
    pub ticks: u64,
    pub tasks: u64,
    /// Pages it holds in memory, shared ones included.
    pub pages: u64,
}

impl Process {
    fn read(pid: i32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // "pid (name) state ppid …": the name may hold anything, so count from its last bracket.
        let (_, rest) = stat.rsplit_once(')')?;
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok()).unwrap_or_default();
        Some(Self {
            pid,
            parent: words.get(1)?.parse().ok()?,
            zombie: matches!(*words.first()?, "Z" | "X"),
            began: number(19),
            ticks: (11..=14).map(number).sum(),
            tasks: number(17),
            pages: number(21),
        })
    }

    /// Kills it unless its number belongs to somebody else by now.
    pub fn kill(&self) {
        if Self::read(self.pid).is_some_and(|now| now.began == self.began) {
            let _ = nix::sys::signal::kill(Pid::from_raw(self.pid), Signal::SIGKILL);
        }
    }

    /// What it holds alone and its share of what it holds with others, in bytes; more exact than pages, and dearer.
    pub fn share_of_memory(&self) -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.pid)).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
        Some(kilobytes * 1024)
    }
}

/// Every process there is. Ours are among them: none of them can hide from its parent.
fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(Process::read).collect()
}

pub fn children() -> Vec<Process> {
    let own = std::process::id().cast_signed();
    all().into_iter().filter(|process| process.parent == own).collect()
}

/// Everything below this process, parents before their children.
pub fn descendants() -> Vec<Process> {
    let mut rest = all();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![std::process::id().cast_signed()];
    while !parents.is_empty() {
        let (next, others) = rest.into_iter().partition(|p: &Process| parents.contains(&p.parent));
        rest = others;
        parents = next.iter().map(|process| process.pid).collect();
        found.extend(next);
    }
    found
}

#[cfg(target_os = "linux")]
pub fn adopt_orphans() {
    // Where the kernel refuses, the process group is still watched.
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

/// Everything whose parents are gone has become our child; killing it may hand us its children in turn.
#[cfg(target_os = "linux")]
pub fn kill_orphans() {
    kill_children(|_| true);
}

#[cfg(target_os = "linux")]
pub fn kill_children(which: impl Fn(i32) -> bool) {
    use nix::sys::wait::{WaitPidFlag, waitpid};
    const ROUNDS: usize = 64;
    for _ in 0..ROUNDS {
        let orphans: Vec<_> = children().into_iter().filter(|process| which(process.pid)).collect();
        if orphans.is_empty() {
            return;
        }
        for orphan in &orphans {
            orphan.kill();
        }
        for orphan in orphans {
            let _ = waitpid(Pid::from_raw(orphan.pid), Some(WaitPidFlag::__WALL));
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub fn adopt_orphans() {}
#[cfg(not(target_os = "linux"))]
pub fn kill_orphans() {}
#[cfg(not(target_os = "linux"))]
pub fn kill_children(_: impl Fn(i32) -> bool) {}
