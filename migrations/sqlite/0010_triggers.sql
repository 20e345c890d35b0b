-- Triggers: a tenant's rules that create jobs, the events they hear, and what came of each firing.

CREATE TABLE job_triggers (
    id                     TEXT PRIMARY KEY,
    tenant_id              TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    label                  TEXT NOT NULL,
    is_enabled             INTEGER NOT NULL DEFAULT 1,
    trigger_type           TEXT NOT NULL CHECK (trigger_type IN ('event', 'schedule')),
    event_name             TEXT,
    event_filter           TEXT NOT NULL DEFAULT '{}',
    cron_expr              TEXT,
    timezone               TEXT,
    catch_up               TEXT NOT NULL DEFAULT 'once' CHECK (catch_up IN ('skip', 'once', 'all')),
    definition_id          TEXT NOT NULL REFERENCES job_definitions (id) ON DELETE RESTRICT,
    payload_template       TEXT NOT NULL DEFAULT '{}',
    dedupe_window_seconds  INTEGER NOT NULL DEFAULT 300 CHECK (dedupe_window_seconds >= 0),
    -- Grows with every change a person makes: a firing prepared before the change is not written after it.
    revision               INTEGER NOT NULL DEFAULT 1,
    -- The oldest time that has not been dealt with.
    next_due_at            TEXT,
    last_fired_for         TEXT,
    last_fired_at          TEXT,
    last_error             TEXT,
    created_by             TEXT REFERENCES users (id) ON DELETE SET NULL,
    created_at             TEXT NOT NULL,
    updated_at             TEXT NOT NULL,
    -- Its firings are kept for people to read.
    deleted_at             TEXT,
    CHECK (
        (trigger_type = 'event' AND event_name IS NOT NULL AND cron_expr IS NULL)
        OR (trigger_type = 'schedule' AND cron_expr IS NOT NULL AND timezone IS NOT NULL AND event_name IS NULL)
    ),
    CHECK (next_due_at IS NULL OR (trigger_type = 'schedule' AND is_enabled AND deleted_at IS NULL))
) STRICT;
CREATE INDEX idx_job_triggers_tenant_enabled ON job_triggers (tenant_id, is_enabled);
CREATE INDEX idx_job_triggers_event ON job_triggers (tenant_id, event_name)
    WHERE trigger_type = 'event' AND deleted_at IS NULL;
-- All that the scheduler looks at.
CREATE INDEX job_triggers_due ON job_triggers (next_due_at) WHERE next_due_at IS NOT NULL;
CREATE INDEX job_triggers_definition ON job_triggers (definition_id);

CREATE TABLE app_events (
    id            TEXT PRIMARY KEY,
    tenant_id     TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    -- The sender's own name for it: the same again is the same event.
    event_id      TEXT NOT NULL,
    name          TEXT NOT NULL,
    payload       TEXT NOT NULL,
    payload_hash  TEXT NOT NULL,
    received_at   TEXT NOT NULL,
    CONSTRAINT app_events_event_id_key UNIQUE (tenant_id, event_id)
) STRICT;
CREATE INDEX app_events_age ON app_events (received_at);

CREATE TABLE trigger_firings (
    id            TEXT PRIMARY KEY,
    trigger_id    TEXT NOT NULL REFERENCES job_triggers (id) ON DELETE CASCADE,
    tenant_id     TEXT NOT NULL,
    -- What made it fire; neither = a person.
    due_at        TEXT,
    app_event     TEXT REFERENCES app_events (id) ON DELETE CASCADE,
    outcome       TEXT NOT NULL
        CHECK (outcome IN ('enqueued', 'deduplicated', 'disabled', 'filtered', 'refused', 'missed')),
    code          TEXT,
    detail        TEXT,
    -- Of the job's payload; the same again within the trigger's window makes no second job.
    payload_hash  TEXT,
    job_number    INTEGER,
    job_id        TEXT,
    fired_at      TEXT NOT NULL,
    CHECK (due_at IS NULL OR app_event IS NULL),
    CONSTRAINT trigger_firings_due_key UNIQUE (trigger_id, due_at),
    CONSTRAINT trigger_firings_event_key UNIQUE (trigger_id, app_event)
) STRICT;
CREATE INDEX trigger_firings_event ON trigger_firings (app_event) WHERE app_event IS NOT NULL;
CREATE INDEX trigger_firings_newest ON trigger_firings (trigger_id, fired_at DESC);
CREATE INDEX trigger_firings_window ON trigger_firings (trigger_id, payload_hash, fired_at)
    WHERE outcome = 'enqueued' AND payload_hash IS NOT NULL;
CREATE INDEX trigger_firings_age ON trigger_firings (fired_at);
