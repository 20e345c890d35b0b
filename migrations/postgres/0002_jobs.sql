-- Definitions, jobs and everything that happens to them.

CREATE TABLE job_definitions (
    id               UUID PRIMARY KEY,
    key              TEXT NOT NULL CONSTRAINT job_definitions_key_key UNIQUE,
    description      TEXT NOT NULL DEFAULT '',
    domain           TEXT NOT NULL,
    job_type         TEXT NOT NULL,
    queue            TEXT NOT NULL DEFAULT 'default',
    executor         TEXT NOT NULL CHECK (executor IN ('command', 'builtin', 'remote')),
    arg_schema       JSONB NOT NULL DEFAULT '{}',
    timeout_seconds  INTEGER NOT NULL DEFAULT 3600 CHECK (timeout_seconds > 0),
    max_attempts     INTEGER NOT NULL DEFAULT 3 CHECK (max_attempts BETWEEN 1 AND 100),
    retry            JSONB NOT NULL DEFAULT '{}',
    stages           JSONB NOT NULL DEFAULT '[]',
    -- Concurrency and in-flight limits of this kind of job.
    limits           JSONB NOT NULL DEFAULT '{}',
    is_active        BOOLEAN NOT NULL DEFAULT TRUE,
    created_at       TIMESTAMPTZ NOT NULL,
    updated_at       TIMESTAMPTZ NOT NULL,
    CONSTRAINT job_definitions_type_key UNIQUE (domain, job_type)
);

CREATE TABLE jobs (
    -- Short, for people; never reused, also not after a prune.
    number                BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id                    UUID NOT NULL CONSTRAINT jobs_id_key UNIQUE,
    tenant_id             UUID NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    domain                TEXT NOT NULL,
    queue                 TEXT NOT NULL,
    job_type              TEXT NOT NULL,
    definition_id         UUID REFERENCES job_definitions (id) ON DELETE RESTRICT,
    owner_user_id         TEXT,
    project_id            BIGINT,
    source                TEXT NOT NULL CHECK (source IN ('manual', 'event', 'schedule', 'system', 'api')),
    source_ref            TEXT,
    status                TEXT NOT NULL CHECK (status IN
                            ('queued', 'processing', 'completed', 'failed', 'cancelled', 'dead_letter', 'quarantined')),
    priority              INTEGER NOT NULL CHECK (priority BETWEEN 1 AND 1000),
    payload               JSONB NOT NULL,
    result                JSONB,
    result_ref            TEXT,
    metadata              JSONB NOT NULL,
    -- What a handler saved for the attempt after it.
    checkpoint            JSONB,
    dedupe_key            TEXT,
    idempotency_key       TEXT,
    concurrency_key       TEXT,
    correlation_id        TEXT,
    request_id            TEXT,
    trace_id              TEXT NOT NULL,
    requested_by          TEXT NOT NULL,
    -- A number, not a reference: the parent may be pruned before the child.
    parent_job_id         BIGINT,
    max_attempts          INTEGER NOT NULL CHECK (max_attempts BETWEEN 1 AND 100),
    attempt_count         INTEGER NOT NULL DEFAULT 0,
    -- attempt_count when the budget was last renewed (a requeue from quarantine): attempt numbers go on counting.
    attempt_base          INTEGER NOT NULL DEFAULT 0,
    available_at          TIMESTAMPTZ,
    created_at            TIMESTAMPTZ NOT NULL,
    queued_at             TIMESTAMPTZ NOT NULL,
    started_at            TIMESTAMPTZ,
    acquired_at           TIMESTAMPTZ,
    completed_at          TIMESTAMPTZ,
    updated_at            TIMESTAMPTZ NOT NULL,
    worker_id             TEXT,
    lease_id              UUID,
    leased_until          TIMESTAMPTZ,
    running_pid           INTEGER,
    completion_token      TEXT,
    stage                 TEXT,
    progress_percent      SMALLINT NOT NULL DEFAULT 0 CHECK (progress_percent BETWEEN 0 AND 100),
    progress_message      TEXT,
    error_code            TEXT,
    error_class           TEXT,
    error_message         TEXT,
    error_stack           TEXT,
    failure_streak_code   TEXT,
    failure_streak_count  INTEGER NOT NULL DEFAULT 0,
    failure_timeline      JSONB NOT NULL DEFAULT '[]',
    quarantined_at        TIMESTAMPTZ,
    cancel_requested_at   TIMESTAMPTZ,
    cancelled_at          TIMESTAMPTZ,
    cancellation_reason   TEXT,
    cancelled_by          TEXT,
    -- A lease belongs to a running job and to no other.
    CHECK ((status = 'processing') = (lease_id IS NOT NULL)),
    CHECK ((lease_id IS NULL) = (leased_until IS NULL) AND (lease_id IS NULL) = (worker_id IS NULL))
) WITH (fillfactor = 80);

