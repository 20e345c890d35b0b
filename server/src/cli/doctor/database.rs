//! The database: reachable, current, safe, with room to grow.

use super::finding::Finding;
use crate::config::Config;
use leasehold_queue::{
    Store,
    administration::{DatabaseFacts, Examination},
};
use leasehold_store_sqlite::files::{self, Exposed};
use nix::sys::statvfs::statvfs;
use std::{path::Path, sync::Arc};

const LITTLE_SPACE: u64 = 1 << 30;
const NO_SPACE: u64 = 64 << 20;
/// Beyond this somebody should look whether events are ever pruned.
const MANY_EVENTS: i64 = 5_000_000;
const OLDEST_POSTGRES: i64 = 140_000;
/// Leases are counted in seconds.
const MUCH_SKEW: f64 = 5.0;

/// The file of an SQLite address.
pub fn file_of(config: &Config) -> Option<&str> {
    let path = config.db_url.strip_prefix("sqlite:")?.trim_start_matches("//");
    Some(path.split('?').next().unwrap_or(path))
}

/// Opening would make the file, and looking must not.
pub fn is_missing(config: &Config) -> Option<Finding> {
    let file = Path::new(file_of(config)?);
    (!file.exists()).then(|| {
        let says = format!("There is no database at {} yet.", file.display());
        Finding::warning("database", says, "`leasehold serve` or `leasehold migrate` makes it.")
    })
}

pub fn unreachable(why: &str) -> Finding {
    let says = format!("The database cannot be used: {}.", why.trim_end_matches('.'));
    let fix = "Start it, or correct JOBS_DB_URL: host, port, name, user and password.";
    Finding::error("database", says, fix)
}

pub fn stale_schema(config: &Config) -> Finding {
    let says = "The schema is not the one of this version.";
    if config.auto_migrate {
        return Finding::warning("schema", says, "The next start of the server brings it up to date.");
    }
    Finding::error("schema", says, "Run `leasehold migrate`; JOBS_AUTO_MIGRATE is off.")
}

pub async fn look(store: &Arc<dyn Store>) -> Vec<Finding> {
    let examined = match store.examine().await {
        Ok(examined) => examined,
        Err(error) => return vec![unreachable(&error.to_string())],
    };
    let mut found = match &examined.database {
        DatabaseFacts::Sqlite { .. } => sqlite(&examined.database),
        DatabaseFacts::Postgres { .. } => postgres(&examined.database),
    };
    found.push(counters(&examined));
    found.push(events(&examined));
    found
}

fn sqlite(facts: &DatabaseFacts) -> Vec<Finding> {
    let DatabaseFacts::Sqlite { file, journal_mode, synchronous, foreign_keys, sound } = facts else {
        return Vec::new();
    };
    let safe = journal_mode == "wal" && *synchronous == 2 && *foreign_keys;
    let settings = if safe {
        Finding::ok("sqlite", "Write-ahead log, full sync and foreign keys are on.")
    } else {
        let says = format!(
            "journal_mode is {journal_mode}, synchronous {synchronous}, foreign_keys {foreign_keys}; \
             wal, 2 and true are needed."
        );
        Finding::error(
            "sqlite",
            says,
            "Put the file on a local disk: network file systems have no write-ahead log.",
        )
    };
    let whole = if sound == "ok" {
        Finding::ok("file", "The database file is sound.")
    } else {
        Finding::error("file", format!("The database file is damaged: {sound}."), "Restore it from a backup.")
    };
    let mut found = vec![settings, whole, writable(Path::new(file)), space(Path::new(file))];
    found.extend(exposed(Path::new(file)));
    found
}

/// The log and its index are made beside the file.
fn writable(file: &Path) -> Finding {
    let folder = file.parent().unwrap_or(Path::new("."));
    let read_only = |path: &Path| nix::unistd::access(path, nix::unistd::AccessFlags::W_OK).is_err();
    match [file, folder].into_iter().find(|path| read_only(path)) {
        None => Finding::ok("permissions", "The database file and its folder can be written."),
        Some(path) => Finding::error(
            "permissions",
            format!("{} cannot be written by this user.", path.display()),
            "Give the file and its folder to the user that runs the server.",
        ),
    }
}

