-- Tenants and the people and programs that may act in them.
-- Times are always set by the statements themselves: a database default would ignore the frozen test clock.

CREATE TABLE tenants (
    id          UUID PRIMARY KEY,
    slug        TEXT NOT NULL CONSTRAINT tenants_slug_key UNIQUE CHECK (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    name        TEXT NOT NULL,
    timezone    TEXT NOT NULL,
    limits      JSONB NOT NULL DEFAULT '{}',
    created_at  TIMESTAMPTZ NOT NULL,
    updated_at  TIMESTAMPTZ NOT NULL
);

CREATE TABLE users (
    id             UUID PRIMARY KEY,
    -- Lower-cased by the application before it comes here.
    email          TEXT NOT NULL CONSTRAINT users_email_key UNIQUE,
    name           TEXT NOT NULL,
    password_hash  TEXT NOT NULL,
    super_admin    BOOLEAN NOT NULL,
    created_at     TIMESTAMPTZ NOT NULL,
    updated_at     TIMESTAMPTZ NOT NULL
);

CREATE TABLE memberships (
    tenant_id   UUID NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    user_id     UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role        TEXT NOT NULL CHECK (role IN ('admin', 'viewer')),
    created_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (user_id, tenant_id)
);

CREATE TABLE sessions (
    -- SHA-256 of the cookie's id: reading this table gives nobody a session.
    id          TEXT PRIMARY KEY,
    user_id     UUID REFERENCES users (id) ON DELETE CASCADE,
    data        JSONB NOT NULL,
    created_at  TIMESTAMPTZ NOT NULL,
    expires_at  TIMESTAMPTZ NOT NULL
);
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE api_keys (
    id            UUID PRIMARY KEY,
    tenant_id     UUID NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    name          TEXT NOT NULL,
    prefix        TEXT NOT NULL CONSTRAINT api_keys_prefix_key UNIQUE,
    -- SHA-256, hex. The secret has 256 random bits, so a slow hash would add nothing.
    secret_hash   TEXT NOT NULL,
    scopes        JSONB NOT NULL,
    created_by    TEXT NOT NULL,
    created_at    TIMESTAMPTZ NOT NULL,
    expires_at    TIMESTAMPTZ,
    revoked_at    TIMESTAMPTZ,
    last_used_at  TIMESTAMPTZ
);
CREATE INDEX api_keys_tenant ON api_keys (tenant_id);

-- Facts about this installation, such as the hash of the one-time setup token.
CREATE TABLE instance_settings (
    key         TEXT PRIMARY KEY,
    value       TEXT NOT NULL,
    expires_at  TIMESTAMPTZ
);

CREATE TABLE audit_log (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id   UUID REFERENCES tenants (id) ON DELETE CASCADE,
    actor       TEXT NOT NULL,
    action      TEXT NOT NULL,
    -- What it was done to: 'job' and its number, 'tenant' and its slug, …
    object_type TEXT NOT NULL,
    object_id   TEXT NOT NULL,
    reason      TEXT,
    origin      TEXT,
    created_at  TIMESTAMPTZ NOT NULL
);
CREATE INDEX audit_log_object ON audit_log (object_type, object_id, id);
CREATE INDEX audit_log_tenant ON audit_log (tenant_id, id);