-- Claim order inside one lane (tenant, domain, queue, type, priority). Claims walk the lanes, so neither another
-- tenant's backlog, nor a type nobody serves, nor jobs scheduled for later stand in the way of a ready job.
CREATE INDEX jobs_lane ON jobs
    (tenant_id, domain, queue, job_type, priority, (COALESCE(available_at, created_at)), number)
    WHERE status = 'queued';
-- Only the running rows; leased_until is left out on purpose, so that a renewal touches no index.
CREATE INDEX jobs_processing ON jobs (number) WHERE status = 'processing';
-- The only index for lists: "all states" is a merge of the states.
CREATE INDEX jobs_list ON jobs (tenant_id, status, number);
CREATE UNIQUE INDEX jobs_active_dedupe ON jobs (tenant_id, dedupe_key)
    WHERE dedupe_key IS NOT NULL AND status IN ('queued', 'processing');
CREATE INDEX jobs_active_concurrency ON jobs (tenant_id, domain, job_type, concurrency_key)
    WHERE concurrency_key IS NOT NULL AND status IN ('queued', 'processing');
CREATE INDEX jobs_parent ON jobs (parent_job_id) WHERE parent_job_id IS NOT NULL;

-- Written once, when an execution ends; the running one is read off the job's own row.
CREATE TABLE job_attempts (
    job_number   BIGINT NOT NULL REFERENCES jobs (number) ON DELETE CASCADE,
    attempt      INTEGER NOT NULL,
    tenant_id    UUID NOT NULL,
    worker_id    TEXT NOT NULL,
    pid          INTEGER,
    outcome      TEXT NOT NULL CHECK (outcome IN
                   ('running', 'succeeded', 'failed', 'timeout', 'cancelled', 'lost', 'released')),
    started_at   TIMESTAMPTZ NOT NULL,
    finished_at  TIMESTAMPTZ,
    exit_code    INTEGER,
    error_code   TEXT,
    error_text   TEXT,
    stdout_tail  TEXT,
    stderr_tail  TEXT,
    PRIMARY KEY (job_number, attempt)
);

CREATE TABLE job_logs (
    job_number  BIGINT NOT NULL REFERENCES jobs (number) ON DELETE CASCADE,
    attempt     INTEGER NOT NULL,
    seq         BIGINT NOT NULL,
    tenant_id   UUID NOT NULL,
    stream      TEXT NOT NULL CHECK (stream IN ('stdout', 'stderr', 'system')),
    line        TEXT NOT NULL,
    created_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (job_number, attempt, seq)
);

-- The outbox. No foreign key to jobs: events outlive a pruned job until their own retention ends.
CREATE TABLE job_events (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_uuid  UUID NOT NULL DEFAULT gen_random_uuid(),
    tenant_id   UUID NOT NULL,
    job_number  BIGINT NOT NULL,
    domain      TEXT NOT NULL,
    queue       TEXT NOT NULL,
    job_type    TEXT NOT NULL,
    kind        TEXT NOT NULL,
    status      TEXT NOT NULL,
    attempt     INTEGER NOT NULL,
    progress    SMALLINT NOT NULL,
    -- stage, message, error_code, worker, … : what only some kinds carry.
    attrs       JSONB,
    created_at  TIMESTAMPTZ NOT NULL
);

-- Folded counts. Writers never touch this table (they would queue up behind one row): they append deltas.
CREATE TABLE job_counters (
    tenant_id  UUID NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    domain     TEXT NOT NULL,
    queue      TEXT NOT NULL,
    job_type   TEXT NOT NULL,
    status     TEXT NOT NULL,
    jobs       BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, domain, queue, job_type, status)
);

CREATE TABLE job_counter_deltas (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id   UUID NOT NULL,
    domain      TEXT NOT NULL,
    queue       TEXT NOT NULL,
    job_type    TEXT NOT NULL,
    status      TEXT NOT NULL,
    delta       BIGINT NOT NULL,
    -- The five-second slot it belongs to, for throughput.
    slot        BIGINT NOT NULL
);

-- How many jobs came to each finished state per five-second slot (epoch seconds / 5), for charts; kept for a day.
CREATE TABLE job_rates (
    tenant_id  UUID NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    slot       BIGINT NOT NULL,
    domain     TEXT NOT NULL,
    queue      TEXT NOT NULL,
    status     TEXT NOT NULL,
    jobs       BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, slot, domain, queue, status)
);

CREATE TABLE job_idempotency (
    tenant_id     UUID NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    domain        TEXT NOT NULL,
    queue         TEXT NOT NULL,
    job_type      TEXT NOT NULL,
    key           TEXT NOT NULL,
    payload_hash  TEXT NOT NULL,
    job_number    BIGINT NOT NULL REFERENCES jobs (number) ON DELETE CASCADE,
    created_at    TIMESTAMPTZ NOT NULL,
    expires_at    TIMESTAMPTZ,
    PRIMARY KEY (tenant_id, domain, queue, job_type, key)
);
CREATE INDEX job_idempotency_job ON job_idempotency (job_number);
