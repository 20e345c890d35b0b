-- Plans, sweeps and the archive.

CREATE TABLE bulk_operations (
    id              UUID PRIMARY KEY,
    -- None = all tenants.
    tenant_id       UUID REFERENCES tenants (id) ON DELETE CASCADE,
    action          TEXT NOT NULL,
    -- What only some actions need: the moment of a reschedule, whether a prune archives.
    parameters      JSONB NOT NULL,
    -- The filter exactly as it was planned; applying uses it again.
    filter          JSONB NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('planned', 'applying', 'done', 'aborted')),
    reason          TEXT NOT NULL,
    actor           TEXT NOT NULL,
    planned         BIGINT NOT NULL,
    groups          JSONB NOT NULL,
    sample          JSONB NOT NULL,
    highest_number  BIGINT NOT NULL,
    -- The highest number already looked at.
    reached         BIGINT NOT NULL DEFAULT 0,
    changed         BIGINT NOT NULL DEFAULT 0,
    skipped         BIGINT NOT NULL DEFAULT 0,
    created_at      TIMESTAMPTZ NOT NULL,
    expires_at      TIMESTAMPTZ NOT NULL,
    finished_at     TIMESTAMPTZ
);
CREATE INDEX bulk_operations_tenant ON bulk_operations (tenant_id, created_at);

-- A pruned job as it was, whole: readable for ever, restorable by nobody into the queue.
CREATE TABLE jobs_archive (
    number        BIGINT PRIMARY KEY,
    id            UUID NOT NULL CONSTRAINT jobs_archive_id_key UNIQUE,
    tenant_id     UUID NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    domain        TEXT NOT NULL,
    queue         TEXT NOT NULL,
    job_type      TEXT NOT NULL,
    status        TEXT NOT NULL,
    created_at    TIMESTAMPTZ NOT NULL,
    completed_at  TIMESTAMPTZ,
    -- The job's row and its attempts, as JSON.
    job           JSONB NOT NULL,
    attempts      JSONB NOT NULL,
    archived_at   TIMESTAMPTZ NOT NULL
);
CREATE INDEX jobs_archive_tenant ON jobs_archive (tenant_id, number);
