//! The lanes with queued jobs: (tenant, domain, queue, type, priority), found by skipping from lane to lane in
//! the index `jobs_lane`, so the cost is one probe per lane however long the lanes are.

use crate::error::Outcome;
use sqlx::SqliteConnection;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Lane {
    pub tenant_id: String,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
    pub priority: i64,
    /// Since when its first job may run.
    pub due_since: String,
    /// Its queue is paused or draining, or its kind switched off: claims pass by.
    pub closed: bool,
    /// Its tenant or its kind has a limit that claims must look at.
    pub limited: bool,
}

/// Every lane, or those of one tenant, in the order of the index.
pub(crate) async fn all(connection: &mut SqliteConnection, tenant: Option<&str>) -> Outcome<Vec<Lane>> {
    // From one lane to the next by the first of five steps that finds one: another priority, another type, and so on.
    // Each is a single inequality, by which SQLite leaps over the rest of a lane; a comparison of whole rows would
    // be shorter to write, but SQLite walks through every job of the lane for it.
    let lanes = sqlx::query_as!(
        Lane,
        r#"WITH RECURSIVE head (number) AS (
             SELECT (SELECT number FROM jobs
                     WHERE status = 'queued' AND tenant_id >= COALESCE(?1, '')
                     ORDER BY tenant_id, domain, queue, job_type, priority,
                              COALESCE(available_at, created_at), number
                     LIMIT 1)
             UNION ALL
             SELECT COALESCE(
               (SELECT n.number FROM jobs n
                WHERE n.status = 'queued' AND n.tenant_id = h.tenant_id AND n.domain = h.domain
                  AND n.queue = h.queue AND n.job_type = h.job_type AND n.priority > h.priority
                ORDER BY n.priority, COALESCE(n.available_at, n.created_at), n.number LIMIT 1),
               (SELECT n.number FROM jobs n
                WHERE n.status = 'queued' AND n.tenant_id = h.tenant_id AND n.domain = h.domain
                  AND n.queue = h.queue AND n.job_type > h.job_type
                ORDER BY n.job_type, n.priority, COALESCE(n.available_at, n.created_at), n.number LIMIT 1),
               (SELECT n.number FROM jobs n
                WHERE n.status = 'queued' AND n.tenant_id = h.tenant_id AND n.domain = h.domain
                  AND n.queue > h.queue
                ORDER BY n.queue, n.job_type, n.priority, COALESCE(n.available_at, n.created_at), n.number LIMIT 1),
               (SELECT n.number FROM jobs n
                WHERE n.status = 'queued' AND n.tenant_id = h.tenant_id AND n.domain > h.domain
                ORDER BY n.domain, n.queue, n.job_type, n.priority, COALESCE(n.available_at, n.created_at),
                         n.number LIMIT 1),
               (SELECT n.number FROM jobs n
                WHERE n.status = 'queued' AND n.tenant_id > h.tenant_id AND ?1 IS NULL
                ORDER BY n.tenant_id, n.domain, n.queue, n.job_type, n.priority,
                         COALESCE(n.available_at, n.created_at), n.number LIMIT 1))
             FROM head JOIN jobs h ON h.number = head.number
           )
           SELECT j.tenant_id AS "tenant_id!: String", j.domain AS "domain!: String", j.queue AS "queue!: String",
                  j.job_type AS "job_type!: String", j.priority AS "priority!: i64",
                  COALESCE(j.available_at, j.created_at) AS "due_since!: String",
                  EXISTS (SELECT 1 FROM job_queue_controls c
                          WHERE c.domain = j.domain AND c.queue = j.queue AND (c.paused OR c.draining))
                  OR EXISTS (SELECT 1 FROM job_definitions f
                             WHERE f.domain = j.domain AND f.job_type = j.job_type AND NOT f.is_active)
                    AS "closed!: bool",
                  EXISTS (SELECT 1 FROM tenants t
                          WHERE t.id = j.tenant_id AND t.limits ->> 'max_in_flight' IS NOT NULL)
                  OR EXISTS (SELECT 1 FROM job_definitions f
                             WHERE f.domain = j.domain AND f.job_type = j.job_type
                               AND (f.limits ->> 'max_in_flight' IS NOT NULL
                                    OR f.limits ->> 'max_in_flight_per_tenant' IS NOT NULL
                                    OR f.limits ->> 'max_active_per_key' IS NOT NULL
                                       AND COALESCE(f.limits ->> 'key_mode', 'wait') = 'wait'))
                    AS "limited!: bool"
           FROM head JOIN jobs j ON j.number = head.number
           WHERE ?1 IS NULL OR j.tenant_id = ?1"#,
        tenant
    )
    .fetch_all(connection)
    .await?;
    Ok(lanes)
}
