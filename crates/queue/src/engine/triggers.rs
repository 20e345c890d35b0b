//! Triggers as people keep them: checked when they are saved, so that what can be known to fail never waits for its
//! first firing.

use super::{
    Engine,
    door::Door,
    enqueue::EnqueueRequest,
    trigger_checks::never_due,
    trigger_draft::{Decided, TriggerDraft},
};
use crate::{
    params::NewJob,
    payload,
    scope::{Permission, Scope},
    triggers::{
        Firing, NewTrigger, TriggerEdit, Verdict, no_such_trigger,
        schedule::{Schedule, Upcoming, zone_name},
        template,
    },
};
use leasehold_types::{
    FiringView, Problem, ProblemCode, Source, TenantId, Timestamp, Trigger, TriggerId, TriggerRule,
    view::Tenant,
};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// Lines of a preview.
const PREVIEWED: usize = 10;
/// Edits that came in between before an editor is told to try again.
const ROUNDS: usize = 10;
const MOST_LISTED: u32 = 1_000;

/// What a payload is made for.
pub(super) struct Making<'a> {
    pub tenant: &'a Tenant,
    pub trigger: TriggerId,
    pub label: &'a str,
    pub definition_key: &'a str,
    pub template: &'a Value,
    pub cause: Cause<'a>,
}

#[derive(Clone, Copy)]
pub(super) enum Cause<'a> {
    Schedule { due_at: Timestamp, timezone: &'a str },
    Event { payload: &'a Value, event_id: Option<&'a str> },
}

impl<'a> Making<'a> {
    pub fn of(trigger: &'a Trigger, tenant: &'a Tenant, cause: Cause<'a>) -> Self {
        Self {
            tenant,
            trigger: trigger.id,
            label: &trigger.label,
            definition_key: &trigger.definition_key,
            template: &trigger.payload_template,
            cause,
        }
    }

    fn context(&self) -> Map<String, Value> {
        let tenant = self.tenant;
        let mut context = Map::new();
        let about =
            json!({"id": tenant.id, "slug": tenant.slug, "name": tenant.name, "timezone": tenant.timezone});
        context.insert("tenant".into(), about);
        context.insert("trigger".into(), json!({"id": self.trigger, "label": self.label}));
        match self.cause {
            Cause::Schedule { due_at, timezone } => {
                context.insert("schedule".into(), json!({"due_at": due_at, "timezone": timezone}))
            }
            Cause::Event { payload, .. } => context.insert("event".into(), payload.clone()),
        };
        context
    }

    /// The job, past everything the door decides by itself.
    pub async fn job(&self, engine: &Engine, door: &mut Door<'_>, source: Source) -> Result<NewJob, Problem> {
        let payload = template::render(self.template, &self.context(), engine.config.max_json_bytes)?;
        let mut request = EnqueueRequest::new(self.definition_key, payload, source);
        let mut about = json!({"id": self.trigger, "label": self.label});
        let mut source_ref = self.trigger.to_string();
        match self.cause {
            Cause::Schedule { due_at, .. } => about["due_at"] = json!(due_at),
            Cause::Event { event_id: Some(event_id), .. } => {
                request.correlation_id = Some(event_id.to_owned());
                source_ref = event_id.to_owned();
            }
            Cause::Event { event_id: None, .. } => {}
        }
        let mut job = door.check(request).await?;
        job.source_ref = Some(source_ref);
        job.metadata = json!({"trigger": about});
        Ok(job)
    }
}

impl Engine {
    pub async fn create_trigger(
        &self,
        scope: &Scope,
        tenant: TenantId,
        draft: TriggerDraft,
    ) -> Result<Trigger, Problem> {
        scope.require(Permission::Operate)?;
        let tenant = self.reached_tenant(scope, tenant).await?;
        let mut decided = draft.decide(None, &tenant.timezone)?;
        decided.label = self.config.secrets.words("label", &decided.label)?;
        let new = self.checked(scope, &tenant, TriggerId(Uuid::now_v7()), decided).await?;
        Ok(self.as_shown(self.store.create_trigger(scope, new).await?))
    }

    pub async fn update_trigger(
        &self,
        scope: &Scope,
        id: TriggerId,
        draft: TriggerDraft,
    ) -> Result<Trigger, Problem> {
        scope.require(Permission::Operate)?;
        for _ in 0..ROUNDS {
            let old = self.kept_trigger(scope, id).await?;
            let tenant = self.reached_tenant(scope, old.tenant_id).await?;
            let mut decided = draft.clone().decide(Some(&old), &tenant.timezone)?;
            decided.label = self.config.secrets.words("label", &decided.label)?;
            let reschedule = decided.rule != old.rule || decided.is_enabled != old.is_enabled;
            let new = self.edited(scope, &tenant, &old, decided).await?;
            let edit = TriggerEdit { revision: old.revision, new, reschedule };
            if let Some(saved) = self.store.update_trigger(scope, id, edit).await? {
                return Ok(self.as_shown(saved));
            }
        }
        let detail = "Others are editing this trigger right now. Nothing was changed; please try again.";
        Err(Problem::new(ProblemCode::Unavailable, detail).retry_after(1))
    }

    /// Switching off must always work, also when what it would create is not valid any more.
    async fn edited(
        &self,
        scope: &Scope,
        tenant: &Tenant,
        old: &Trigger,
        decided: Decided,
    ) -> Result<NewTrigger, Problem> {
        let as_before = decided.rule == old.rule
            && decided.definition_key == old.definition_key
            && decided.payload_template == old.payload_template;
        if decided.is_enabled || !as_before {
            return self.checked(scope, tenant, old.id, decided).await;
        }
        Ok(NewTrigger {
            tenant_id: tenant.id,
            label: decided.label,
            is_enabled: false,
            rule: decided.rule,
            definition_id: old.definition_id,
            payload_template: decided.payload_template,
            dedupe_window_seconds: decided.dedupe_window_seconds,
            next_due_at: None,
        })
    }