/// Payloads, results and the key that signs links are in these files.
fn exposed(file: &Path) -> Vec<Finding> {
    let exposed = files::exposed(file);
    if exposed.is_empty() {
        return vec![Finding::ok("privacy", "The database file and its folder are for their owner alone.")];
    }
    let finding = |found: &Exposed| {
        let says =
            format!("{} has mode {:o}: others on this machine may use it.", found.path.display(), found.mode);
        let fix =
            format!("Run `chmod {:o} {}`, or `leasehold doctor --fix`.", found.wanted, found.path.display());
        Finding::warning("privacy", says, fix)
    };
    exposed.iter().map(finding).collect()
}

fn space(file: &Path) -> Finding {
    let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(disk) = statvfs(folder) else {
        return Finding::warning("disk", "The free space cannot be told.", "Look at it yourself, with df.");
    };
    let free = disk.blocks_available() * disk.fragment_size();
    let says = format!("{} MiB are free beside the database.", free >> 20);
    match free {
        0..NO_SPACE => Finding::error("disk", says, "Make room: enqueueing fails when the disk is full."),
        NO_SPACE..LITTLE_SPACE => Finding::warning("disk", says, "Make room, or prune old jobs."),
        _ => Finding::ok("disk", says),
    }
}

fn postgres(facts: &DatabaseFacts) -> Vec<Finding> {
    let DatabaseFacts::Postgres { version, max_connections, connections, read_only, may_create, clock_ahead } =
        facts
    else {
        return Vec::new();
    };
    let major = version / 10_000;
    let known = if *version >= OLDEST_POSTGRES {
        Finding::ok("version", format!("Postgres {major}."))
    } else {
        Finding::error("version", format!("Postgres {major} is too old."), "Upgrade to Postgres 14 or newer.")
    };
    let writes = match (read_only, may_create) {
        (false, true) => Finding::ok("permissions", "The database can be written and its schema changed."),
        (true, _) => Finding::error(
            "permissions",
            "The database is read only, a standby perhaps.",
            "Name the primary in JOBS_DB_URL.",
        ),
        (false, false) => Finding::warning(
            "permissions",
            "This user may not change the schema.",
            "Grant CREATE on the schema for upgrades, or migrate as another user.",
        ),
    };
    let free = max_connections - connections;
    let says = format!("{connections} of {max_connections} connections are taken.");
    let room = if free < 20 {
        Finding::warning("connections", says, "Raise max_connections: each process takes up to 20.")
    } else {
        Finding::ok("connections", says)
    };
    let clock = if clock_ahead.abs() > MUCH_SKEW {
        let says = format!("The database's clock is {clock_ahead:+.1} s off this machine's.");
        Finding::warning("clock", says, "Let both machines keep time by NTP.")
    } else {
        Finding::ok("clock", "The database's clock agrees with this machine's.")
    };
    vec![known, writes, room, clock]
}

fn counters(examined: &Examination) -> Finding {
    match examined.wrong_counters {
        0 => Finding::ok("counters", "The counters agree with the jobs."),
        wrong => Finding::warning(
            "counters",
            format!("{wrong} counters differ from a recount."),
            "Run `leasehold doctor --fix`; it counts the jobs anew.",
        ),
    }
}

fn events(examined: &Examination) -> Finding {
    let since = examined.oldest_event_at.map(|at| format!(", the oldest from {at}")).unwrap_or_default();
    let says = format!("At most {} events are kept{since}.", examined.events);
    if examined.events > MANY_EVENTS {
        return Finding::warning(
            "outbox",
            says,
            "Keep them for a shorter time: JOBS_EVENTS_RETENTION_HOURS.",
        );
    }
    Finding::ok("outbox", says)
}
