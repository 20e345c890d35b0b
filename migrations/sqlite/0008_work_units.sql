-- Composite jobs: calls that are rows, and the providers that answer them.

CREATE TABLE providers (
    name                 TEXT PRIMARY KEY,
    kind                 TEXT NOT NULL CHECK (kind IN ('llm', 'ocr')),
    is_local             INTEGER NOT NULL,
    requests_per_second  REAL NOT NULL CHECK (requests_per_second > 0),
    max_concurrency      INTEGER NOT NULL CHECK (max_concurrency > 0),
    max_retries          INTEGER NOT NULL CHECK (max_retries >= 0),
    retry_delay_seconds  REAL NOT NULL CHECK (retry_delay_seconds >= 0),
    is_active            INTEGER NOT NULL DEFAULT 1,
    -- The whole state of the rate limit: no call may begin before this. Whoever claims locks the row and moves it.
    next_free_at         TEXT,
    last_used_at         TEXT,
    -- Jobs that asked in vain, first come first: [number, until when the others stand back for it].
    waiting              TEXT NOT NULL DEFAULT '[]',
    created_at           TEXT NOT NULL,
    updated_at           TEXT NOT NULL
) STRICT;

CREATE TABLE work_units (
    id             TEXT PRIMARY KEY,
    job_number     INTEGER NOT NULL REFERENCES jobs (number) ON DELETE CASCADE,
    tenant_id      TEXT NOT NULL,
    -- The order in which the job asked for it.
    seq            INTEGER NOT NULL,
    name           TEXT NOT NULL,
    kind           TEXT NOT NULL CHECK (kind IN ('llm', 'ocr')),
    -- Whom it asks for; empty = anybody of its kind.
    wanted         TEXT NOT NULL,
    -- Who runs or ran it.
    provider       TEXT,
    state          TEXT NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'dropped')),
    request        TEXT NOT NULL,
    result         TEXT,
    error_code     TEXT,
    error_message  TEXT,
    attempts       INTEGER NOT NULL DEFAULT 0,
    available_at   TEXT,
    -- The lease of its job under which it runs: once the job has another, nobody works on it any more.
    lease_id       TEXT,
    created_at     TEXT NOT NULL,
    started_at     TEXT,
    finished_at    TEXT,
    CONSTRAINT work_units_seq_key UNIQUE (job_number, seq),
    CHECK ((state = 'running') = (lease_id IS NOT NULL))
) STRICT;
-- Permits are counted from these.
CREATE INDEX work_units_running ON work_units (provider) WHERE state = 'running';
-- What a sweep looks through.
CREATE INDEX work_units_open ON work_units (job_number) WHERE state IN ('queued', 'running');
