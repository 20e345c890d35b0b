-- Plans, sweeps and the archive.

CREATE TABLE bulk_operations (
    id              TEXT PRIMARY KEY,
    -- None = all tenants.
    tenant_id       TEXT REFERENCES tenants (id) ON DELETE CASCADE,
    action          TEXT NOT NULL,
    -- What only some actions need: the moment of a reschedule, whether a prune archives.
    parameters      TEXT NOT NULL,
    -- The filter exactly as it was planned; applying uses it again.
    filter          TEXT NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('planned', 'applying', 'done', 'aborted')),
    reason          TEXT NOT NULL,
    actor           TEXT NOT NULL,
    planned         INTEGER NOT NULL,
    groups          TEXT NOT NULL,
    sample          TEXT NOT NULL,
    highest_number  INTEGER NOT NULL,
    -- The highest number already looked at.
    reached         INTEGER NOT NULL DEFAULT 0,
    changed         INTEGER NOT NULL DEFAULT 0,
    skipped         INTEGER NOT NULL DEFAULT 0,
    created_at      TEXT NOT NULL,
    expires_at      TEXT NOT NULL,
    finished_at     TEXT
) STRICT;
CREATE INDEX bulk_operations_tenant ON bulk_operations (tenant_id, created_at);

-- A pruned job as it was, whole: readable for ever, restorable by nobody into the queue.
CREATE TABLE jobs_archive (
    number        INTEGER PRIMARY KEY,
    id            TEXT NOT NULL CONSTRAINT jobs_archive_id_key UNIQUE,
    tenant_id     TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    domain        TEXT NOT NULL,
    queue         TEXT NOT NULL,
    job_type      TEXT NOT NULL,
    status        TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    completed_at  TEXT,
    -- The job's row and its attempts, as JSON.
    job           TEXT NOT NULL,
    attempts      TEXT NOT NULL,
    archived_at   TEXT NOT NULL
) STRICT;
CREATE INDEX jobs_archive_tenant ON jobs_archive (tenant_id, number);
