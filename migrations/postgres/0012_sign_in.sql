-- Who made an account, invitations that lead in only by their own link, attempts to sign in, and owners within tenants.

ALTER TABLE users ADD COLUMN created_by TEXT;
UPDATE users u SET created_by =
  (SELECT a.actor FROM audit_log a WHERE a.object_type = 'user' AND a.object_id = u.email ORDER BY a.id LIMIT 1);

-- Somebody invited used to be a member before they came in. Now they join by following the invitation's own link. Of
-- somebody invited by several tenants only one invitation keeps the link that is out; the others want a new one.
INSERT INTO membership_links (token_hash, tenant_id, user_id, role, created_at, expires_at)
SELECT COALESCE(l.token_hash, 'none of ' || m.tenant_id || ' for ' || m.user_id), m.tenant_id, m.user_id, m.role,
       m.created_at, COALESCE(l.expires_at, m.created_at)
FROM memberships m
JOIN users u ON u.id = m.user_id AND u.password_hash = '!'
LEFT JOIN password_links l ON l.user_id = m.user_id
     AND m.tenant_id::text = (SELECT min(o.tenant_id::text) FROM memberships o WHERE o.user_id = m.user_id)
ON CONFLICT DO NOTHING;
DELETE FROM memberships m USING users u WHERE u.id = m.user_id AND u.password_hash = '!';
DELETE FROM password_links l USING users u WHERE u.id = l.user_id AND u.password_hash = '!';

-- Wrong attempts at a password, shared by all processes. A key is the SHA-256 of what is counted: an account tried from
-- one address or one device, or an address alone.
CREATE TABLE sign_in_attempts (
    key            TEXT PRIMARY KEY,
    failures       BIGINT NOT NULL,
    counted_at     TIMESTAMPTZ NOT NULL,
    blocked_until  TIMESTAMPTZ NOT NULL,
    expires_at     TIMESTAMPTZ NOT NULL
);
CREATE INDEX sign_in_attempts_expiry ON sign_in_attempts (expires_at);

-- An owner is whatever a caller says, so an owner's jobs are counted within one tenant.
DROP INDEX jobs_active_owner;
CREATE INDEX jobs_active_owner ON jobs (tenant_id, owner_user_id, domain)
    WHERE owner_user_id IS NOT NULL AND status IN ('queued', 'processing');
