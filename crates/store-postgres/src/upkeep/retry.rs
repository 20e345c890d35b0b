//! Many jobs repeated: each gets a new job that names it as parent and asks for the same work.

use crate::{create::insert, steered::Order};
use leasehold_queue::params::NewJob;
use leasehold_types::{DefinitionId, Source, TenantId};
use sqlx::PgConnection;

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
        queue: row.queue,
        definition_id: row.definition_id.map(DefinitionId),
        owner_user_id: row.owner_user_id,
        project_id: row.project_id,
        source: Source::Manual,
        priority: row.priority,
        dedupe_key: row.dedupe_key,
        concurrency_key: row.concurrency_key,
        correlation_id: row.correlation_id,
        requested_by: order.scope.actor.to_string(),
        parent: Some(row.number),
        max_attempts: row.max_attempts,
        ..NewJob::new(TenantId(row.tenant_id), row.domain, row.job_type, row.payload)
    });
    Ok(repeats.collect())
}
