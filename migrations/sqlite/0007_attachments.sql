-- Files that jobs leave behind, in the database: durable with the job, and within reach of every process.
CREATE TABLE job_attachments (
    id            TEXT PRIMARY KEY,
    tenant_id     TEXT NOT NULL,
    job_number    INTEGER NOT NULL REFERENCES jobs (number) ON DELETE CASCADE,
    name          TEXT NOT NULL,
    content_type  TEXT NOT NULL,
    size          INTEGER NOT NULL,
    sha256        TEXT NOT NULL,
    -- The attempt that wrote it.
    attempt       INTEGER NOT NULL,
    created_at    TEXT NOT NULL,
    content       BLOB NOT NULL,
    CONSTRAINT job_attachments_name_key UNIQUE (job_number, name)
) STRICT;
