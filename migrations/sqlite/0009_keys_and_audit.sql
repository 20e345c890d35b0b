-- Keys of the installation, invitations, disabled users, and an audit log that shows when it was touched.

-- A key without a tenant is the installation's. Nothing refers to this table, so it is simply written anew.
CREATE TABLE new_api_keys (
    id            TEXT PRIMARY KEY,
    tenant_id     TEXT REFERENCES tenants (id) ON DELETE CASCADE,
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
INSERT INTO new_api_keys SELECT id, tenant_id, name, prefix, secret_hash, scopes, created_by, created_at, expires_at,
                                revoked_at, last_used_at FROM api_keys;
DROP TABLE api_keys;
ALTER TABLE new_api_keys RENAME TO api_keys;
CREATE INDEX api_keys_tenant ON api_keys (tenant_id);

-- Somebody disabled cannot sign in; what they did keeps their name.
ALTER TABLE users ADD COLUMN disabled_at TEXT;
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX memberships_tenant ON memberships (tenant_id);

-- One-time links with which somebody chooses a password: when invited, or after losing the old one.
CREATE TABLE password_links (
    -- SHA-256 of the token in the link.
    token_hash  TEXT PRIMARY KEY,
    user_id     TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at  TEXT NOT NULL,
    expires_at  TEXT NOT NULL
) STRICT;
CREATE INDEX password_links_user ON password_links (user_id);

-- Somebody with an account is asked into a tenant. They join by following the link: an account proves no address, so
-- nobody is let in by an address alone.
CREATE TABLE membership_links (
    token_hash  TEXT PRIMARY KEY,
    tenant_id   TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    user_id     TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role        TEXT NOT NULL CHECK (role IN ('admin', 'viewer')),
    created_at  TEXT NOT NULL,
    expires_at  TEXT NOT NULL,
    UNIQUE (tenant_id, user_id)
) STRICT;
CREATE INDEX membership_links_user ON membership_links (user_id);

-- Rows are chained soon after they are written, in the order of `position`: each hash covers the one before.
ALTER TABLE audit_log ADD COLUMN position INTEGER;
ALTER TABLE audit_log ADD COLUMN hash TEXT;
CREATE UNIQUE INDEX audit_log_position_key ON audit_log (position);
CREATE INDEX audit_log_unchained ON audit_log (id) WHERE hash IS NULL;
CREATE INDEX audit_log_actor ON audit_log (actor, id);

-- The end of the chain, so that rows missing at the end are missed.
CREATE TABLE audit_chain (
    one       INTEGER PRIMARY KEY DEFAULT 1 CHECK (one = 1),
    position  INTEGER NOT NULL,
    hash      TEXT NOT NULL
) STRICT;
INSERT INTO audit_chain (position, hash) VALUES (0, '');
