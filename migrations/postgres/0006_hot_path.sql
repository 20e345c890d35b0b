-- Jobs, attempts and events are written by the hundred, thousands a second. What a foreign key looks up once a row
-- is looked up once a statement there: creating holds the tenant (FOR KEY SHARE) until its commit, an attempt is
-- written by the statement that ends its job, and prune removes both. Whoever comes to delete tenants or
-- definitions must look for their jobs first.
ALTER TABLE jobs DROP CONSTRAINT jobs_tenant_id_fkey, DROP CONSTRAINT jobs_definition_id_fkey;
ALTER TABLE job_attempts DROP CONSTRAINT job_attempts_job_number_fkey;

-- An event is named by its tenant and cursor (LiveEvent::uuid); drawing random bytes for each was a good part of
-- what an event cost.
ALTER TABLE job_events DROP COLUMN event_uuid;

-- The columns beside the expression let a count of what is due or scheduled be answered by the index alone.
DROP INDEX jobs_lane;
CREATE INDEX jobs_lane ON jobs
    (tenant_id, domain, queue, job_type, priority, (COALESCE(available_at, created_at)), number)
    INCLUDE (available_at, created_at) WHERE status = 'queued';

-- "Newest first" has this index alone: a list ordered by -number cannot be answered by the primary key, which the
-- planner would otherwise walk backwards past every other tenant's jobs.
DROP INDEX jobs_list;
CREATE INDEX jobs_list ON jobs (tenant_id, status, (-number));
