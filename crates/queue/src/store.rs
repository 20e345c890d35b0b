//! The storage seam: domain verbs, each one transaction. Two stores implement it, one conformance suite holds
//! them to it. Every verb takes its time from the store's [`crate::Clock`].
//!
//! Error policy: what a caller did wrong is a [`Problem`] with a stable code; what the database did wrong is
//! [`StoreError::Database`], which the engine turns into "unavailable" and logs in full.

use crate::{
    administration::Administration,
    attachments::Attachments,
    audit::Audit,
    callers::Callers,
    figures::Figures,
    params::{
        CancelAnswer, ClaimedJob, CreateAnswer, Finish, FinishAnswer, Heartbeat, Lease, NewDefinition,
        NewJob, NewKey, NewLogLine, NewTenant, NewUser, OutboxCursor, OutboxEvent, QueueControl, Reclaimed,
        RenewAnswer, Renewal, Selector, SessionRow, TenantChange, Wake,
    },
    people::People,
    remote::Remote,
    rights::Rights,
    scope::Scope,
    signing::SigningKeys,
    throttle::Throttle,
    transition::Rules,
    triggers::Triggers,
    units::Units,
    upkeep::Upkeep,
};
use async_trait::async_trait;
use leasehold_types::{
    DefinitionId, DefinitionLimits, JobFilter, JobRef, PageRequest, Problem, ProblemCode, TenantId,
    TenantLimits, Timestamp, UserId,
    view::{
        ApiKey, Definition, JobDetail, JobsPage, LogLine, Membership, Overview, Tenant, User, WorkerList,
    },
};
use std::time::Duration;
use tokio::sync::broadcast;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Problem(#[from] Problem),
    #[error("the database failed: {message}")]
    Database {
        message: String,
        /// Trying again may help: a lost connection, a serialisation failure, a busy database.
        transient: bool,
    },
    #[error("{table}.{column} holds something unreadable: {detail}")]
    Corrupt { table: &'static str, column: &'static str, detail: String },
}

pub type StoreResult<T> = Result<T, StoreError>;

impl StoreError {
    pub fn corrupt(table: &'static str, column: &'static str, detail: impl ToString) -> Self {
        Self::Corrupt { table, column, detail: detail.to_string() }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Problem(problem) => problem,
            StoreError::Database { .. } => {
                tracing::error!(%error, "the database failed");
                Problem::new(
                    ProblemCode::Unavailable,
                    "The database did not answer. Nothing was changed; please try again in a moment.",
                )
                .retry_after(2)
            }
            StoreError::Corrupt { .. } => {
                tracing::error!(%error, "a row cannot be read");
                Problem::new(
                    ProblemCode::Internal,
                    "A stored record cannot be read. The log has the details.",
                )
            }
        }
    }
}

/// A setting of this installation, with its expiry.
pub type Setting = (String, Option<Timestamp>);

