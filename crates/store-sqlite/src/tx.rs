//! One writing transaction, for the verbs that are written once for both stores.

use crate::{
    SqliteStore,
    convert::to_json,
    error::{Error, Outcome},
    wake::Bell,
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreResult,
    audit::NewAuditEntry,
    params::Wake,
    ports::tx::{Statements, Transactions, Tx},
};
use leasehold_types::Timestamp;
use serde_json::json;
use sqlx::{Sqlite, Transaction};

/// Holds the writer's lock from its first moment, so whatever it reads is still true when it writes.
pub struct SqliteTx {
    pub(crate) tx: Transaction<'static, Sqlite>,
    now: Timestamp,
    bell: Bell,
    wakes: Vec<Wake>,
}

impl Statements for SqliteTx {
    type Error = Error;
}

#[async_trait]
impl Transactions for SqliteStore {
    type Tx = SqliteTx;

    async fn transaction(&self) -> StoreResult<SqliteTx> {
        let tx = self.begin().await?;
        Ok(SqliteTx { tx, now: self.clock.now(), bell: self.bell.clone(), wakes: Vec::new() })
    }

    /// Of a connection that only reads: what it looks at is the last commit before its first look.
    async fn snapshot(&self) -> StoreResult<SqliteTx> {
        let tx = self.read.begin().await.map_err(Error::from)?;
        Ok(SqliteTx { tx, now: self.clock.now(), bell: self.bell.clone(), wakes: Vec::new() })
    }
}

#[async_trait]
impl Tx for SqliteTx {
    fn now(&self) -> Timestamp {
        self.now
    }

    async fn insert_audit(
        &mut self,
        actor: &str,
        origin: Option<&str>,
        entries: &[NewAuditEntry],
    ) -> Outcome<()> {
        let row = |e: &NewAuditEntry| json!([e.tenant, e.action, e.object_type, e.object_id, e.reason]);
        let (rows, now) = (to_json(&entries.iter().map(row).collect::<Vec<_>>())?, self.now.to_string());
        sqlx::query!(
            "INSERT INTO audit_log (tenant_id, actor, action, object_type, object_id, reason, created_at, origin)
             SELECT value ->> 0, ?2, value ->> 1, value ->> 2, value ->> 3, value ->> 4, ?3, ?4
             FROM json_each(?1) ORDER BY key",
            rows,
            actor,
            now,
            origin
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    fn wake(&mut self, wake: Wake) {
        self.wakes.push(wake);
    }

    async fn commit(self) -> StoreResult<()> {
        self.tx.commit().await.map_err(Error::from)?;
        for wake in self.wakes {
            self.bell.ring(wake);
        }
        Ok(())
    }
}
