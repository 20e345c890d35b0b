-- Processes and what steers them.

CREATE TABLE job_workers (
    worker_id      TEXT PRIMARY KEY,
    hostname       TEXT NOT NULL,
    version        TEXT NOT NULL DEFAULT '',
    -- Lanes it serves, as 'domain/queue' with '*' for any.
    queues         TEXT NOT NULL DEFAULT '[]',
    -- Keys it can run.
    commands       TEXT NOT NULL DEFAULT '[]',
    running_count  INTEGER NOT NULL DEFAULT 0,
    metadata       TEXT NOT NULL DEFAULT '{}',
    started_at     TEXT NOT NULL,
    last_seen_at   TEXT NOT NULL
) STRICT;

CREATE TABLE job_queue_controls (
    domain      TEXT NOT NULL,
    queue       TEXT NOT NULL,
    paused      INTEGER NOT NULL DEFAULT 0,
    draining    INTEGER NOT NULL DEFAULT 0,
    changed_by  TEXT NOT NULL,
    reason      TEXT,
    updated_at  TEXT NOT NULL,
    PRIMARY KEY (domain, queue)
) STRICT;

-- SQLite's leader lock; Postgres uses advisory locks and only records here who leads, for people to see.
CREATE TABLE leader_locks (
    name        TEXT PRIMARY KEY,
    holder      TEXT NOT NULL,
    expires_at  TEXT NOT NULL
) STRICT;
