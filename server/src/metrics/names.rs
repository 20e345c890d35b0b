//! Every metric by name. `docs/metrics.md` is written from this list.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// Where a figure comes from, which also says what it speaks of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From {
    /// The whole installation, as the database has it.
    Database,
    /// The installation's events since this process started, each counted once.
    Events,
    /// This process alone.
    Process,
}

#[derive(Debug)]
pub struct Family {
    pub name: &'static str,
    pub kind: Kind,
    #[cfg_attr(not(test), expect(dead_code, reason = "for the document"))]
    pub from: From,
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

const GROUP: &[&str] = &["domain", "queue", "job_type"];
const OWNER: &[&str] = &["domain", "queue", "job_type", "owner_user_id"];
const TYPE: &[&str] = &["job_type"];
const TENANT: &[&str] = &["tenant"];

macro_rules! families {
    ($($id:ident = $name:literal $kind:ident $from:ident $labels:expr, $help:literal;)+) => {
        $(pub static $id: Family = Family {
            name: $name, kind: Kind::$kind, from: From::$from, labels: $labels, help: $help,
        };)+
        #[cfg(test)]
        pub static ALL: &[&Family] = &[$(&$id),+];
    };
}

families! {
    QUEUED = "jobs_queued" Gauge Database GROUP, "Jobs that are ready to run.";
    SCHEDULED = "jobs_scheduled" Gauge Database GROUP, "Jobs that wait for a time to come.";
    BACKLOG = "jobs_backlog" Gauge Database GROUP, "Jobs that are ready or scheduled.";
    PROCESSING = "jobs_processing" Gauge Database GROUP, "Jobs that run.";
    STALE = "jobs_stale_processing" Gauge Database GROUP, "Running jobs whose lease has run out.";
    IN_PROGRESS = "job_in_progress" Gauge Database TYPE, "Jobs that run.";
    TENANT_DEPTH = "jobs_depth" Gauge Database &["tenant", "status"], "Jobs of a tenant in each state.";
    LATENCY_P50 = "jobs_queue_latency_p50_seconds" Gauge Database OWNER, "Half of an owner's recent jobs began within this time.";
    LATENCY_P90 = "jobs_queue_latency_p90_seconds" Gauge Database OWNER, "90 % of an owner's recent jobs began within this time.";
    LATENCY_P95 = "jobs_queue_latency_p95_seconds" Gauge Database OWNER, "95 % of an owner's recent jobs began within this time.";
    LATENCY_P99 = "jobs_queue_latency_p99_seconds" Gauge Database OWNER, "99 % of an owner's recent jobs began within this time.";
    DURATION_P50 = "jobs_duration_p50_seconds" Gauge Database OWNER, "Half of an owner's recent jobs ran no longer than this.";
    DURATION_P90 = "jobs_duration_p90_seconds" Gauge Database OWNER, "90 % of an owner's recent jobs ran no longer than this.";
    DURATION_P95 = "jobs_duration_p95_seconds" Gauge Database OWNER, "95 % of an owner's recent jobs ran no longer than this.";
    DURATION_P99 = "jobs_duration_p99_seconds" Gauge Database OWNER, "99 % of an owner's recent jobs ran no longer than this.";
    TIME_TO_EXPIRY = "jobs_time_to_expiry_seconds" Histogram Database GROUP, "What was left of the leases of running jobs, looked at when figures are read from the database.";
    WORKERS = "jobs_workers" Gauge Database &["state"], "Workers that give signs of life, and those that have stopped to.";
    REDUCED = "jobs_concurrency_reduced" Gauge Database &["domain", "job_type"], "Places that workers keep empty because this kind of job failed too often.";

    CREATED = "jobs_created_total" Counter Events GROUP, "Jobs that came in.";
    COMPLETED = "jobs_completed_total" Counter Events GROUP, "Jobs that completed.";
    FAILED = "jobs_failed_total" Counter Events GROUP, "Jobs that ended failed, as a dead letter or in quarantine.";
    FAILURES = "jobs_failures_total" Counter Events &["domain", "queue", "job_type", "reason"], "The same by where they ended: failed, dead_letter or quarantined.";
    FAILURES_BY_CODE = "jobs_failures_by_code_total" Counter Events &["domain", "queue", "job_type", "error_code"], "The same by error code.";
    RETRIES = "jobs_retries_total" Counter Events GROUP, "Failed attempts that will be repeated.";
    CANCELLED = "jobs_cancelled_total" Counter Events GROUP, "Jobs that were cancelled.";
    CANCELLATIONS = "jobs_cancellations_total" Counter Events GROUP, "Jobs that were cancelled.";
    DURATION = "jobs_duration_seconds" Histogram Events GROUP, "From the start of the last attempt to the job's end.";
    QUEUE_LATENCY = "jobs_queue_latency_seconds" Histogram Events GROUP, "From a job's creation to the start of its first attempt.";
    RETRY_AFTER = "jobs_retry_after_seconds" Histogram Events GROUP, "How long failed attempts wait for the next.";
    ENQUEUED = "job_enqueue_total" Counter Events TYPE, "Jobs that came in.";
    STARTED = "job_start_total" Counter Events TYPE, "Jobs that began, each counted at its first attempt.";
    ATTEMPTS_STARTED = "job_attempt_start_total" Counter Events TYPE, "Attempts that began.";
    ALERTS = "job_alert_total" Counter Events TYPE, "Failures that a job's author must look at (class internal_bug).";
    RETRY = "job_retry_total" Counter Events &["job_type", "error_class"], "Failed attempts that will be repeated.";
    FAILURE = "job_failure_total" Counter Events &["job_type", "error_class"], "Jobs that ended failed, as a dead letter or in quarantine.";
    CANCELED = "job_canceled_total" Counter Events TYPE, "Jobs that were cancelled.";
    WALL_TIME = "job_duration_seconds" Histogram Events &["job_type", "outcome"], "From the start of the first attempt to the job's end.";
    ATTEMPTS = "job_attempts" Histogram Events TYPE, "Attempts a job had taken when it ended.";
    STAGE_TIME = "job_stage_time_seconds" Histogram Events &["job_type", "stage"], "Time in each stage.";
    TENANT_ENQUEUED = "jobs_tenant_enqueued_total" Counter Events TENANT, "Jobs of a tenant that came in.";
    TENANT_SUCCEEDED = "jobs_tenant_succeeded_total" Counter Events TENANT, "Jobs of a tenant that completed.";
    TENANT_FAILED = "jobs_tenant_failed_total" Counter Events TENANT, "Jobs of a tenant that ended failed, as a dead letter or in quarantine.";
    TENANT_RETRIED = "jobs_tenant_retried_total" Counter Events TENANT, "Failed attempts of a tenant's jobs that will be repeated.";
    TENANT_DEAD = "jobs_tenant_dead_lettered_total" Counter Events TENANT, "Jobs of a tenant that became dead letters.";
    TENANT_LATENCY = "jobs_tenant_queue_latency_seconds" Histogram Events TENANT, "From creation to the first start, by tenant.";
    TENANT_DURATION = "jobs_tenant_duration_seconds" Histogram Events TENANT, "From the start of the last attempt to the end, by tenant.";

    EVENTS_MISSED = "leasehold_events_missed_total" Counter Process &[], "Events that came too fast to be counted above.";
    TIMES_UNKNOWN = "leasehold_times_unknown_total" Counter Process &[], "Jobs whose times could not be found, and that are missing in the histograms.";
    EVENT_LAG = "leasehold_event_lag_seconds" Histogram Process &[], "From an event's time to when this process heard of it.";
    OUTBOX_BEHIND = "leasehold_outbox_behind_events" Gauge Process &[], "Events in the database that this process has not handed out yet, up to 1000.";
    STREAMS_OPEN = "leasehold_streams_open" Gauge Process &[], "Live streams that are open.";
    STREAM_EVENTS = "leasehold_stream_events_total" Counter Process &[], "Events sent to live streams.";
    STREAM_RESYNCS = "leasehold_stream_resyncs_total" Counter Process &[], "Streams that were told to start over.";
    CLAIMED = "leasehold_claimed_jobs_total" Counter Process &[], "Jobs claimed through this process, by its own workers and those over HTTP.";
    POOL = "leasehold_pool_connections" Gauge Process &["pool", "state"], "Database connections in use and idle.";
    POOL_MOST = "leasehold_pool_connections_max" Gauge Process &["pool"], "Database connections there may be.";
    HTTP = "leasehold_http_requests_total" Counter Process &["method", "route", "status"], "Requests answered.";
    CONNECTIONS = "leasehold_connections_open" Gauge Process &[], "Connections from clients.";
    CONNECTIONS_REFUSED = "leasehold_connections_refused_total" Counter Process &[], "Connections closed at once because there were too many.";
    CONNECTIONS_CLOSED = "leasehold_connections_closed_total" Counter Process &["why"], "Connections that were closed because what was sent was not read, or nothing was asked.";
    RATE_LIMITED = "leasehold_rate_limited_total" Counter Process &["by"], "Requests to the API refused because there were too many, by key or by address.";
    DATABASE_UP = "leasehold_database_reachable" Gauge Process &[], "1 when the figures from the database could be read, else 0 and they are missing.";
    BUILD = "leasehold_build_info" Gauge Process &["version", "database"], "Always 1.";
    MEMORY = "process_resident_memory_bytes" Gauge Process &[], "Memory of this process.";
    FILES = "process_open_fds" Gauge Process &[], "Open files and sockets of this process.";
    BEGAN = "process_start_time_seconds" Gauge Process &[], "When this process started, in seconds since 1970.";
}
