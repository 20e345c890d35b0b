//! Leasehold on Postgres.
//!
//! Every verb is one statement or one short transaction; a job never runs inside either. Statements are checked
//! against the schema while compiling. Times are binds from the [`Clock`], never a database default, so that a
//! frozen clock reaches every comparison.
//!
//! Two pools: `lease` serves only what keeps a running job alive (renewals, heartbeats, cancel requests), so
//! that a busy dashboard cannot cost a worker its lease; `work` serves everything else.

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
mod filter;
mod finish;
mod invitations;
mod kind_counts;
mod lanes;
mod leader;
mod limited;
mod list;
mod logs;
mod members;
mod operations;
mod outbox;
mod overview;
mod password_links;
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

use convert::moment;
use leasehold_queue::{Clock, Store, StoreResult, clock::process_time};
use leasehold_types::Timestamp;
use sqlx::{
    ConnectOptions, Connection, Executor, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use std::{
    sync::{Arc, atomic::AtomicI64},
    time::Duration,
};
use time::OffsetDateTime;

/// How long a caller waits for a free connection before it is told "unavailable".
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection unused for this long is tested before it is handed out; testing each time costs a round trip.
const TEST_AFTER_IDLE: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub struct Options {
    pub max_connections: u32,
    /// For renewals and heartbeats alone.
    pub lease_connections: u32,
    /// No lease reaches further into the future than this.
    pub longest_lease: Duration,
    /// Whether events are written. Without them views do not move by themselves and nothing can be followed;
    /// made for measuring what they cost.
    pub outbox: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_connections: 16,
            lease_connections: 2,
            longest_lease: Duration::from_secs(3_600),
            outbox: true,
        }
    }
}

pub struct PostgresStore {
    work: PgPool,
    lease: PgPool,
    clock: Clock,
    longest_lease: Duration,
    outbox: bool,
    wakes: Arc<wake::Wakes>,
    directory: Arc<lanes::Directory>,
    claims: tokio::sync::Mutex<()>,
    leadership: leader::Leadership,
    /// The newest event id known to be followed by no smaller one.
    horizon: AtomicI64,
}

impl Store for PostgresStore {}

impl PostgresStore {
    /// Connects, and measures how far the database's clock is ahead. The schema is left as it is.
    pub async fn connect(url: &str, clock: Clock, options: Options) -> StoreResult<Arc<Self>> {
        let target: PgConnectOptions = url.parse().map_err(error::database)?;
        let target = target.application_name("leasehold").disable_statement_logging();
        let work =
            pool(options.max_connections).connect_with(target.clone()).await.map_err(error::database)?;
        let lease = pool(options.lease_connections).connect_lazy_with(target.clone());
        let store = Self {
            wakes: Arc::new(wake::Wakes::start(target.clone(), url.to_owned())),
            work,
            lease,
            clock,
            longest_lease: options.longest_lease,
            outbox: options.outbox,
            directory: Arc::default(),
            claims: tokio::sync::Mutex::new(()),
            leadership: leader::Leadership::new(target),
            horizon: AtomicI64::new(0),
        };
        store.measure_clock(&store.work).await?;
        Ok(Arc::new(store))
    }

    /// Asks the database for its time and tells the clock.
    async fn measure_clock(&self, pool: &PgPool) -> StoreResult<()> {
        // First, so that waiting for it is not taken for time on the way.
        let mut connection = pool.acquire().await.map_err(error::database)?;
        let asked = process_time();
        let database = sqlx::query_scalar!(r#"SELECT clock_timestamp() AS "at!""#)
            .fetch_one(&mut *connection)
            .await
            .map_err(error::database)?;
        self.clock.measured(Timestamp::from_datetime(database), asked, process_time());
        Ok(())
    }

    fn now(&self) -> OffsetDateTime {
        moment(self.clock.now())
    }
}

fn pool(connections: u32) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(connections.max(1))
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .test_before_acquire(false)
        .before_acquire(|connection, about| {
            Box::pin(async move {
                if about.idle_for < TEST_AFTER_IDLE {
                    return Ok(true);
                }
                connection.ping().await.map(|()| true)
            })
        })
        .after_connect(|connection, _| {
            Box::pin(async move {
                // Compiling a plan takes longer than any of our statements runs, and so does planning the big ones
                // anew each time; they are written so that the plan for any values is the right one.
                connection.execute("SET jit = off; SET plan_cache_mode = force_generic_plan").await.map(drop)
            })
        })
}
