//! Many jobs repeated: each gets a new job that names it as parent and asks for the same work.

use crate::{
    create,
    error::Outcome,
    keys,
    read::JOBS,
    steered::{Order, Steered, numbers_of},
};
use leasehold_queue::params::NewJob;
use leasehold_types::Source;
use sqlx::SqliteConnection;

/// How many new jobs were made. A job whose dedupe key is taken, or whose kind is switched off, gets none.
pub(super) async fn retry(
    connection: &mut SqliteConnection,
    jobs: &[&Steered],
    order: &Order<'_>,
) -> Outcome<usize> {
    let repeats = repeats_of(connection, jobs, order).await?;
    let mut known = keys::look_up(connection, &repeats, order.now).await?;
    let mut new = Vec::with_capacity(repeats.len());
    for repeat in &repeats {
        if known.active(repeat).is_none() {
            known.remember(repeat, new.len());
            new.push(repeat);
        }
    }
    create::insert_all(connection, order.scope, &new, order.now).await?;
    Ok(new.len())
}

/// New jobs for those whose definition may be used, in the order of their numbers.
async fn repeats_of(
    connection: &mut SqliteConnection,
    jobs: &[&Steered],
    order: &Order<'_>,
) -> Outcome<Vec<NewJob>> {
    let numbers = numbers_of(jobs)?;
    let rows = sqlx::query!(
        r#"SELECT j.number AS "number!: i64", j.tenant_id, j.domain, j.queue, j.job_type, j.definition_id,
                  j.owner_user_id, j.project_id, j.priority, j.payload, j.dedupe_key, j.concurrency_key,
                  j.correlation_id, j.max_attempts
           FROM jobs j JOIN job_definitions d ON d.id = j.definition_id
           WHERE j.number IN (SELECT value FROM json_each(?1)) AND d.is_active
           ORDER BY j.number"#,
        numbers
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            let tenant = JOBS.parse("tenant_id", &row.tenant_id)?;
            let payload = JOBS.json("payload", &row.payload)?;
            Ok(NewJob {
                queue: row.queue,
                definition_id: JOBS.parse_opt("definition_id", row.definition_id.as_deref())?,
                owner_user_id: row.owner_user_id,
                project_id: row.project_id,
                source: Source::Manual,
                priority: JOBS.int("priority", row.priority)?,
                dedupe_key: row.dedupe_key,
                concurrency_key: row.concurrency_key,
                correlation_id: row.correlation_id,
                requested_by: order.scope.actor.to_string(),
                parent: Some(row.number),
                max_attempts: JOBS.int("max_attempts", row.max_attempts)?,
                ..NewJob::new(tenant, row.domain, row.job_type, payload)
            })
        })
        .collect()
}
