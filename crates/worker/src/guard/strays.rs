//! What a worker does when a guardian was killed: the kernel kills the command, but what left its process group has
//! nobody left. A worker that [adopts](adopt) gets it as a child of its own, and ends it.

use super::tree;
use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::process::{Child, Command};

/// The guardians this process has started. Any other child of it is a stray.
static GUARDIANS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn guardians() -> MutexGuard<'static, BTreeSet<i32>> {
    GUARDIANS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on orphans of this process's guardians become its children. Only for a process that starts no other
/// programs than guardians: [`sweep`] ends every child that is none.
pub fn adopt() {
    tree::adopt_orphans();
}

/// Starts a guardian.
pub fn spawn(command: &mut Command) -> std::io::Result<Child> {
    // Held meanwhile, so that a sweep does not take the newborn for a stray.
    let mut guardians = guardians();
    let child = command.spawn()?;
    guardians.extend(child.id().map(u32::cast_signed));
    Ok(child)
}

/// Ends what a guardian that was killed has left behind. May block for as long as the kernel takes to end it.
#[cfg(target_os = "linux")]
pub fn sweep() {
    if !nix::sys::prctl::get_child_subreaper().unwrap_or(false) {
        return;
    }
    let mut guardians = guardians();
    let alive: BTreeSet<i32> = tree::children().into_iter().map(|process| process.pid).collect();
    guardians.retain(|pid| alive.contains(pid));
    tree::kill_children(|pid| !guardians.contains(&pid));
}

#[cfg(not(target_os = "linux"))]
pub fn sweep() {}
