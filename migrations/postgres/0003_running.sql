-- Processes and what steers them.

CREATE TABLE job_workers (
    worker_id      TEXT PRIMARY KEY,
    hostname       TEXT NOT NULL,
    version        TEXT NOT NULL DEFAULT '',
    -- Lanes it serves, as 'domain/queue' with '*' for any.
    queues         JSONB NOT NULL DEFAULT '[]',
    -- Keys it can run.
    commands       JSONB NOT NULL DEFAULT '[]',
    running_count  INTEGER NOT NULL DEFAULT 0,
    metadata       JSONB NOT NULL DEFAULT '{}',
    started_at     TIMESTAMPTZ NOT NULL,
    last_seen_at   TIMESTAMPTZ NOT NULL
);

CREATE TABLE job_queue_controls (
    domain      TEXT NOT NULL,
    queue       TEXT NOT NULL,
    paused      BOOLEAN NOT NULL DEFAULT FALSE,
    draining    BOOLEAN NOT NULL DEFAULT FALSE,
    changed_by  TEXT NOT NULL,
    reason      TEXT,
    updated_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (domain, queue)
);

-- SQLite's leader lock; Postgres uses advisory locks and only records here who leads, for people to see.
CREATE TABLE leader_locks (
    name        TEXT PRIMARY KEY,
    holder      TEXT NOT NULL,
    expires_at  TIMESTAMPTZ NOT NULL
);
