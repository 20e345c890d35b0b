//! The verbs, each forwarded to the file that does it.

use crate::PostgresStore;
use async_trait::async_trait;
use leasehold_queue::{
    Scope, Store, StoreResult,
    params::{
        CancelAnswer, ClaimedJob, CreateAnswer, Finish, FinishAnswer, Heartbeat, Lease, NewDefinition,
        NewJob, NewKey, NewLogLine, NewTenant, NewUser, OutboxCursor, OutboxEvent, QueueControl, Reclaimed,
        RenewAnswer, Renewal, Selector, SessionRow, TenantChange, Wake,
    },
    store::Setting,
    transition::Rules,
    upkeep::Place,
};
use leasehold_types::{
    DefinitionId, DefinitionLimits, JobFilter, JobRef, PageRequest, TenantId, TenantLimits, Timestamp,
    UserId, WorkerId,
    view::{
        ApiKey, Definition, JobDetail, JobsPage, LogLine, Membership, Overview, Tenant, User, WorkerList,
    },
};
use std::time::Duration;
use tokio::sync::broadcast;

#[async_trait]
impl Store for PostgresStore {
    async fn migrate(&self) -> StoreResult<()> {
        self.bring_schema_up().await
    }

    async fn schema_is_current(&self) -> StoreResult<bool> {
        self.schema_matches().await
    }

    async fn ping(&self) -> StoreResult<()> {
        // Of the pool that is never busy for long: many at the dashboard do not make the database seem gone.
        self.measure_clock(&self.lease).await
    }

