-- An event is named by its tenant and cursor (LiveEvent::uuid), not by random bytes drawn for each.
ALTER TABLE job_events DROP COLUMN event_uuid;
