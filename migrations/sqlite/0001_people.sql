-- Tenants and the people and programs that may act in them.
-- Times are fixed-width UTC text (YYYY-MM-DDTHH:MM:SS.ffffffZ), so that text order is time order; the statements
-- set them: a database default would ignore the frozen test clock.

CREATE TABLE tenants (
    id          TEXT PRIMARY KEY,
    slug        TEXT NOT NULL CONSTRAINT tenants_slug_key UNIQUE CHECK (length(slug) BETWEEN 1 AND 63),
    name        TEXT NOT NULL,
    timezone    TEXT NOT NULL,
    limits      TEXT NOT NULL DEFAULT '{}',
    created_at  TEXT NOT NULL,
    updated_at  TEXT NOT NULL
) STRICT;

CREATE TABLE users (
    id             TEXT PRIMARY KEY,
    -- Lower-cased by the application before it comes here.
    email          TEXT NOT NULL CONSTRAINT users_email_key UNIQUE,
    name           TEXT NOT NULL,
    password_hash  TEXT NOT NULL,
    super_admin    INTEGER NOT NULL,
    created_at     TEXT NOT NULL,
    updated_at     TEXT NOT NULL
) STRICT;

CREATE TABLE memberships (
    tenant_id   TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    user_id     TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role        TEXT NOT NULL CHECK (role IN ('admin', 'viewer')),
    created_at  TEXT NOT NULL,
    PRIMARY KEY (user_id, tenant_id)
) STRICT;

CREATE TABLE sessions (
    -- SHA-256 of the cookie's id: reading this table gives nobody a session.
    id          TEXT PRIMARY KEY,
    user_id     TEXT REFERENCES users (id) ON DELETE CASCADE,
    data        TEXT NOT NULL,
    created_at  TEXT NOT NULL,
    expires_at  TEXT NOT NULL
) STRICT;
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE api_keys (
    id            TEXT PRIMARY KEY,
    tenant_id     TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    name          TEXT NOT NULL,
    prefix        TEXT NOT NULL CONSTRAINT api_keys_prefix_key UNIQUE,
    -- SHA-256, hex. The secret has 256 random bits, so a slow hash would add nothing.
    secret_hash   TEXT NOT NULL,
    scopes        TEXT NOT NULL,
    created_by    TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    expires_at    TEXT,
    revoked_at    TEXT,
    last_used_at  TEXT
) STRICT;
CREATE INDEX api_keys_tenant ON api_keys (tenant_id);

-- Facts about this installation, such as the hash of the one-time setup token.
CREATE TABLE instance_settings (
    key         TEXT PRIMARY KEY,
    value       TEXT NOT NULL,
    expires_at  TEXT
) STRICT;

CREATE TABLE audit_log (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id   TEXT REFERENCES tenants (id) ON DELETE CASCADE,
    actor       TEXT NOT NULL,
    action      TEXT NOT NULL,
    -- What it was done to: 'job' and its number, 'tenant' and its slug, …
    object_type TEXT NOT NULL,
    object_id   TEXT NOT NULL,
    reason      TEXT,
    origin      TEXT,
    created_at  TEXT NOT NULL
) STRICT;
CREATE INDEX audit_log_object ON audit_log (object_type, object_id, id);
CREATE INDEX audit_log_tenant ON audit_log (tenant_id, id);
