//! A database of its own on the throw-away Postgres that the tests are given.

pub use scratch_postgres::fresh_database;
use sqlx::{Connection, Executor, PgConnection, SqliteConnection};

/// One statement on either kind of database.
pub fn execute(url: &str, statement: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let statement = sqlx::AssertSqlSafe(statement.to_owned());
    runtime.block_on(async {
        if url.starts_with("sqlite:") {
            SqliteConnection::connect(url).await.unwrap().execute(statement).await.unwrap();
        } else {
            PgConnection::connect(url).await.unwrap().execute(statement).await.unwrap();
        }
    });
}

/// Every row of every table, as text.
pub fn dump(url: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut database = PgConnection::connect(url).await.unwrap();
        let tables: Vec<String> =
            sqlx::query_scalar("SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'")
                .fetch_all(&mut database)
                .await
                .unwrap();
        let mut rows: Vec<String> = Vec::new();
        for table in tables {
            let all = sqlx::AssertSqlSafe(format!("SELECT t::text FROM {table} t"));
            rows.extend(sqlx::query_scalar::<_, String>(all).fetch_all(&mut database).await.unwrap());
        }
        rows.join("\n")
    })
}
