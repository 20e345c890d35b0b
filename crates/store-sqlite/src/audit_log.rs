//! The audit log as it is read, and its chain. See `leasehold_queue::audit`.

use crate::{
    SqliteStore,
    convert::{Table, limit as rows_at_most, to_json},
    error::{Error, Outcome},
};
use async_trait::async_trait;
use leasehold_queue::{
    Audit, Scope, StoreResult,
    audit::{ChainExtent, ChainHead, extend},
    refusals::Refused,
};
use leasehold_types::{
    Page, PageRequest,
    people::{AuditEntry, AuditFilter},
};
use serde_json::json;

const AUDIT: Table = Table("audit_log");

struct EntryRecord {
    id: i64,
    tenant_id: Option<String>,
    actor: String,
    action: String,
    object_type: String,
    object_id: String,
    reason: Option<String>,
    origin: Option<String>,
    created_at: String,
    position: Option<i64>,
    hash: Option<String>,
}

impl TryFrom<EntryRecord> for AuditEntry {
    type Error = Error;
    fn try_from(row: EntryRecord) -> Outcome<Self> {
        Ok(Self {
            id: row.id,
            tenant_id: AUDIT.parse_opt("tenant_id", row.tenant_id.as_deref())?,
            created_at: AUDIT.time("created_at", &row.created_at)?,
            actor: row.actor,
            action: row.action,
            object_type: row.object_type,
            object_id: row.object_id,
            reason: row.reason,
            origin: row.origin,
            position: row.position,
            hash: row.hash,
        })
    }
}

#[async_trait]
impl Audit for SqliteStore {
    async fn chain_audit(&self, limit: u32) -> StoreResult<u64> {
        Ok(chain(self, limit).await?)
    }
    async fn audit_extent(&self) -> StoreResult<ChainExtent> {
        Ok(extent(self).await?)
    }
    async fn audit_links(&self, after: i64, limit: u32) -> StoreResult<Vec<AuditEntry>> {
        Ok(links(self, after, limit).await?)
    }
    async fn record_refusals(&self, refused: Vec<Refused>) -> StoreResult<()> {
        Ok(record_refusals(self, refused).await?)
    }
    async fn audit_entries(
        &self,
        scope: &Scope,
        filter: &AuditFilter,
        page: PageRequest,
    ) -> StoreResult<Page<AuditEntry>> {
        Ok(entries(self, scope, filter, page).await?)
    }
}

async fn chain(store: &SqliteStore, limit: u32) -> Outcome<u64> {
    let any = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT 1 FROM audit_log WHERE hash IS NULL AND position IS NULL) AS "any!: i64""#
    );
    // Readers do not wait: the writer is asked for only when there is something to write.
    if any.fetch_one(&store.read).await? == 0 {
        return Ok(0);
    }
    let mut tx = store.begin().await?;
    let head =
        sqlx::query_as!(ChainHead, "SELECT position, hash FROM audit_chain").fetch_one(&mut *tx).await?;
    let limit = rows_at_most(limit);
    let found = sqlx::query_as!(
        EntryRecord,
        r#"SELECT id AS "id!", tenant_id, actor, action, object_type, object_id, reason, origin, created_at, position, hash
           FROM audit_log WHERE hash IS NULL AND position IS NULL ORDER BY id LIMIT ?1"#,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    let mut rows = found.into_iter().map(AuditEntry::try_from).collect::<Outcome<Vec<_>>>()?;
    let head = extend(head, &mut rows);
    let chained = rows.iter().map(|row| json!([row.id, row.position, row.hash])).collect::<Vec<_>>();
    let chained = to_json(&chained)?;
    sqlx::query!(
        "UPDATE audit_log SET position = n.value ->> 1, hash = n.value ->> 2
         FROM json_each(?1) n WHERE audit_log.id = n.value ->> 0",
        chained
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!("UPDATE audit_chain SET position = ?1, hash = ?2", head.position, head.hash)
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(rows.len() as u64)
}

async fn extent(store: &SqliteStore) -> Outcome<ChainExtent> {
    let row = sqlx::query!(
        r#"SELECT position, hash, COALESCE((SELECT max(position) FROM audit_log), 0) AS "highest!: i64",
                  (SELECT count(*) FROM audit_log WHERE hash IS NULL AND position IS NULL) AS "waiting!: i64"
           FROM audit_chain"#
    )
    .fetch_one(&store.read)
    .await?;
    let head = ChainHead { position: row.position, hash: row.hash };
    Ok(ChainExtent { head, highest: row.highest, waiting: row.waiting })
}

async fn links(store: &SqliteStore, after: i64, limit: u32) -> Outcome<Vec<AuditEntry>> {
    let limit = rows_at_most(limit);
    let rows = sqlx::query_as!(
        EntryRecord,
        r#"SELECT id AS "id!", tenant_id, actor, action, object_type, object_id, reason, origin, created_at, position, hash
           FROM audit_log WHERE position > ?1 ORDER BY position LIMIT ?2"#,
        after,
        limit
    )
    .fetch_all(&store.read)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

async fn record_refusals(store: &SqliteStore, refused: Vec<Refused>) -> Outcome<()> {
    let rows = refused.into_iter().map(|Refused { refusal: r, reason, at }| {
        json!([r.tenant, r.actor, r.action, r.object_type, r.object_id, reason, at.to_string(), r.address])
    });
    let rows = to_json(&rows.collect::<Vec<_>>())?;
    let mut tx = store.begin().await?;
    sqlx::query!(
        "INSERT INTO audit_log (tenant_id, actor, action, object_type, object_id, reason, created_at, origin)
         SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7
         FROM json_each(?1) ORDER BY key",
        rows
    )
    .execute(&mut *tx)
    .await?;
    Ok(tx.commit().await?)
}

async fn entries(
    store: &SqliteStore,
    scope: &Scope,
    filter: &AuditFilter,
    page: PageRequest,
) -> Outcome<Page<AuditEntry>> {
    let (only, limit) = (scope.tenant().map(|id| id.to_string()), rows_at_most(page.limit) + 1);
    let rows = sqlx::query_as!(
        EntryRecord,
        r#"SELECT id AS "id!", tenant_id, actor, action, object_type, object_id, reason, origin, created_at, position, hash
           FROM audit_log
           WHERE (?1 IS NULL OR tenant_id = ?1) AND (?2 IS NULL OR id < ?2)
             AND (?3 IS NULL OR instr(lower(actor), lower(?3)) > 0)
             AND (?4 IS NULL OR substr(action, 1, length(?4)) = ?4)
           ORDER BY id DESC LIMIT ?5"#,
        only,
        page.before,
        filter.actor,
        filter.action,
        limit
    )
    .fetch_all(&store.read)
    .await?;
    let mut items = rows.into_iter().map(AuditEntry::try_from).collect::<Outcome<Vec<_>>>()?;
    let more = items.len() > page.limit as usize;
    items.truncate(page.limit as usize);
    let next = items.last().filter(|_| more).map(|entry| entry.id);
    Ok(Page { items, next })
}
