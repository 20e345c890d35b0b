//! A database of its own for every test.

use leasehold_queue::{Clock, Store};
use leasehold_store_postgres::{Options, PostgresStore};
use sqlx::{Connection, Executor, PgConnection};
use std::sync::Arc;
use uuid::Uuid;

/// A fresh, migrated store and the address of its database. The cluster is a throw-away one, so the database is
/// left behind.
pub async fn fresh_store(clock: Clock) -> (Arc<PostgresStore>, String) {
    let server = std::env::var("POSTGRES_TEST_DSN")
        .expect("POSTGRES_TEST_DSN names no Postgres: run through `cargo xtask pg -- …`");
    let name = format!("test_{}", Uuid::new_v4().simple());
    let mut admin = PgConnection::connect(&server).await.expect("the test server answers");
    admin
        .execute(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}")))
        .await
        .expect("the test user may create databases");
    admin.close().await.expect("the connection closes");
    let url = with_database(&server, &name);
    let options = Options { max_connections: 8, lease_connections: 2, ..Options::default() };
    let store = PostgresStore::connect(&url, clock, options).await.expect("the fresh database answers");
    store.migrate().await.expect("the migrations apply");
    (store, url)
}

/// The same server, another database.
fn with_database(server: &str, name: &str) -> String {
    let (address, options) = server.split_once('?').map_or((server, None), |(a, o)| (a, Some(o)));
    let scheme_end = address.find("://").map_or(0, |i| i + 3);
    let base = address[scheme_end..].find('/').map_or(address, |i| &address[..scheme_end + i]);
    match options {
        Some(options) => format!("{base}/{name}?{options}"),
        None => format!("{base}/{name}"),
    }
}
