-- The keys that sign links to files: the newest signs, the one before it still verifies what it has signed.
CREATE TABLE signing_keys (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    secret TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);
INSERT INTO signing_keys (secret, created_at)
SELECT value, now() FROM instance_settings WHERE key = 'attachment_secret';
DELETE FROM instance_settings WHERE key = 'attachment_secret';
