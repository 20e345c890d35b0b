//! A throw-away Postgres for tests, benchmarks and query checks.
//!
//! Each [`ScratchPostgres`] is a cluster of its own in a temporary folder, listening on a free port of
//! 127.0.0.1 and nowhere else. It uses the server binaries that are installed on the machine.
//!
//! Invariant: a cluster never outlives the process that started it. A small guardian holds the read end
//! of a pipe; when the pipe closes — `Drop`, Ctrl-C or SIGKILL alike — the guardian stops the server and
//! removes the folder.

mod account;
mod binaries;
mod database;
mod guardian;

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicU32, Ordering};

use account::Account;
pub use database::fresh_database;
use guardian::Guardian;

/// Another process may take the free port between the moment we found it and the moment Postgres binds it.
const PORT_TRIES: u32 = 5;

/// How the cluster treats its disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct StartOptions {
    /// `true` makes commits durable, as in production: for benchmarks and crash tests. Tests that only
    /// need the behaviour of SQL leave it `false` and run faster.
    pub fsync: bool,
}

/// A running throw-away cluster.
#[derive(Debug)]
pub struct ScratchPostgres {
    binaries: PathBuf,
    folder: PathBuf,
    port: u16,
    account: Account,
    // Dropped with the cluster: closing its pipe is what stops the server.
    _guardian: Guardian,
}

impl ScratchPostgres {
    /// Creates and starts a cluster, and returns when it accepts connections.
    ///
    /// # Errors
    /// A sentence that says what failed and, when something is missing, what to install.
    pub fn start(options: StartOptions) -> Result<Self, String> {
        let binaries = binaries::find()?;
        let account = Account::for_server()?;
        let folder = new_folder(account)?;
        let guardian = match Guardian::watch(&binaries, &folder, account) {
            Ok(guardian) => guardian,
            Err(problem) => {
                // Nothing runs in the folder yet, and nobody else will remove it.
                fs::remove_dir_all(&folder).ok();
                return Err(problem);
            }
        };
        let mut cluster = Self { binaries, folder, port: 0, account, _guardian: guardian };
        cluster.initialise(options)?;
        cluster.start_on_free_port()?;
        Ok(cluster)
    }

    /// Whether the machine has the server's binaries.
    #[must_use]
    pub fn is_available() -> bool {
        binaries::find().is_ok() && Account::for_server().is_ok()
    }

    /// The superuser's address of the database `postgres`.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The superuser's address of any database of this cluster.
    #[must_use]
    pub fn url_of(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// The folder with `psql` and its siblings.
    #[must_use]
    pub fn binaries(&self) -> &Path {
        &self.binaries
    }

    /// What to know when the server has stopped by itself: the end of its log. None while it runs.
    #[must_use]
    pub fn why_it_stopped(&self) -> Option<String> {
        const LINES: usize = 30;
        if self.pg_ctl(&["status"]).is_ok() {
            return None;
        }
        let Ok(log) = fs::read_to_string(self.folder.join("server.log")) else {
            return Some("its folder is gone: somebody ended its guardian".to_owned());
        };
        let lines: Vec<&str> = log.lines().collect();
        Some(lines[lines.len().saturating_sub(LINES)..].join("\n"))
    }

    /// Stops the server as a power cut would: no checkpoint, connections drop at once.
    ///
    /// # Errors
    /// What `pg_ctl` said.
    pub fn stop_immediate(&self) -> Result<(), String> {
        let arguments = ["stop", "-w", "-m", "immediate"];
        self.pg_ctl(&arguments).map(drop)
    }

    /// Starts a stopped server on the same port; it recovers from its log first.
    ///
    /// # Errors
    /// What `pg_ctl` and the server's log said.
    pub fn start_again(&self) -> Result<(), String> {
        let log = self.folder.join("server.log");
        let log_text = log.to_string_lossy();
        self.pg_ctl(&["start", "-w", "-t", "60", "-l", &log_text])
            .map(drop)
            .map_err(|problem| format!("{problem}\n{}", fs::read_to_string(&log).unwrap_or_default()))
    }

    /// A crash followed by recovery.
    ///
    /// # Errors
    /// As of the two steps.
    pub fn restart_immediate(&self) -> Result<(), String> {
        self.stop_immediate()?;
        self.start_again()
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn initialise(&self, options: StartOptions) -> Result<(), String> {
        let mut initdb = self.account.command(&self.binaries.join("initdb"));
        initdb.arg("-D").arg(self.data());
        initdb.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale", "C.UTF-8", "--no-sync"]);
        checked("initdb", initdb.current_dir(&self.folder).output())?;
        let hba = "host all all 127.0.0.1/32 trust\n";
        fs::write(self.data().join("pg_hba.conf"), hba).map_err(|e| format!("writing pg_hba.conf: {e}"))?;
        self.configure(&settings(options))
    }

    fn configure(&self, lines: &str) -> Result<(), String> {
        let path = self.data().join("postgresql.conf");
        let written =
            OpenOptions::new().append(true).open(&path).and_then(|mut f| f.write_all(lines.as_bytes()));
        written.map_err(|e| format!("writing {}: {e}", path.display()))
    }

    fn start_on_free_port(&mut self) -> Result<(), String> {
        let mut last = String::new();
        for _ in 0..PORT_TRIES {
            self.port = free_port()?;
            // The last line for a setting wins, so a second try only appends.
            self.configure(&format!("port = {}\n", self.port))?;
            match self.start_again() {
                Ok(()) => return Ok(()),
                Err(problem) => last = problem,
            }
        }
        Err(last)
    }

    fn pg_ctl(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = self.account.command(&self.binaries.join("pg_ctl"));
        command.arg("-D").arg(self.data()).args(arguments).current_dir(&self.folder);
        checked("pg_ctl", command.output())
    }
}

fn settings(options: StartOptions) -> String {
    let durable = if options.fsync { "on" } else { "off" };
    format!(
        "listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\nmax_connections = 300\n\
         shared_buffers = '64MB'\nfsync = {durable}\nsynchronous_commit = {durable}\nfull_page_writes = {durable}\n"
    )
}

/// A folder no other run uses, readable by the account the server runs as and by nobody else.
fn new_folder(account: Account) -> Result<PathBuf, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let parent = std::env::temp_dir();
    // Process ids come round again, so the folder of a run long gone may still bear our name.
    for _ in 0..100 {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("leasehold-postgres-{}-{count}", std::process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => return account.own(&folder).map(|()| folder),
            Err(problem) if problem.kind() == ErrorKind::AlreadyExists => {}
            Err(problem) => return Err(format!("creating {}: {problem}", folder.display())),
        }
    }
    Err(format!("{} is full of folders of earlier clusters", parent.display()))
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| format!("finding a free port: {e}"))?;
    listener.local_addr().map(|a| a.port()).map_err(|e| format!("finding a free port: {e}"))
}

fn checked(what: &str, result: std::io::Result<Output>) -> Result<String, String> {
    let output = result.map_err(|e| format!("running {what}: {e}"))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(said(&output.stdout));
    }
    Err(format!("{what} failed ({}): {} {}", output.status, said(&output.stderr), said(&output.stdout)))
}