/// Everything a store does; more of it is in the traits it builds on.
#[async_trait]
pub trait Store:
    Upkeep
    + Attachments
    + Units
    + Remote
    + Callers
    + People
    + Audit
    + Administration
    + Figures
    + Rights
    + Triggers
    + SigningKeys
    + Throttle
{
    // ---- the database itself

    /// Brings the schema up to date.
    async fn migrate(&self) -> StoreResult<()>;
    /// The schema is the one this binary was built for.
    async fn schema_is_current(&self) -> StoreResult<bool>;
    /// One cheap query; also measures how far the database's clock is ahead.
    async fn ping(&self) -> StoreResult<()>;
    /// `postgres` or `sqlite`.
    fn engine_name(&self) -> &'static str;
    /// Hears of changes, made by this process or (Postgres) by any other. May lag and may be spurious:
    /// receivers re-query, and poll as well.
    fn wakes(&self) -> broadcast::Receiver<Wake>;
    /// Takes or keeps the named leadership. Two leaders at once must be harmless all the same.
    async fn try_lead(&self, name: &str, holder: &str, for_how_long: Duration) -> StoreResult<bool>;

    // ---- people

    /// `ALREADY_EXISTS` when the slug is taken.
    async fn create_tenant(&self, scope: &Scope, tenant: NewTenant) -> StoreResult<Tenant>;
    /// The tenants the scope reaches, by name.
    async fn tenants(&self, scope: &Scope) -> StoreResult<Vec<Tenant>>;
    async fn tenant_by_slug(&self, scope: &Scope, slug: &str) -> StoreResult<Option<Tenant>>;
    async fn tenant(&self, scope: &Scope, id: TenantId) -> StoreResult<Option<Tenant>>;
    /// Its name and time zone. `NOT_FOUND`. Audited.
    async fn update_tenant(
        &self,
        scope: &Scope,
        tenant: TenantId,
        change: TenantChange,
    ) -> StoreResult<Tenant>;
    /// Replaces the limits of a tenant. `NOT_FOUND`. Audited.
    async fn set_tenant_limits(
        &self,
        scope: &Scope,
        tenant: TenantId,
        limits: TenantLimits,
    ) -> StoreResult<()>;
    async fn has_users(&self) -> StoreResult<bool>;
    /// `ALREADY_EXISTS` when the e-mail is taken. The membership, if any, is written with it.
    async fn create_user(&self, scope: &Scope, user: NewUser) -> StoreResult<User>;
    /// The very first super-admin, and optionally a first tenant: only while there is no user at all and the
    /// hash of the setup token matches and has not expired; the token is used up. Else `SETUP_LINK_INVALID`.
    async fn create_first_admin(
        &self,
        token_hash: &str,
        user: NewUser,
        tenant: Option<NewTenant>,
        origin: Option<String>,
    ) -> StoreResult<(User, Option<Tenant>)>;
    /// The user with that (lower-cased) e-mail and the stored password hash; none when disabled.
    async fn credentials(&self, email: &str) -> StoreResult<Option<(User, String)>>;
    /// None when disabled: then nothing they hold opens anything.
    async fn user(&self, id: UserId) -> StoreResult<Option<User>>;
    /// By tenant name.
    async fn memberships(&self, user: UserId) -> StoreResult<Vec<Membership>>;
    async fn create_key(&self, scope: &Scope, key: NewKey) -> StoreResult<ApiKey>;
    /// The key with that prefix and the hash of its secret.
    async fn key_by_prefix(&self, prefix: &str) -> StoreResult<Option<(ApiKey, String)>>;
    async fn put_setting(&self, key: &str, value: &str, expires_at: Option<Timestamp>) -> StoreResult<()>;
    /// Expired settings are returned as well: the caller may want to say "expired".
    async fn setting(&self, key: &str) -> StoreResult<Option<Setting>>;
    /// The setting of this key; the value becomes it, for ever, when there is none yet. All callers get the same.
    async fn ensure_setting(&self, key: &str, value: &str) -> StoreResult<String>;

    /// Inserts or replaces.
    async fn save_session(&self, session: SessionRow) -> StoreResult<()>;
    /// None when it does not exist or has expired.
    async fn session(&self, id_hash: &str) -> StoreResult<Option<SessionRow>>;
    async fn delete_session(&self, id_hash: &str) -> StoreResult<()>;
    /// How many expired ones were removed.
    async fn prune_sessions(&self) -> StoreResult<u64>;

    // ---- definitions

    /// Creates the definition, or returns the one that already has this key, unchanged.
    async fn ensure_definition(&self, definition: NewDefinition) -> StoreResult<Definition>;
    /// By key.
    async fn definitions(&self) -> StoreResult<Vec<Definition>>;
    async fn definition(&self, id: DefinitionId) -> StoreResult<Option<Definition>>;
    /// Switches a kind of job on or off: off means no new jobs and no claims. `NOT_FOUND`. Audited.
    async fn set_definition_active(&self, scope: &Scope, id: DefinitionId, active: bool) -> StoreResult<()>;

    /// Replaces all limits of a kind of job. `NOT_FOUND`. Audited.
    async fn set_definition_limits(
        &self,
        scope: &Scope,
        id: DefinitionId,
        limits: DefinitionLimits,
    ) -> StoreResult<()>;

    // ---- create

    /// Creates many jobs in one transaction, with their events, audit rows (for people and keys) and counters,
    /// then wakes workers. Per item, in this order: idempotent replay (same hash → that job, other hash →
    /// `IDEMPOTENCY_CONFLICT`), dedupe (an active job of the tenant with that key → that job), its gates (see
    /// [`crate::gate`]; exact however many callers there are), insert.
    /// A job for a tenant outside the scope is `NOT_FOUND`. Items of one call see each other.
    async fn create_jobs(&self, scope: &Scope, jobs: Vec<NewJob>) -> StoreResult<Vec<CreateAnswer>>;

    // ---- running

    /// Takes up to `n` ready jobs: processing, a fresh lease each, `acquired_at` now, `started_at` if first,
    /// `attempt_count` + 1, completion token, running pid, error and stage cleared (progress stays), event `job.started`.
    /// Fair between tenants (see [`crate::fairness`]); within a tenant by priority, then
    /// `coalesce(available_at, created_at)`, then number. Skips paused and draining queues and inactive
    /// definitions, and jobs for which a limit leaves no room ([`crate::admission`]): of the tenant, the kind, the
    /// kind in the tenant, the concurrency key, and the selector's quotas. Gives nothing once the selector's gate
    /// is shut. It may give fewer than there are: only an empty answer says that nothing is ready.
    async fn claim(
        &self,
        worker: &leasehold_types::WorkerId,
        selector: &Selector,
        n: u32,
        lease: Duration,
    ) -> StoreResult<Vec<ClaimedJob>>;

    /// Keeps leases alive and records progress (never lowering it), one answer per renewal. Fenced by
    /// `status = processing`, worker and lease; an expired lease nobody reclaimed is still the holder's.
    /// Writes `job.progress` for each accepted renewal that carries progress which changes something, at the moment the
    /// report names but never later than now; a stage that is entered is kept with the attempt, up to
    /// [`crate::progress::STAGES_KEPT`] of a job. Renewals of one job are taken in their order.
    async fn renew(&self, renewals: Vec<Renewal>) -> StoreResult<Vec<RenewAnswer>>;

    /// Ends attempts, one answer per item, all in one transaction. Fenced like [`Store::renew`]. The decision
    /// is [`crate::transition::judge`]; the row's lease, running pid and cancel request are cleared on every exit,
    /// `completed_at` set when finished, progress 100 on completion, the attempt row written, event and
    /// counters written. `queued_at` is set when it goes back to the queue. Cancelled: `cancelled_at` set.
    async fn finish(&self, rules: &Rules, items: Vec<Finish>) -> StoreResult<Vec<FinishAnswer>>;

    /// Appends lines to the running attempt and one `job.log` event; false when the lease is lost (nothing
    /// is written). Lines already there (same seq) are left alone.
    async fn append_logs(&self, lease: &Lease, attempt: i32, lines: Vec<NewLogLine>) -> StoreResult<bool>;

    /// Takes back up to `limit` jobs whose lease has run out (ending [`crate::transition::Ending::Lost`]).
    async fn reclaim_expired(&self, rules: &Rules, limit: u32) -> StoreResult<Vec<Reclaimed>>;

    /// Which of these running jobs of `worker` were asked to stop.
    async fn cancel_requests(&self, worker: &leasehold_types::WorkerId) -> StoreResult<Vec<i64>>;

    // ---- steering

    /// Waiting (queued, quarantined) → cancelled at once; running → `cancel_requested_at` (the first request
    /// wins) and a wake-up; terminal → `WRONG_STATE`; not reached → `NOT_FOUND`. Audited.
    async fn cancel(&self, scope: &Scope, job: JobRef, reason: Option<&str>) -> StoreResult<CancelAnswer>;

    /// Quarantined → queued in place: streak, budget, token, error and `completed_at` reset, attempt numbers
    /// go on. Else `WRONG_STATE`; `ALREADY_EXISTS` when an active job holds its dedupe key.
    async fn requeue(&self, scope: &Scope, job: JobRef, reason: Option<&str>) -> StoreResult<()>;

    async fn set_queue_control(
        &self,
        scope: &Scope,
        control: QueueControl,
        reason: Option<&str>,
    ) -> StoreResult<()>;
    async fn queue_controls(&self) -> StoreResult<Vec<QueueControl>>;

    /// Inserts or refreshes.
    async fn heartbeat(&self, beat: Heartbeat) -> StoreResult<()>;
    /// Removes a worker that said good-bye.
    async fn forget_worker(&self, worker: &leasehold_types::WorkerId) -> StoreResult<()>;
    /// Those seen within the last hour, the newest sign of life first, at most `limit`; completed by
    /// [`crate::silence::shown`].
    async fn workers(&self, limit: u32) -> StoreResult<WorkerList>;

    // ---- reading

    /// Everything a job's page shows, with at most `log_lines` newest lines per attempt.
    async fn job(&self, scope: &Scope, job: JobRef, log_lines: u32) -> StoreResult<Option<JobDetail>>;
    /// Newest first. The count is capped at 10,000.
    async fn list(&self, scope: &Scope, filter: &JobFilter, page: PageRequest) -> StoreResult<JobsPage>;
    /// From counters, never by counting the jobs table.
    async fn overview(&self, scope: &Scope, tenant: TenantId) -> StoreResult<Overview>;
    /// Lines of one attempt after a sequence number, oldest first.
    async fn logs(
        &self,
        scope: &Scope,
        job: JobRef,
        attempt: i32,
        after: i64,
        limit: u32,
    ) -> StoreResult<Vec<LogLine>>;

    // ---- outbox and counters

    /// The newest event id that is surely followed by no smaller one: where a new reader begins.
    async fn outbox_tail(&self) -> StoreResult<i64>;
    /// The events after the cursor in id order, up to the safe horizon, and the cursor moved past them.
    async fn read_outbox(&self, cursor: &mut OutboxCursor, limit: u32) -> StoreResult<Vec<OutboxEvent>>;
    /// Events the scope may see with `after < id <= up_to`, oldest first. `up_to` must not lie beyond a
    /// reader's horizon: this verb does not look for gaps itself.
    async fn events(
        &self,
        scope: &Scope,
        after: i64,
        up_to: i64,
        limit: u32,
    ) -> StoreResult<Vec<OutboxEvent>>;
    /// The oldest event id still kept, 0 when there is none: a reader from before it has missed some.
    async fn oldest_event(&self) -> StoreResult<i64>;
    /// Folds appended counter deltas; a store without deltas has nothing to do.
    async fn fold_counters(&self) -> StoreResult<()>;
    /// Compares the counters with a recount and mends them; how many groups were wrong.
    async fn recount(&self) -> StoreResult<u64>;
}
