//! One writing transaction, for the verbs that are written once for both stores.

use crate::{
    PostgresStore,
    convert::moment,
    error::{Error, Outcome},
    lanes::Directory,
    wake::Wakes,
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreResult,
    audit::NewAuditEntry,
    params::Wake,
    ports::tx::{Statements, Transactions, Tx},
};
use leasehold_types::Timestamp;
use sqlx::{Postgres, Transaction};
use std::sync::Arc;
use uuid::Uuid;

pub struct PostgresTx {
    pub(crate) tx: Transaction<'static, Postgres>,
    now: Timestamp,
    bell: Arc<Wakes>,
    directory: Arc<Directory>,
    wakes: Vec<Wake>,
    /// Whether events are written.
    pub(crate) outbox: bool,
}

impl Statements for PostgresTx {
    type Error = Error;
}

impl PostgresStore {
    fn tx(&self, tx: Transaction<'static, Postgres>) -> PostgresTx {
        let (bell, directory) = (self.wakes.clone(), self.directory.clone());
        let (now, outbox) = (self.clock.now(), self.outbox);
        PostgresTx { tx, now, bell, directory, wakes: Vec::new(), outbox }
    }
}

#[async_trait]
impl Transactions for PostgresStore {
    type Tx = PostgresTx;

    async fn transaction(&self) -> StoreResult<PostgresTx> {
        let tx = self.work.begin().await.map_err(Error::from)?;
        Ok(self.tx(tx))
    }

    async fn snapshot(&self) -> StoreResult<PostgresTx> {
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        let tx = self.work.begin_with(begin).await.map_err(Error::from)?;
        Ok(self.tx(tx))
    }
}

#[async_trait]
impl Tx for PostgresTx {
    fn now(&self) -> Timestamp {
        self.now
    }

    async fn insert_audit(
        &mut self,
        actor: &str,
        origin: Option<&str>,
        entries: &[NewAuditEntry],
    ) -> Outcome<()> {
        let texts = |text: fn(&NewAuditEntry) -> &str| -> Vec<String> {
            entries.iter().map(|entry| text(entry).to_owned()).collect()
        };
        let tenants: Vec<_> = entries.iter().map(|entry| entry.tenant.map(|t| t.0)).collect();
        let reasons: Vec<_> = entries.iter().map(|entry| entry.reason.clone()).collect();
        sqlx::query!(
            "INSERT INTO audit_log (tenant_id, actor, action, object_type, object_id, reason, created_at, origin)
             SELECT e.tenant, $6, e.action, e.object_type, e.object_id, e.reason, $7, $8
             FROM UNNEST($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[])
               AS e (tenant, action, object_type, object_id, reason)",
            &tenants as &[Option<Uuid>],
            &texts(|entry| entry.action),
            &texts(|entry| entry.object_type),
            &texts(|entry| &entry.object_id),
            &reasons as &[Option<String>],
            actor,
            moment(self.now),
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
        if self.wakes.iter().any(|wake| matches!(wake, Wake::Jobs)) {
            self.directory.forget();
        }
        self.bell.tell(&self.wakes);
        Ok(())
    }
}
