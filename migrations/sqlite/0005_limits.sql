-- What limits at the door are counted from.

-- How many jobs of one owner wait or run; domain to narrow it.
CREATE INDEX jobs_active_owner ON jobs (owner_user_id, domain)
    WHERE owner_user_id IS NOT NULL AND status IN ('queued', 'processing');
-- How many jobs wait in one queue, over all tenants.
CREATE INDEX job_counters_queue ON job_counters (domain, queue);

-- How many jobs came in per minute (epoch seconds / 60), for each extent that has a rate. Creators remove old minutes.
CREATE TABLE job_submits (
    minute   INTEGER NOT NULL,
    scope    TEXT NOT NULL,
    submits  INTEGER NOT NULL,
    PRIMARY KEY (minute, scope)
) STRICT;
