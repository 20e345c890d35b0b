//! Leasehold's store on SQLite: one file, many processes.
//!
//! SQLite has one writer at a time, and this crate builds on it. One connection writes, and every writing verb
//! is one statement or a `BEGIN IMMEDIATE` transaction: the writer's lock is taken before the first look, so what was read is
//! still true when it is written, in this process and in every other on the same file. A deferred transaction
//! that reads and then writes would fail at once with "busy" instead of waiting. Reading goes through
//! connections of its own, which see the last commit and wait for nobody (write-ahead log).
//!
//! Commits are synced in full: an enqueue that was answered survives a power cut.
//!
//! Many rows travel in one bind as JSON and are unfolded by `json_each`: one statement per table and verb. Wide
//! rows are unfolded into a materialised table first, because every mention of `json_each`'s `value` writes the
//! row out as text again.

mod administration;
mod admission;
mod api_keys;
mod attachments;
mod audit;
mod audit_log;
mod browse;
mod callers;
mod claim;
mod convert;
mod counters;
mod create;
mod database;
mod definitions;
mod error;
mod figures;
pub mod files;
mod filter;
mod finish;
mod invitations;
mod keys;
mod kind_counts;
mod lanes;
mod limited;
mod list;
mod logs;
mod members;
mod memory;
mod operations;
mod outbox;
mod overview;
mod password_links;
mod pick;
#[cfg(test)]
mod plans;
mod read;
mod reclaim;
mod remote;
mod renew;
mod rights;
mod sessions;
mod settings;
mod settle;
mod signing;
mod standing;
mod steering;
mod tenants;
mod throttle;
mod triggers;
mod tx;
mod units;
mod upkeep;
mod users;
mod wake;
mod workers;

use error::Outcome;
use leasehold_queue::{Clock, Store, StoreError, StoreResult};
use sqlx::{
    ConnectOptions, Sqlite, SqlitePool, Transaction,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use std::{
    str::FromStr,
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

const ROWS_BUFFERED: usize = 1_024;
/// How long a writer waits for another process's transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub struct Options {
    pub read_connections: u32,
    /// No lease reaches further than this from now.
    pub longest_lease: Duration,
    /// Whether events are written. Without them views do not move by themselves and nothing can be followed;
    /// made for measuring what they cost. Off needs a migrated database.
    pub outbox: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { read_connections: 4, longest_lease: Duration::from_secs(3_600), outbox: true }
    }
}

pub struct SqliteStore {
    /// The only connection of this process that writes.
    write: SqlitePool,
    read: SqlitePool,
    clock: Clock,
    longest_lease: Duration,
    bell: wake::Bell,
    /// Which tenant comes first in the next claim.
    turn: AtomicUsize,
    load: memory::Load,
}

impl Store for SqliteStore {}

impl SqliteStore {
    /// Opens `sqlite:path/to/file.db`; the file and its folder are made when missing. The schema is brought up
    /// to date by `migrate`.
    pub async fn connect(url: &str, clock: Clock, options: Options) -> StoreResult<Arc<Self>> {
        Ok(Arc::new(Self::open(url, clock, options).await?))
    }

    async fn open(url: &str, clock: Clock, options: Options) -> Outcome<Self> {
        let base = SqliteConnectOptions::from_str(url)?
            .busy_timeout(BUSY_TIMEOUT)
            .foreign_keys(true)
            .synchronous(SqliteSynchronous::Full)
            // A batch of rows crosses to the caller's thread in one go, not in fifties with a wait after each.
            .row_buffer_size(ROWS_BUFFERED)
            .disable_statement_logging();
        refuse_memory(url)?;
        files::prepare(base.get_filename()).map_err(sqlx::Error::Io)?;
        // The pages a queue works on stay in memory, and the log is copied back less often: a page that is written
        // by every batch is then copied once for many.
        let writing = base
            .clone()
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .pragma("cache_size", "-65536")
            .pragma("wal_autocheckpoint", "8000");
        // Opened after the writer, which has made the file and set the mode that lasts.
        let reading = base.pragma("query_only", "ON");
        let write = forever(1).connect_with(writing).await?;
        if !options.outbox {
            // The verbs stay as they are; what they tell the outbox is dropped at its door.
            sqlx::query(
                "CREATE TEMP TRIGGER no_outbox BEFORE INSERT ON main.job_events BEGIN SELECT RAISE(IGNORE); END",
            )
            .execute(&write)
            .await?;
        }
        Ok(Self {
            write,
            read: forever(options.read_connections.max(1)).connect_with(reading).await?,
            clock,
            longest_lease: options.longest_lease,
            bell: wake::Bell::default(),
            turn: AtomicUsize::new(0),
            load: memory::Load::default(),
        })
    }

    /// A transaction that holds the writer's lock from its first moment.
    async fn begin(&self) -> Outcome<Transaction<'static, Sqlite>> {
        Ok(self.write.begin_with("BEGIN IMMEDIATE").await?)
    }
}

/// A local file does not lose its connections; opening new ones only costs.
fn forever(connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .min_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
}

/// Each connection to `:memory:` is a database of its own: writer and readers would never meet.
fn refuse_memory(url: &str) -> Outcome<()> {
    if url.contains(":memory:") || url.contains("mode=memory") {
        let message = "an in-memory database cannot be shared; give the name of a file".to_owned();
        return Err(StoreError::Database { message, transient: false }.into());
    }
    Ok(())
}
