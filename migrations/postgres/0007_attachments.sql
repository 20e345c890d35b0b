-- Files that jobs leave behind, in the database: durable with the job, and within reach of every machine.
CREATE TABLE job_attachments (
    id            UUID PRIMARY KEY,
    tenant_id     UUID NOT NULL,
    job_number    BIGINT NOT NULL REFERENCES jobs (number) ON DELETE CASCADE,
    name          TEXT NOT NULL,
    content_type  TEXT NOT NULL,
    size          BIGINT NOT NULL,
    sha256        TEXT NOT NULL,
    -- The attempt that wrote it.
    attempt       INTEGER NOT NULL,
    created_at    TIMESTAMPTZ NOT NULL,
    content       BYTEA NOT NULL,
    CONSTRAINT job_attachments_name_key UNIQUE (job_number, name)
);
