//! The machine and the process a worker runs on.

use leasehold_types::WorkerId;
use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Value, json};
use uuid::Uuid;

pub fn hostname() -> String {
    let name = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "localhost".into())
}

/// Fresh at every boot, so that a worker never takes its predecessor's leases for its own.
pub fn fresh_worker_id() -> WorkerId {
    WorkerId(format!("{}:{}:{}", hostname(), std::process::id(), Uuid::new_v4().simple()))
}

/// What the process uses right now, for the workers page.
pub fn usage() -> Value {
    let cpu_seconds = getrusage(UsageWho::RUSAGE_SELF).ok().map(|usage| {
        let (user, system) = (usage.user_time(), usage.system_time());
        user.tv_sec() as f64
            + system.tv_sec() as f64
            + (user.tv_usec() as f64 + system.tv_usec() as f64) / 1e6
    });
    json!({ "pid": std::process::id(), "cpu_seconds": cpu_seconds, "memory_bytes": memory_bytes() })
}

/// Resident memory, where the kernel tells it.
fn memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1024)
}
