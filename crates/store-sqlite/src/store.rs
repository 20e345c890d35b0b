//! The verbs, each forwarded to the file that knows its statements.

use crate::{
    SqliteStore, claim, counters, create, definitions, finish, leader, limits, list, logs, outbox, overview,
    people, read, reclaim, renew, schema, sessions, steer, users, workers,
};
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
impl Store for SqliteStore {
    async fn migrate(&self) -> StoreResult<()> {
        Ok(schema::migrate(self).await?)
    }
    async fn schema_is_current(&self) -> StoreResult<bool> {
        Ok(schema::is_current(self).await?)
    }
    async fn ping(&self) -> StoreResult<()> {
        Ok(schema::ping(self).await?)
    }
    fn engine_name(&self) -> &'static str {
        "sqlite"
    }
    fn wakes(&self) -> broadcast::Receiver<Wake> {
        self.bell.listen()
    }
    async fn try_lead(&self, name: &str, holder: &str, for_how_long: Duration) -> StoreResult<bool> {
        Ok(leader::try_lead(self, name, holder, for_how_long).await?)
    }

    async fn create_tenant(&self, scope: &Scope, tenant: NewTenant) -> StoreResult<Tenant> {
        Ok(people::create_tenant(self, scope, tenant).await?)
    }
    async fn tenants(&self, scope: &Scope) -> StoreResult<Vec<Tenant>> {
        Ok(people::tenants(self, scope).await?)
    }
    async fn tenant_by_slug(&self, scope: &Scope, slug: &str) -> StoreResult<Option<Tenant>> {
        Ok(people::tenant_by_slug(self, scope, slug).await?)
    }
    async fn tenant(&self, scope: &Scope, id: TenantId) -> StoreResult<Option<Tenant>> {
        Ok(people::tenant(self, scope, id).await?)
    }
    async fn update_tenant(
        &self,
        scope: &Scope,
        tenant: TenantId,
        change: TenantChange,
    ) -> StoreResult<Tenant> {
        Ok(people::update_tenant(self, scope, tenant, change).await?)
    }
    async fn set_tenant_limits(
        &self,
        scope: &Scope,
        tenant: TenantId,
        limits: TenantLimits,
    ) -> StoreResult<()> {
        Ok(limits::set_of_tenant(self, scope, tenant, limits).await?)
    }
    async fn has_users(&self) -> StoreResult<bool> {
        Ok(users::has_users(self).await?)
    }
    async fn create_user(&self, scope: &Scope, user: NewUser) -> StoreResult<User> {
        Ok(users::create_user(self, scope, user).await?)
    }
    async fn create_first_admin(
        &self,
        token_hash: &str,
        user: NewUser,
        tenant: Option<NewTenant>,
        origin: Option<String>,
    ) -> StoreResult<(User, Option<Tenant>)> {
        Ok(users::create_first_admin(self, token_hash, user, tenant, origin).await?)
    }
    async fn credentials(&self, email: &str) -> StoreResult<Option<(User, String)>> {
        Ok(users::credentials(self, email).await?)
    }
    async fn user(&self, id: UserId) -> StoreResult<Option<User>> {
        Ok(users::user(self, id).await?)
    }
    async fn memberships(&self, user: UserId) -> StoreResult<Vec<Membership>> {
        Ok(users::memberships(self, user).await?)
    }
    async fn create_key(&self, scope: &Scope, key: NewKey) -> StoreResult<ApiKey> {
        Ok(people::create_key(self, scope, key).await?)
    }
    async fn key_by_prefix(&self, prefix: &str) -> StoreResult<Option<(ApiKey, String)>> {
        Ok(people::key_by_prefix(self, prefix).await?)
    }
    async fn put_setting(&self, key: &str, value: &str, expires_at: Option<Timestamp>) -> StoreResult<()> {
        Ok(people::put_setting(self, key, value, expires_at).await?)
    }
    async fn ensure_setting(&self, key: &str, value: &str) -> StoreResult<String> {
        Ok(people::ensure_setting(self, key, value).await?)
    }
    async fn setting(&self, key: &str) -> StoreResult<Option<Setting>> {
        Ok(people::setting(self, key).await?)
    }

    async fn save_session(&self, session: SessionRow) -> StoreResult<()> {
        Ok(sessions::save(self, session).await?)
    }
    async fn session(&self, id_hash: &str) -> StoreResult<Option<SessionRow>> {
        Ok(sessions::load(self, id_hash).await?)
    }
    async fn delete_session(&self, id_hash: &str) -> StoreResult<()> {
        Ok(sessions::delete(self, id_hash).await?)
    }
    async fn prune_sessions(&self) -> StoreResult<u64> {
        Ok(sessions::prune(self).await?)
    }

    async fn ensure_definition(&self, definition: NewDefinition) -> StoreResult<Definition> {
        Ok(definitions::ensure(self, definition).await?)
    }
    async fn definitions(&self) -> StoreResult<Vec<Definition>> {
        Ok(definitions::all(self).await?)
    }
    async fn definition(&self, id: DefinitionId) -> StoreResult<Option<Definition>> {
        Ok(definitions::one(self, id).await?)
    }
    async fn set_definition_active(&self, scope: &Scope, id: DefinitionId, active: bool) -> StoreResult<()> {
        Ok(definitions::set_active(self, scope, id, active).await?)
    }

    async fn set_definition_limits(
        &self,
        scope: &Scope,
        id: DefinitionId,
        limits: DefinitionLimits,
    ) -> StoreResult<()> {
        Ok(limits::set_of_definition(self, scope, id, limits).await?)
    }

    async fn create_jobs(&self, scope: &Scope, jobs: Vec<NewJob>) -> StoreResult<Vec<CreateAnswer>> {
        Ok(create::create_jobs(self, scope, jobs).await?)
    }

    async fn claim(
        &self,
        worker: &WorkerId,
        selector: &Selector,
        n: u32,
        lease: Duration,
    ) -> StoreResult<Vec<ClaimedJob>> {
        Ok(claim::claim(self, worker, selector, n, lease).await?)
    }
    async fn renew(&self, renewals: Vec<Renewal>) -> StoreResult<Vec<RenewAnswer>> {
        Ok(renew::renew(self, renewals).await?)
    }
    async fn finish(&self, rules: &Rules, items: Vec<Finish>) -> StoreResult<Vec<FinishAnswer>> {
        Ok(finish::finish(self, rules, items).await?)
    }
    async fn append_logs(&self, lease: &Lease, attempt: i32, lines: Vec<NewLogLine>) -> StoreResult<bool> {
        Ok(logs::append(self, lease, attempt, lines).await?)
    }
    async fn reclaim_expired(&self, rules: &Rules, limit: u32) -> StoreResult<Vec<Reclaimed>> {
        let scope = Scope::system("reclaim");
        Ok(reclaim::reclaim_expired(self, &scope, &Place::default(), rules, limit).await?)
    }
    async fn cancel_requests(&self, worker: &WorkerId) -> StoreResult<Vec<i64>> {
        Ok(renew::cancel_requests(self, worker).await?)
    }

    async fn cancel(&self, scope: &Scope, job: JobRef, reason: Option<&str>) -> StoreResult<CancelAnswer> {
        Ok(steer::cancel(self, scope, job, reason).await?)
    }
    async fn requeue(&self, scope: &Scope, job: JobRef, reason: Option<&str>) -> StoreResult<()> {
        Ok(steer::requeue(self, scope, job, reason).await?)
    }
    async fn set_queue_control(
        &self,
        scope: &Scope,
        control: QueueControl,
        reason: Option<&str>,
    ) -> StoreResult<()> {
        Ok(steer::set_queue_control(self, scope, control, reason).await?)
    }
    async fn queue_controls(&self) -> StoreResult<Vec<QueueControl>> {
        Ok(steer::queue_controls(self).await?)
    }

    async fn heartbeat(&self, beat: Heartbeat) -> StoreResult<()> {
        Ok(workers::heartbeat(self, beat).await?)
    }
    async fn forget_worker(&self, worker: &WorkerId) -> StoreResult<()> {
        Ok(workers::forget(self, worker).await?)
    }
    async fn workers(&self, limit: u32) -> StoreResult<WorkerList> {
        Ok(workers::all(self, limit).await?)
    }

    async fn job(&self, scope: &Scope, job: JobRef, log_lines: u32) -> StoreResult<Option<JobDetail>> {
        Ok(read::job(self, scope, job, log_lines).await?)
    }
    async fn list(&self, scope: &Scope, filter: &JobFilter, page: PageRequest) -> StoreResult<JobsPage> {
        Ok(list::list(self, scope, filter, page).await?)
    }
    async fn overview(&self, scope: &Scope, tenant: TenantId) -> StoreResult<Overview> {
        Ok(overview::overview(self, scope, tenant).await?)
    }
    async fn logs(
        &self,
        scope: &Scope,
        job: JobRef,
        attempt: i32,
        after: i64,
        limit: u32,
    ) -> StoreResult<Vec<LogLine>> {
        Ok(logs::after(self, scope, job, attempt, after, limit).await?)
    }

    async fn outbox_tail(&self) -> StoreResult<i64> {
        Ok(outbox::tail(self).await?)
    }
    async fn read_outbox(&self, cursor: &mut OutboxCursor, limit: u32) -> StoreResult<Vec<OutboxEvent>> {
        Ok(outbox::read(self, cursor, limit).await?)
    }
    async fn events(
        &self,
        scope: &Scope,
        after: i64,
        up_to: i64,
        limit: u32,
    ) -> StoreResult<Vec<OutboxEvent>> {
        Ok(outbox::events(self, scope, after, up_to, limit).await?)
    }
    async fn oldest_event(&self) -> StoreResult<i64> {
        Ok(outbox::oldest(self).await?)
    }
    async fn fold_counters(&self) -> StoreResult<()> {
        Ok(counters::fold(self).await?)
    }
    async fn recount(&self) -> StoreResult<u64> {
        Ok(counters::recount(self).await?)
    }
}
