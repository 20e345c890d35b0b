//! The processes under fire.

use leasehold_types::TenantId;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use rand::Rng;
use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

const WORKERS: usize = 3;
const ENQUEUERS: usize = 2;

struct Member {
    role: &'static str,
    child: Child,
}

pub struct Fleet {
    url: String,
    folder: PathBuf,
    tenant: TenantId,
    members: Vec<Member>,
    launched: usize,
}

impl Fleet {
    pub fn launch(url: &str, folder: &Path, tenant: TenantId) -> Self {
        let mut fleet =
            Self { url: url.into(), folder: folder.into(), tenant, members: Vec::new(), launched: 0 };
        for _ in 0..WORKERS {
            fleet.add("work");
        }
        for _ in 0..ENQUEUERS {
            fleet.add("enqueue");
        }
        fleet
    }

    fn add(&mut self, role: &'static str) {
        self.launched += 1;
        let child = Command::new(env!("CARGO_BIN_EXE_fault-client"))
            .args([role, &self.url])
            .arg(self.folder.join(format!("ledger-{}", self.launched)))
            .arg(self.tenant.to_string())
            .stdin(Stdio::piped())
            .spawn()
            .expect("the client starts");
        self.members.push(Member { role, child });
    }

    pub fn kill_one_and_replace(&mut self) {
        let i = rand::rng().random_range(0..self.members.len());
        let mut member = self.members.swap_remove(i);
        end(&mut member.child);
        self.add(member.role);
    }

    /// A worker that sleeps through its lease and then wants to finish what is no longer its own.
    pub fn freeze_one_beyond_its_lease(&mut self) {
        let Some(worker) = self.members.iter().find(|m| m.role == "work") else { return };
        let pid = Pid::from_raw(worker.child.id() as i32);
        let _ = kill(pid, Signal::SIGSTOP);
        thread::spawn(move || {
            thread::sleep(leasehold_faults::LEASE + Duration::from_millis(600));
            // It may have been killed meanwhile; its pid is not reused within a second.
            let _ = kill(pid, Signal::SIGCONT);
        });
    }

    pub fn stop_enqueueing(&mut self) {
        for member in self.members.iter_mut().filter(|m| m.role == "enqueue") {
            end(&mut member.child);
        }
        self.members.retain(|m| m.role == "work");
    }

    pub fn stop(&mut self) {
        for member in &mut self.members {
            end(&mut member.child);
        }
        self.members.clear();
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.stop();
    }
}

/// `kill -9`, and the body removed.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}
