//! Events of the tenants' applications, and the jobs they set off.

use super::{
    Engine,
    door::Door,
    trigger_draft::event_name,
    triggers::{Cause, Making},
};
use crate::{
    payload,
    scope::{Permission, Scope},
    triggers::{Firing, NewAppEvent, Received, Verdict, Window, filter},
};
use leasehold_types::{
    AppEvent, FiringOutcome, FiringView, Problem, ProblemCode, Source, TenantId, Trigger, TriggerRule,
    view::Tenant,
};
use serde_json::{Value, json};
use std::collections::HashSet;
use uuid::Uuid;

const LONGEST_ID: usize = 200;
/// Edits of the same triggers that came in between before the sender is told to try again.
const ROUNDS: usize = 10;

#[derive(Clone, Debug)]
pub struct AppEventRequest {
    pub name: String,
    /// The sender's own name for it; repeated, it has no further effect.
    pub event_id: Option<String>,
    pub payload: Value,
}

#[derive(Clone, PartialEq, Debug)]
pub struct EventAnswer {
    pub event: AppEvent,
    /// It had come before, and this is what came of it then.
    pub replayed: bool,
    /// One per trigger that waits for it.
    pub firings: Vec<FiringView>,
}

impl Engine {
    /// Keeps the event and creates the jobs its triggers ask for, all or nothing. What is wrong with one trigger
    /// does not hold up the others.
    pub async fn app_event(
        &self,
        scope: &Scope,
        tenant: TenantId,
        request: AppEventRequest,
    ) -> Result<EventAnswer, Problem> {
        scope.require(Permission::Operate)?;
        let tenant = self.reached_tenant(scope, tenant).await?;
        let event = self.checked_event(tenant.id, request).await?;
        let before = self.store.received_event(tenant.id, &event.event_id, &event.payload_hash).await?;
        if let Some(answer) = before.and_then(answer) {
            return self.as_seen(scope, &tenant, answer).await;
        }
        for _ in 0..ROUNDS {
            let triggers = self.store.triggers_on(tenant.id, &event.name).await?;
            let seen: Vec<_> = triggers.iter().map(|trigger| (trigger.id, trigger.revision)).collect();
            let mut door = Door::open(self, scope, tenant.id).await?;
            let mut firings = Vec::with_capacity(triggers.len());
            for trigger in &triggers {
                firings.push(self.hear(&event, trigger, &tenant, &mut door).await);
            }
            let received = self.store.receive_event(scope, event.clone(), &seen, firings).await?;
            if let Some(answer) = answer(received) {
                return self.as_seen(scope, &tenant, answer).await;
            }
        }
        let detail = "The triggers of this event are being edited. Nothing was kept; please send it again.";
        Err(Problem::new(ProblemCode::Unavailable, detail).retry_after(1))
    }

    /// Without the firings of triggers outside of the caller's domains.
    async fn as_seen(
        &self,
        scope: &Scope,
        tenant: &Tenant,
        mut answer: EventAnswer,
    ) -> Result<EventAnswer, Problem> {
        if scope.domains.is_none() {
            return Ok(answer);
        }
        let definitions = self.definitions().await?;
        let seen = |trigger: &Trigger| {
            definitions.get(&trigger.definition_id).is_some_and(|kind| scope.sees_domain(&kind.domain))
        };
        let triggers = self.store.triggers_on(tenant.id, &answer.event.name).await?;
        let known: HashSet<_> = triggers.iter().filter(|t| seen(t)).map(|trigger| trigger.id).collect();
        answer.firings.retain(|firing| known.contains(&firing.trigger_id));
        Ok(answer)
    }

    async fn checked_event(
        &self,
        tenant_id: TenantId,
        request: AppEventRequest,
    ) -> Result<NewAppEvent, Problem> {
        let name = event_name("name", &request.name)?;
        self.config.secrets.name("name", &name)?;
        let mut payload = request.payload;
        if !payload.is_object() {
            return Err(Problem::invalid("payload", "An event's payload is a JSON object."));
        }
        payload::check_shape(&payload, self.config.max_json_bytes)?;
        let policy = self.config.secrets.knowing(&payload);
        policy.apply("payload", &mut payload)?;
        let id = Uuid::now_v7();
        let given = request.event_id.unwrap_or_else(|| id.to_string());
        let event_id = given.trim().to_owned();
        if event_id.is_empty() || given.chars().count() > LONGEST_ID || event_id.contains(char::is_control) {
            let message = format!("It has 1 to {LONGEST_ID} characters on one line. Nothing was kept.");
            return Err(Problem::invalid("event_id", message));
        }
        let event_id = policy.id("event_id", event_id, self.key_hash().await?)?;
        let payload_hash = payload::canonical_hash(&json!([name, payload]));
        Ok(NewAppEvent { id, tenant_id, event_id, name, payload, payload_hash })
    }

    async fn hear(
        &self,
        event: &NewAppEvent,
        trigger: &Trigger,
        tenant: &Tenant,
        door: &mut Door<'_>,
    ) -> Firing {
        let passes = match &trigger.rule {
            TriggerRule::Event { filter, .. } => filter::passes(filter, &event.payload),
            TriggerRule::Schedule { .. } => false,
        };
        let verdict = if !trigger.is_enabled {
            Verdict::not(FiringOutcome::Disabled, "The trigger is switched off.")
        } else if !passes {
            Verdict::not(FiringOutcome::Filtered, "The event does not pass the trigger's filter.")
        } else {
            let cause = Cause::Event { payload: &event.payload, event_id: Some(&event.event_id) };
            match Making::of(trigger, tenant, cause).job(self, door, Source::Event).await {
                Ok(job) => {
                    let seconds = trigger.dedupe_window_seconds;
                    let payload_hash = payload::canonical_hash(&job.payload);
                    let window = (seconds > 0).then_some(Window { payload_hash, seconds });
                    Verdict::Enqueue { job: Box::new(job), window }
                }
                Err(problem) => {
                    Verdict::refused(&problem, &self.config.secrets.redactor().knowing(&event.payload))
                }
            }
        };
        let (tenant_id, label) = (trigger.tenant_id, trigger.label.clone());
        Firing { trigger_id: trigger.id, tenant_id, label, due_at: None, verdict }
    }
}

/// None: decide again.
fn answer(received: Received) -> Option<EventAnswer> {
    match received {
        Received::Kept(event, firings) => Some(EventAnswer { event, replayed: false, firings }),
        Received::Replayed(event, firings) => Some(EventAnswer { event, replayed: true, firings }),
        Received::Overtaken => None,
    }
}
