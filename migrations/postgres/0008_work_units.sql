-- Composite jobs: calls that are rows, and the providers that answer them.

CREATE TABLE providers (
    name                 TEXT PRIMARY KEY,
    kind                 TEXT NOT NULL CHECK (kind IN ('llm', 'ocr')),
    is_local             BOOLEAN NOT NULL,
    requests_per_second  DOUBLE PRECISION NOT NULL CHECK (requests_per_second > 0),
    max_concurrency      INTEGER NOT NULL CHECK (max_concurrency > 0),
    max_retries          INTEGER NOT NULL CHECK (max_retries >= 0),
    retry_delay_seconds  DOUBLE PRECISION NOT NULL CHECK (retry_delay_seconds >= 0),
    is_active            BOOLEAN NOT NULL DEFAULT TRUE,
    -- The whole state of the rate limit: no call may begin before this. Whoever claims locks the row and moves it.
    next_free_at         TIMESTAMPTZ,
    last_used_at         TIMESTAMPTZ,
    -- Jobs that asked in vain, first come first: [number, until when the others stand back for it].
    waiting              JSONB NOT NULL DEFAULT '[]',
    created_at           TIMESTAMPTZ NOT NULL,
    updated_at           TIMESTAMPTZ NOT NULL
);

CREATE TABLE work_units (
    id             UUID PRIMARY KEY,
    job_number     BIGINT NOT NULL REFERENCES jobs (number) ON DELETE CASCADE,
    tenant_id      UUID NOT NULL,
    -- The order in which the job asked for it.
    seq            BIGINT NOT NULL,
    name           TEXT NOT NULL,
    kind           TEXT NOT NULL CHECK (kind IN ('llm', 'ocr')),
    -- Whom it asks for; empty = anybody of its kind.
    wanted         TEXT NOT NULL,
    -- Who runs or ran it.
    provider       TEXT,
    state          TEXT NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'dropped')),
    request        JSONB NOT NULL,
    result         JSONB,
    error_code     TEXT,
    error_message  TEXT,
    attempts       INTEGER NOT NULL DEFAULT 0,
    available_at   TIMESTAMPTZ,
    -- The lease of its job under which it runs: once the job has another, nobody works on it any more.
    lease_id       UUID,
    created_at     TIMESTAMPTZ NOT NULL,
    started_at     TIMESTAMPTZ,
    finished_at    TIMESTAMPTZ,
    CONSTRAINT work_units_seq_key UNIQUE (job_number, seq),
    CHECK ((state = 'running') = (lease_id IS NOT NULL))
);
-- Permits are counted from these.
CREATE INDEX work_units_running ON work_units (provider) WHERE state = 'running';
-- What a sweep looks through.
CREATE INDEX work_units_open ON work_units (job_number) WHERE state IN ('queued', 'running');
