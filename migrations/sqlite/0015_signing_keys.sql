-- The keys that sign links to files: the newest signs, the one before it still verifies what it has signed.
CREATE TABLE signing_keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    secret TEXT NOT NULL,
    created_at TEXT NOT NULL
) STRICT;
INSERT INTO signing_keys (secret, created_at)
SELECT value, strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z' FROM instance_settings WHERE key = 'attachment_secret';
DELETE FROM instance_settings WHERE key = 'attachment_secret';