    fn engine_name(&self) -> &'static str {
        "postgres"
    }

    fn wakes(&self) -> broadcast::Receiver<Wake> {
        self.wakes.subscribe()
    }

    async fn try_lead(&self, name: &str, holder: &str, for_how_long: Duration) -> StoreResult<bool> {
        self.lead(name, holder, for_how_long).await
    }

    async fn create_tenant(&self, scope: &Scope, tenant: NewTenant) -> StoreResult<Tenant> {
        self.add_tenant(scope, tenant).await
    }

    async fn tenants(&self, scope: &Scope) -> StoreResult<Vec<Tenant>> {
        self.reached_tenants(scope).await
    }

    async fn tenant_by_slug(&self, scope: &Scope, slug: &str) -> StoreResult<Option<Tenant>> {
        self.find_tenant(scope, slug).await
    }

    async fn tenant(&self, scope: &Scope, id: TenantId) -> StoreResult<Option<Tenant>> {
        self.tenant_by_id(scope, id).await
    }

    async fn update_tenant(
        &self,
        scope: &Scope,
        tenant: TenantId,
        change: TenantChange,
    ) -> StoreResult<Tenant> {
        self.change_tenant(scope, tenant, change).await
    }

    async fn set_tenant_limits(
        &self,
        scope: &Scope,
        tenant: TenantId,
        limits: TenantLimits,
    ) -> StoreResult<()> {
        self.limit_tenant(scope, tenant, limits).await
    }

    async fn has_users(&self) -> StoreResult<bool> {
        self.any_user().await
    }

    async fn create_user(&self, scope: &Scope, user: NewUser) -> StoreResult<User> {
        self.add_user(scope, user).await
    }

    async fn create_first_admin(
        &self,
        token_hash: &str,
        user: NewUser,
        tenant: Option<NewTenant>,
        origin: Option<String>,
    ) -> StoreResult<(User, Option<Tenant>)> {
        self.add_first_admin(token_hash, user, tenant, origin).await
    }

    async fn credentials(&self, email: &str) -> StoreResult<Option<(User, String)>> {
        self.find_credentials(email).await
    }

    async fn user(&self, id: UserId) -> StoreResult<Option<User>> {
        self.find_user(id).await
    }

    async fn memberships(&self, user: UserId) -> StoreResult<Vec<Membership>> {
        self.memberships_of(user).await
    }

    async fn create_key(&self, scope: &Scope, key: NewKey) -> StoreResult<ApiKey> {
        self.add_key(scope, key).await
    }

    async fn key_by_prefix(&self, prefix: &str) -> StoreResult<Option<(ApiKey, String)>> {
        self.find_key(prefix).await
    }

    async fn put_setting(&self, key: &str, value: &str, expires_at: Option<Timestamp>) -> StoreResult<()> {
        self.replace_setting(key, value, expires_at).await
    }

    async fn ensure_setting(&self, key: &str, value: &str) -> StoreResult<String> {
        self.keep_setting(key, value).await
    }

    async fn setting(&self, key: &str) -> StoreResult<Option<Setting>> {
        self.find_setting(key).await
    }

    async fn save_session(&self, session: SessionRow) -> StoreResult<()> {
        self.put_session(session).await
    }

    async fn session(&self, id_hash: &str) -> StoreResult<Option<SessionRow>> {
        self.find_session(id_hash).await
    }

    async fn delete_session(&self, id_hash: &str) -> StoreResult<()> {
        self.remove_session(id_hash).await
    }

    async fn prune_sessions(&self) -> StoreResult<u64> {
        self.remove_expired_sessions().await
    }

    async fn ensure_definition(&self, definition: NewDefinition) -> StoreResult<Definition> {
        self.add_definition(definition).await
    }

    async fn definitions(&self) -> StoreResult<Vec<Definition>> {
        self.all_definitions().await
    }

    async fn definition(&self, id: DefinitionId) -> StoreResult<Option<Definition>> {
        self.find_definition(id).await
    }

    async fn set_definition_active(&self, scope: &Scope, id: DefinitionId, active: bool) -> StoreResult<()> {
        self.switch_definition(scope, id, active).await
    }

    async fn set_definition_limits(
        &self,
        scope: &Scope,
        id: DefinitionId,
        limits: DefinitionLimits,
    ) -> StoreResult<()> {
        self.limit_definition(scope, id, limits).await
    }

    async fn create_jobs(&self, scope: &Scope, jobs: Vec<NewJob>) -> StoreResult<Vec<CreateAnswer>> {
        self.add_jobs(scope, jobs).await
    }

    async fn claim(
        &self,
        worker: &WorkerId,
        selector: &Selector,
        n: u32,
        lease: Duration,
    ) -> StoreResult<Vec<ClaimedJob>> {
        self.take(worker, selector, n, lease).await
    }

    async fn renew(&self, renewals: Vec<Renewal>) -> StoreResult<Vec<RenewAnswer>> {
        self.keep(renewals).await
    }

    async fn finish(&self, rules: &Rules, items: Vec<Finish>) -> StoreResult<Vec<FinishAnswer>> {
        self.end(rules, items).await
    }

    async fn append_logs(&self, lease: &Lease, attempt: i32, lines: Vec<NewLogLine>) -> StoreResult<bool> {
        self.add_lines(lease, attempt, lines).await
    }

    async fn reclaim_expired(&self, rules: &Rules, limit: u32) -> StoreResult<Vec<Reclaimed>> {
        self.take_back(&Scope::system("reclaim"), &Place::default(), rules, limit).await
    }

    async fn cancel_requests(&self, worker: &WorkerId) -> StoreResult<Vec<i64>> {
        self.asked_to_stop(worker).await
    }

    async fn cancel(&self, scope: &Scope, job: JobRef, reason: Option<&str>) -> StoreResult<CancelAnswer> {
        self.stop(scope, job, reason).await
    }

    async fn requeue(&self, scope: &Scope, job: JobRef, reason: Option<&str>) -> StoreResult<()> {
        self.put_back(scope, job, reason).await
    }

    async fn set_queue_control(
        &self,
        scope: &Scope,
        control: QueueControl,
        reason: Option<&str>,
    ) -> StoreResult<()> {
        self.control(scope, control, reason).await
    }

    async fn queue_controls(&self) -> StoreResult<Vec<QueueControl>> {
        self.controls().await
    }

    async fn heartbeat(&self, beat: Heartbeat) -> StoreResult<()> {
        self.beat(beat).await
    }

    async fn forget_worker(&self, worker: &WorkerId) -> StoreResult<()> {
        self.remove_worker(worker).await
    }

    async fn workers(&self, limit: u32) -> StoreResult<WorkerList> {
        self.known_workers(limit).await
    }

    async fn job(&self, scope: &Scope, job: JobRef, log_lines: u32) -> StoreResult<Option<JobDetail>> {
        self.detail(scope, job, log_lines).await
    }

    async fn list(&self, scope: &Scope, filter: &JobFilter, page: PageRequest) -> StoreResult<JobsPage> {
        self.page(scope, filter, page).await
    }

    async fn overview(&self, scope: &Scope, tenant: TenantId) -> StoreResult<Overview> {
        self.tenant_overview(scope, tenant).await
    }

    async fn logs(
        &self,
        scope: &Scope,
        job: JobRef,
        attempt: i32,
        after: i64,
        limit: u32,
    ) -> StoreResult<Vec<LogLine>> {
        self.lines_after(scope, job, attempt, after, limit).await
    }

    async fn outbox_tail(&self) -> StoreResult<i64> {
        self.tail().await
    }

    async fn read_outbox(&self, cursor: &mut OutboxCursor, limit: u32) -> StoreResult<Vec<OutboxEvent>> {
        self.follow(cursor, limit).await
    }

    async fn events(
        &self,
        scope: &Scope,
        after: i64,
        up_to: i64,
        limit: u32,
    ) -> StoreResult<Vec<OutboxEvent>> {
        self.replay(scope, after, up_to, limit).await
    }

    async fn oldest_event(&self) -> StoreResult<i64> {
        self.oldest().await
    }

    async fn fold_counters(&self) -> StoreResult<()> {
        self.fold().await
    }

    async fn recount(&self) -> StoreResult<u64> {
        self.mend_counters().await
    }
}
