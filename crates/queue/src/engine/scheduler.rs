//! The scheduler: fires what is due. Every process looks once a second; the leader fires, so that the others need not.
//!
//! Leadership only saves work. That no time fires twice is the store's part: whoever comes second finds that the
//! trigger has moved on. So when the leader does not get on with what is due, any other process fires it.

use super::{
    Engine,
    door::Door,
    triggers::{Cause, Making},
};
use crate::{
    scope::Scope,
    store::{StoreError, StoreResult},
    triggers::{
        DueTrigger, Firing, Verdict,
        catch_up::{self, MOST_CAUGHT_UP},
        schedule::Schedule,
    },
};
use leasehold_types::{
    FiringOutcome, FiringView, Problem, Source, TenantId, Timestamp, Trigger, TriggerRule, view::Tenant,
};
use std::{collections::HashMap, time::Duration};

const LEADERSHIP: &str = "scheduler";
const LEADS_FOR: Duration = Duration::from_secs(10);
/// So long the leader may take before others help.
const PATIENCE: Duration = Duration::from_secs(5);
/// Firings in one transaction, roughly.
const AT_ONCE: usize = 2_000;
/// Full looks in a row; then the next second takes over.
const ROUNDS: usize = 50;
/// Up to so many tenants are read one by one.
const FEW_TENANTS: usize = 16;

impl Engine {
    /// One look; how many firings were written. When nothing is due it costs one look into an index.
    pub async fn fire_due_triggers(&self, holder: &str) -> StoreResult<usize> {
        let mut written = 0;
        for _ in 0..ROUNDS {
            let due = self.store.due_triggers().await?;
            let Some(oldest) = due.iter().filter_map(|trigger| trigger.next_due_at).min() else { break };
            let late = oldest.plus(PATIENCE) < self.now();
            if !self.store.try_lead(LEADERSHIP, holder, LEADS_FOR).await? && !late {
                break;
            }
            let fired = self.fire_all(due).await?;
            if fired == 0 {
                break;
            }
            written += fired;
        }
        Ok(written)
    }

    async fn fire_all(&self, mut due: Vec<Trigger>) -> StoreResult<usize> {
        let (scope, now) = (Scope::system("scheduler"), self.now());
        let tenants = self.tenants_of(&due).await?;
        // Sorted, so that the door turns once per tenant.
        due.sort_by_key(|trigger| trigger.tenant_id);
        let (mut door, mut facing) = (None, None);
        let (mut batch, mut size, mut fired) = (Vec::new(), 0, 0);
        for trigger in due {
            let Some(tenant) = tenants.get(&trigger.tenant_id) else { continue };
            let door = match &mut door {
                Some(door) => door,
                none => none.insert(Door::open(self, &scope, tenant.id).await?),
            };
            if facing != Some(tenant.id) {
                door.turn_to(tenant.id, tenant.limits.clone());
                facing = Some(tenant.id);
            }
            let planned = self.plan(&trigger, tenant, door, now).await;
            size += planned.firings.len();
            batch.push(planned);
            if size >= AT_ONCE {
                fired += self.fire(&scope, std::mem::take(&mut batch)).await?.len();
                size = 0;
            }
        }
        Ok(fired + self.fire(&scope, batch).await?.len())
    }

    /// One trigger that the database cannot write must not stop the others of its batch.
    async fn fire(&self, scope: &Scope, batch: Vec<DueTrigger>) -> StoreResult<Vec<FiringView>> {
        if batch.len() <= 1 {
            return if batch.is_empty() { Ok(Vec::new()) } else { self.store.fire_due(scope, batch).await };
        }
        match self.store.fire_due(scope, batch.clone()).await {
            Err(error) if !is_transient(&error) => {
                tracing::warn!(%error, "schedules cannot be fired together; trying one by one");
                let mut views = Vec::new();
                for due in batch {
                    let id = due.id;
                    match self.store.fire_due(scope, vec![due]).await {
                        Ok(fired) => views.extend(fired),
                        Err(error) if is_transient(&error) => return Err(error),
                        Err(error) => tracing::error!(trigger = %id, %error, "a schedule cannot be fired"),
                    }
                }
                Ok(views)
            }
            fired => fired,
        }
    }

    async fn tenants_of(&self, due: &[Trigger]) -> StoreResult<HashMap<TenantId, Tenant>> {
        let scope = Scope::system("scheduler");
        let mut ids: Vec<TenantId> = due.iter().map(|trigger| trigger.tenant_id).collect();
        ids.sort();
        ids.dedup();
        if ids.len() > FEW_TENANTS {
            return Ok(self.store.tenants(&scope).await?.into_iter().map(|t| (t.id, t)).collect());
        }
        let mut tenants = HashMap::new();
        for id in ids {
            tenants.extend(self.store.tenant(&scope, id).await?.map(|tenant| (id, tenant)));
        }
        Ok(tenants)
    }

    async fn plan(
        &self,
        trigger: &Trigger,
        tenant: &Tenant,
        door: &mut Door<'_>,
        now: Timestamp,
    ) -> DueTrigger {
        let was_due_at = trigger.next_due_at.unwrap_or(now);
        let mut planned = DueTrigger {
            id: trigger.id,
            revision: trigger.revision,
            was_due_at,
            next_due_at: None,
            firings: Vec::new(),
        };
        let TriggerRule::Schedule { cron_expr, timezone, catch_up } = &trigger.rule else { return planned };
        let schedule = match Schedule::parse(cron_expr, timezone) {
            Ok(schedule) => schedule,
            // Saved by a version that knew more zones, say. It waits for somebody to edit it.
            Err(problem) => {
                planned.firings.push(firing(
                    trigger,
                    was_due_at,
                    Verdict::refused(&problem, self.config.secrets.redactor()),
                ));
                return planned;
            }
        };
        let due = catch_up::due(&schedule, *catch_up, was_due_at, now);
        planned.next_due_at = due.next;
        if let Some(dropped) = due.dropped {
            planned.firings.push(firing(trigger, dropped, missed()));
        }
        for due_at in due.fire {
            let cause = Cause::Schedule { due_at, timezone };
            door.next_call();
            let verdict = match Making::of(trigger, tenant, cause).job(self, door, Source::Schedule).await {
                Ok(job) => Verdict::Enqueue { job: Box::new(job), window: None },
                Err(problem) => {
                    let redactor = self.config.secrets.redactor().knowing(&trigger.payload_template);
                    Verdict::refused(&problem, &redactor)
                }
            };
            planned.firings.push(firing(trigger, due_at, verdict));
        }
        planned
    }
}

fn firing(trigger: &Trigger, due_at: Timestamp, verdict: Verdict) -> Firing {
    let (tenant_id, label) = (trigger.tenant_id, trigger.label.clone());
    Firing { trigger_id: trigger.id, tenant_id, label, due_at: Some(due_at), verdict }
}

fn missed() -> Verdict {
    let detail = format!(
        "Due while nobody looked, and dropped by the trigger's catch-up policy, as were older times if there were \
         any (never more than {MOST_CAUGHT_UP} are made up for)."
    );
    Verdict::not(FiringOutcome::Missed, detail)
}

fn is_transient(error: &StoreError) -> bool {
    match error {
        StoreError::Database { transient, .. } => *transient,
        StoreError::Problem(Problem { retry_after_seconds, .. }) => retry_after_seconds.is_some(),
        StoreError::Corrupt { .. } => false,
    }
}
