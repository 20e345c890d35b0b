-- Keys of the installation, invitations, disabled users, and an audit log that shows when it was touched.

-- A key without a tenant is the installation's.
ALTER TABLE api_keys ALTER COLUMN tenant_id DROP NOT NULL;

-- Somebody disabled cannot sign in; what they did keeps their name.
ALTER TABLE users ADD COLUMN disabled_at TIMESTAMPTZ;
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX memberships_tenant ON memberships (tenant_id);

-- One-time links with which somebody chooses a password: when invited, or after losing the old one.
CREATE TABLE password_links (
    -- SHA-256 of the token in the link.
    token_hash  TEXT PRIMARY KEY,
    user_id     UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at  TIMESTAMPTZ NOT NULL,
    expires_at  TIMESTAMPTZ NOT NULL
);
CREATE INDEX password_links_user ON password_links (user_id);

-- Somebody with an account is asked into a tenant. They join by following the link: an account proves no address, so
-- nobody is let in by an address alone.
CREATE TABLE membership_links (
    token_hash  TEXT PRIMARY KEY,
    tenant_id   UUID NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    user_id     UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role        TEXT NOT NULL CHECK (role IN ('admin', 'viewer')),
    created_at  TIMESTAMPTZ NOT NULL,
    expires_at  TIMESTAMPTZ NOT NULL,
    UNIQUE (tenant_id, user_id)
);
CREATE INDEX membership_links_user ON membership_links (user_id);

-- Rows are chained soon after they are written, in the order of `position`: each hash covers the one before.
ALTER TABLE audit_log ADD COLUMN position BIGINT CONSTRAINT audit_log_position_key UNIQUE;
ALTER TABLE audit_log ADD COLUMN hash TEXT;
CREATE INDEX audit_log_unchained ON audit_log (id) WHERE hash IS NULL;
CREATE INDEX audit_log_actor ON audit_log (actor, id);

-- The end of the chain, so that rows missing at the end are missed.
CREATE TABLE audit_chain (
    one       BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one),
    position  BIGINT NOT NULL,
    hash      TEXT NOT NULL
);
INSERT INTO audit_chain (position, hash) VALUES (0, '');
