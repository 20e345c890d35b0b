//! The audit log as it is read, and its chain. See `leasehold_queue::audit`.

use crate::{
    PostgresStore,
    convert::{moment, stamp},
    error::database,
};
use async_trait::async_trait;
use leasehold_queue::{
    Audit, Scope, StoreResult,
    audit::{ChainExtent, ChainHead, extend},
    refusals::Refused,
};
use leasehold_types::{
    Page, PageRequest, TenantId,
    people::{AuditEntry, AuditFilter},
};
use time::OffsetDateTime;
use uuid::Uuid;

struct EntryRecord {
    id: i64,
    tenant_id: Option<Uuid>,
    actor: String,
    action: String,
    object_type: String,
    object_id: String,
    reason: Option<String>,
    origin: Option<String>,
    created_at: OffsetDateTime,
    position: Option<i64>,
    hash: Option<String>,
}

impl From<EntryRecord> for AuditEntry {
    fn from(r: EntryRecord) -> Self {
        Self {
            id: r.id,
            tenant_id: r.tenant_id.map(TenantId),
            actor: r.actor,
            action: r.action,
            object_type: r.object_type,
            object_id: r.object_id,
            reason: r.reason,
            origin: r.origin,
            created_at: stamp(r.created_at),
            position: r.position,
            hash: r.hash,
        }
    }
}

#[async_trait]
impl Audit for PostgresStore {
    async fn chain_audit(&self, limit: u32) -> StoreResult<u64> {
        let any = sqlx::query_scalar!(
            r#"SELECT EXISTS (SELECT FROM audit_log WHERE hash IS NULL AND position IS NULL) AS "any!""#
        );
        if !any.fetch_one(&self.work).await.map_err(database)? {
            return Ok(0);
        }
        let mut tx = self.work.begin().await.map_err(database)?;
        // Who holds the head extends the chain; another process waits and goes on behind it.
        let head = sqlx::query_as!(ChainHead, "SELECT position, hash FROM audit_chain FOR UPDATE")
            .fetch_one(&mut *tx)
            .await
            .map_err(database)?;
        let mut rows: Vec<AuditEntry> = sqlx::query_as!(
            EntryRecord,
            "SELECT id, tenant_id, actor, action, object_type, object_id, reason, origin, created_at, position, hash
             FROM audit_log WHERE hash IS NULL AND position IS NULL ORDER BY id LIMIT $1",
            i64::from(limit)
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(database)?
        .into_iter()
        .map(Into::into)
        .collect();
        let head = extend(head, &mut rows);
        let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
        let positions: Vec<_> = rows.iter().filter_map(|row| row.position).collect();
        let hashes: Vec<_> = rows.into_iter().filter_map(|row| row.hash).collect();
        sqlx::query!(
            "WITH chained AS (
               UPDATE audit_log a SET position = n.position, hash = n.hash
               FROM unnest($1::bigint[], $2::bigint[], $3::text[]) n(id, position, hash) WHERE a.id = n.id)
             UPDATE audit_chain SET position = $4, hash = $5",
            &ids,
            &positions,
            &hashes,
            head.position,
            head.hash
        )
        .execute(&mut *tx)
        .await
        .map_err(database)?;
        tx.commit().await.map_err(database)?;
        Ok(ids.len() as u64)
    }

    async fn audit_extent(&self) -> StoreResult<ChainExtent> {
        let row = sqlx::query!(
            r#"SELECT position, hash, COALESCE((SELECT max(position) FROM audit_log), 0) AS "highest!",
                      (SELECT count(*) FROM audit_log WHERE hash IS NULL AND position IS NULL) AS "waiting!"
               FROM audit_chain"#
        )
        .fetch_one(&self.work)
        .await
        .map_err(database)?;
        let head = ChainHead { position: row.position, hash: row.hash };
        Ok(ChainExtent { head, highest: row.highest, waiting: row.waiting })
    }

    async fn audit_links(&self, after: i64, limit: u32) -> StoreResult<Vec<AuditEntry>> {
        sqlx::query_as!(
            EntryRecord,
            "SELECT id, tenant_id, actor, action, object_type, object_id, reason, origin, created_at, position, hash
             FROM audit_log WHERE position > $1 ORDER BY position LIMIT $2",
            after,
            i64::from(limit)
        )
        .fetch_all(&self.work)
        .await
        .map(|rows| rows.into_iter().map(Into::into).collect())
        .map_err(database)
    }

    async fn record_refusals(&self, refused: Vec<Refused>) -> StoreResult<()> {
        let tenants: Vec<_> = refused.iter().map(|row| row.refusal.tenant.map(|t| t.0)).collect();
        let texts = |text: fn(&Refused) -> &str| -> Vec<String> {
            refused.iter().map(|row| text(row).to_owned()).collect()
        };
        let addresses: Vec<_> = refused.iter().map(|row| row.refusal.address.clone()).collect();
        let moments: Vec<_> = refused.iter().map(|row| moment(row.at)).collect();
        sqlx::query!(
            "INSERT INTO audit_log (tenant_id, actor, action, object_type, object_id, reason, created_at, origin)
             SELECT * FROM UNNEST($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
                                  $7::timestamptz[], $8::text[])",
            &tenants as &[Option<Uuid>],
            &texts(|row| &row.refusal.actor),
            &texts(|row| row.refusal.action),
            &texts(|row| row.refusal.object_type),
            &texts(|row| &row.refusal.object_id),
            &texts(|row| &row.reason),
            &moments,
            &addresses as &[Option<String>]
        )
        .execute(&self.work)
        .await
        .map(drop)
        .map_err(database)
    }

    async fn audit_entries(
        &self,
        scope: &Scope,
        filter: &AuditFilter,
        page: PageRequest,
    ) -> StoreResult<Page<AuditEntry>> {
        let rows = sqlx::query_as!(
            EntryRecord,
            "SELECT id, tenant_id, actor, action, object_type, object_id, reason, origin, created_at, position, hash
             FROM audit_log
             WHERE ($1::uuid IS NULL OR tenant_id = $1) AND ($2::bigint IS NULL OR id < $2)
               AND ($3::text IS NULL OR strpos(lower(actor), lower($3)) > 0)
               AND ($4::text IS NULL OR starts_with(action, $4))
             ORDER BY id DESC LIMIT $5",
            scope.tenant().map(|t| t.0),
            page.before,
            filter.actor,
            filter.action,
            i64::from(page.limit) + 1
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        let mut items: Vec<AuditEntry> = rows.into_iter().map(Into::into).collect();
        let more = items.len() > page.limit as usize;
        items.truncate(page.limit as usize);
        let next = items.last().filter(|_| more).map(|entry| entry.id);
        Ok(Page { items, next })
    }
}