    pub async fn delete_trigger(&self, scope: &Scope, id: TriggerId) -> Result<(), Problem> {
        scope.require(Permission::Operate)?;
        self.kept_trigger(scope, id).await?;
        Ok(self.store.delete_trigger(scope, id).await?)
    }

    pub async fn trigger(&self, scope: &Scope, id: TriggerId) -> Result<Trigger, Problem> {
        scope.require(Permission::View)?;
        Ok(self.as_shown(self.kept_trigger(scope, id).await?))
    }

    pub async fn triggers(
        &self,
        scope: &Scope,
        after: Option<TriggerId>,
        limit: u32,
    ) -> Result<Vec<Trigger>, Problem> {
        scope.require(Permission::View)?;
        let definitions = self.definitions().await?;
        let domain = |trigger: &Trigger| definitions.get(&trigger.definition_id).map(|d| d.domain.as_str());
        let seen = |trigger: &Trigger| domain(trigger).is_none_or(|domain| scope.sees_domain(domain));
        let (limit, mut after, mut found) = (limit.clamp(1, MOST_LISTED), after, Vec::new());
        loop {
            let page = self.store.triggers(scope, after, limit).await?;
            let is_last = page.len() < limit as usize;
            after = page.last().map(|trigger| trigger.id);
            found.extend(page.into_iter().filter(seen).map(|trigger| self.as_shown(trigger)));
            if is_last || found.len() >= limit as usize {
                found.truncate(limit as usize);
                return Ok(found);
            }
        }
    }

    /// As it is kept, for whoever may use the domain it makes jobs in.
    async fn kept_trigger(&self, scope: &Scope, id: TriggerId) -> Result<Trigger, Problem> {
        let found = self.store.trigger(scope, id).await?.ok_or_else(no_such_trigger)?;
        if let Some(definition) = self.definitions().await?.get(&found.definition_id) {
            scope.check_domain(&definition.domain)?;
        }
        Ok(found)
    }

    /// Without secrets, whatever was let in.
    fn as_shown(&self, mut trigger: Trigger) -> Trigger {
        self.config.secrets.hide(&mut trigger.payload_template);
        if let TriggerRule::Event { filter, .. } = &mut trigger.rule {
            self.config.secrets.hide(filter);
        }
        trigger
    }

    /// What became of a trigger's firings, newest first.
    pub async fn firings(
        &self,
        scope: &Scope,
        id: TriggerId,
        limit: u32,
    ) -> Result<Vec<FiringView>, Problem> {
        scope.require(Permission::View)?;
        self.kept_trigger(scope, id).await?;
        Ok(self.store.firings(scope, id, limit.clamp(1, MOST_LISTED)).await?)
    }

    /// Fires a trigger now, also one that is switched off; an event's with this payload. What its template cannot
    /// make a job of is refused.
    pub async fn run_trigger(
        &self,
        scope: &Scope,
        id: TriggerId,
        event: Option<Value>,
    ) -> Result<FiringView, Problem> {
        scope.require(Permission::Operate)?;
        let trigger = self.kept_trigger(scope, id).await?;
        let tenant = self.reached_tenant(scope, trigger.tenant_id).await?;
        let payload = event.unwrap_or_else(|| json!({}));
        payload::check_shape(&payload, self.config.max_json_bytes)?;
        let secrets = self.config.secrets.knowing(&payload);
        let cause = match &trigger.rule {
            TriggerRule::Schedule { timezone, .. } => Cause::Schedule { due_at: self.now(), timezone },
            TriggerRule::Event { .. } => Cause::Event { payload: &payload, event_id: None },
        };
        let mut door = Door::open(self, scope, tenant.id).await?;
        let job = Making::of(&trigger, &tenant, cause).job(self, &mut door, Source::Manual).await;
        let job = job.map_err(|problem| secrets.problem(problem))?;
        let verdict = Verdict::Enqueue { job: Box::new(job), window: None };
        let (tenant_id, label) = (trigger.tenant_id, trigger.label.clone());
        let firing = Firing { trigger_id: id, tenant_id, label, due_at: None, verdict };
        Ok(self.store.run_trigger(scope, firing).await?)
    }

    /// The next times a schedule would be due, on the tenant's clock unless a zone is given.
    pub async fn preview_schedule(
        &self,
        scope: &Scope,
        tenant: Option<TenantId>,
        cron_expr: &str,
        timezone: Option<&str>,
    ) -> Result<(String, Vec<Upcoming>), Problem> {
        scope.require(Permission::View)?;
        let own = match (timezone, tenant) {
            (Some(zone), _) => zone.to_owned(),
            (None, Some(tenant)) => self.reached_tenant(scope, tenant).await?.timezone,
            (None, None) => "UTC".to_owned(),
        };
        let lines = Schedule::parse(cron_expr, &own)?.upcoming(self.now(), PREVIEWED);
        if lines.is_empty() {
            return Err(never_due());
        }
        Ok((zone_name(&own)?, lines))
    }

    pub(super) async fn reached_tenant(&self, scope: &Scope, id: TenantId) -> Result<Tenant, Problem> {
        let found = if scope.reaches(id) { self.store.tenant(scope, id).await? } else { None };
        found.ok_or_else(|| Problem::not_found("This tenant"))
    }
}
