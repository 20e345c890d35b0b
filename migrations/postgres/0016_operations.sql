-- Who steered a job by a bulk operation is in its events: one entry of the audit log stands for all of its jobs.
-- Such events are few, so the index costs nothing where it matters.
CREATE INDEX job_events_steered ON job_events (job_number)
    WHERE kind IN ('job.cancelled', 'job.cancel_requested', 'job.requeued', 'job.rescheduled');
