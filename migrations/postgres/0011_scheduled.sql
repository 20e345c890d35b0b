-- Jobs that wait for a time, apart from those that are simply ready: counting the few must not walk the many.
CREATE INDEX jobs_scheduled ON jobs (available_at, tenant_id, domain, queue, job_type)
    WHERE status = 'queued' AND available_at IS NOT NULL;
