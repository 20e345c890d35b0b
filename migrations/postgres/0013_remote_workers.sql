-- Workers over HTTP belong to a key, which may have only so many of them.
ALTER TABLE job_workers ADD COLUMN key_prefix TEXT;
CREATE INDEX job_workers_key ON job_workers (key_prefix) WHERE key_prefix IS NOT NULL;

-- Where an attempt failed, as its worker told it.
ALTER TABLE job_attempts ADD COLUMN error_stack TEXT;

-- The stages its attempts went through, as [{"attempt": 1, "stage": "…", "at": "…"}], in order.
ALTER TABLE jobs ADD COLUMN stage_log JSONB;
