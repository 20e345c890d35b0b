//! Many jobs repeated: each gets a new job that names it as parent and asks for the same work.

use crate::{create::insert, steered::Order};
use leasehold_queue::params::NewJob;
use leasehold_types::{DefinitionId, JobId, Source, TenantId};
use serde_json::json;
use sqlx::PgConnection;
use uuid::Uuid;

/// How many new jobs were made. A job whose kind is switched off gets none.
pub(super) async fn retry(
    connection: &mut PgConnection,
    numbers: &[i64],
    order: &Order<'_>,
) -> Result<usize, sqlx::Error> {
    let repeats = repeats_of(connection, numbers, order).await?;
    let repeats: Vec<&NewJob> = repeats.iter().collect();
    let inserted = insert::jobs(connection, order.scope, &repeats, order.now, order.outbox).await?;
    Ok(inserted.len())
}

/// New jobs for those whose definition may be used, in the order of their numbers.
async fn repeats_of(
    connection: &mut PgConnection,
    numbers: &[i64],
    order: &Order<'_>,
) -> Result<Vec<NewJob>, sqlx::Error> {
    let rows = sqlx::query!(
        "SELECT j.number, j.tenant_id, j.domain, j.queue, j.job_type, j.definition_id, j.owner_user_id,
                j.project_id, j.priority, j.payload, j.dedupe_key, j.concurrency_key, j.correlation_id,
                j.max_attempts
         FROM jobs j JOIN job_definitions d ON d.id = j.definition_id
         WHERE j.number = ANY($1) AND d.is_active
         ORDER BY j.number",
        numbers
    )
    .fetch_all(connection)
    .await?;
    let repeats = rows.into_iter().map(|row| NewJob {
        id: JobId(Uuid::now_v7()),
        tenant_id: TenantId(row.tenant_id),
        domain: row.domain,
        queue: row.queue,
        job_type: row.job_type,
        definition_id: row.definition_id.map(DefinitionId),
        owner_user_id: row.owner_user_id,
        project_id: row.project_id,
        source: Source::Manual,
        source_ref: None,
        priority: row.priority,
        payload: row.payload,
        metadata: json!({}),
        dedupe_key: row.dedupe_key,
        idempotency: None,
        concurrency_key: row.concurrency_key,
        correlation_id: row.correlation_id,
        request_id: None,
        trace_id: Uuid::new_v4().simple().to_string(),
        requested_by: order.scope.actor.to_string(),
        parent: Some(row.number),
        max_attempts: row.max_attempts,
        available_at: None,
    });
    Ok(repeats.collect())
}
