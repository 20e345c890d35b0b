//! Keeps a command's whole family within its limits: what its processes hold, compute and are many, taken together.
//!
//! The kernel's own limits are per process (or, for their number, per user and not for root), so a program that starts
//! another gets around them. Looking costs little: at most a twentieth of one core, more often while the family grows.

use super::{
    Group, Limit, Limits,
    tree::{self, Process},
};
use nix::{
    sys::{
        resource::{UsageWho, getrusage},
        signal::Signal,
        wait::{WaitPidFlag, waitpid},
    },
    unistd::{Pid, SysconfVar, sysconf},
};
use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// A family that has grown is looked at again after this many times what the look took, any other after that many.
const WHILE_GROWING: u32 = 2;
const USUALLY: u32 = 20;
/// A family that cannot be killed in so many rounds is left to the end of its leader.
const KILLING_ROUNDS: usize = 1_000;

/// Returns when the command has ended, with the limit it was killed for, if any.
pub fn watch(limits: &Limits, leader: Pid, group: &Group, ended: &Receiver<()>) -> Option<Limit> {
    if limits.memory.is_none() && limits.cpu_seconds.is_none() && limits.processes.is_none() {
        return None;
    }
    let (page, second) = (sizes(SysconfVar::PAGE_SIZE, 4_096), sizes(SysconfVar::CLK_TCK, 100));
    let (mut pause, mut before) = (FIRST_PAUSE, 0);
    loop {
        if ended.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
            return None;
        }
        let began = Instant::now();
        let family = tree::descendants();
        if let Some(limit) = broken(limits, &family, page, second) {
            kill_all(leader, group);
            return Some(limit);
        }
        reap_adopted(&family, leader);
        let size: u64 = family.iter().map(|process| process.tasks).sum();
        let factor = if size > before { WHILE_GROWING } else { USUALLY };
        before = size;
        pause = (began.elapsed() * factor).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
    }
}

fn sizes(of: SysconfVar, otherwise: u64) -> u64 {
    sysconf(of).ok().flatten().and_then(|number| u64::try_from(number).ok()).unwrap_or(otherwise)
}

fn broken(limits: &Limits, family: &[Process], page: u64, second: u64) -> Option<Limit> {
    let living = || family.iter().filter(|process| !process.zombie);
    let over = |limit: Option<u64>, used: u64| limit.is_some_and(|most| used > most);
    if over(limits.processes, living().map(|process| process.tasks).sum()) {
        return Some(Limit::Processes);
    }
    let computed = family.iter().map(|process| process.ticks).sum::<u64>() / second + computed_by_reaped();
    if limits.cpu_seconds.is_some_and(|most| computed >= most) {
        return Some(Limit::CpuSeconds);
    }
    // Pages that are shared count several times at first; only who seems to be over is looked at closely.
    let held = living().map(|process| process.pages * page).sum();
    let exact = || living().map(|p| p.share_of_memory().unwrap_or(p.pages * page)).sum();
    (over(limits.memory, held) && over(limits.memory, exact())).then_some(Limit::Memory)
}

/// Seconds of those who were adopted and have ended.
fn computed_by_reaped() -> u64 {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return 0 };
    u64::try_from(usage.user_time().tv_sec() + usage.system_time().tv_sec()).unwrap_or_default()
}

/// Whoever is left without parents becomes our child; ended ones would fill the table of processes.
fn reap_adopted(family: &[Process], leader: Pid) {
    let own = std::process::id().cast_signed();
    for process in family.iter().filter(|p| p.zombie && p.parent == own && p.pid != leader.as_raw()) {
        let _ = waitpid(Pid::from_raw(process.pid), Some(WaitPidFlag::WNOHANG));
    }
}

/// Round by round: what is born during one is killed in the next.
fn kill_all(leader: Pid, group: &Group) {
    for _ in 0..KILLING_ROUNDS {
        group.signal(Signal::SIGKILL);
        let family = tree::descendants();
        let living: Vec<_> = family.iter().filter(|process| !process.zombie).collect();
        if living.is_empty() {
            return;
        }
        for process in living.into_iter().filter(|process| process.pid != leader.as_raw()) {
            process.kill();
        }
        reap_adopted(&family, leader);
    }
}
