//! What a trigger must be like to be saved.

use super::{
    Engine,
    door::Door,
    trigger_draft::Decided,
    triggers::{Cause, Making},
};
use crate::{
    payload,
    scope::Scope,
    secrets::Redactor,
    triggers::{NewTrigger, in_words, schedule::Schedule, template},
};
use leasehold_types::{
    Problem, ProblemCode, Source, TenantId, Timestamp, TriggerId, TriggerKind, TriggerRule, view::Tenant,
};
use serde_json::{Value, json};

/// Thousands of templates are held in memory when their minute comes.
const LARGEST_TEMPLATE: usize = 16 * 1024;
/// Triggers of a tenant that listen to the same name.
const MOST_LISTENING: usize = 100;

impl Engine {
    pub(super) async fn checked(
        &self,
        scope: &Scope,
        tenant: &Tenant,
        id: TriggerId,
        mut decided: Decided,
    ) -> Result<NewTrigger, Problem> {
        let definition = self.definition_by_key(&decided.definition_key).await?;
        if !definition.is_active {
            let detail = format!("“{}” is switched off. The trigger was not saved.", definition.key);
            return Err(Problem::new(ProblemCode::DefinitionInactive, detail));
        }
        scope.check_domain(&definition.domain)?;
        let largest = self.config.max_json_bytes.min(LARGEST_TEMPLATE);
        payload::check_shape(&decided.payload_template, largest)
            .map_err(|problem| not_saved(problem, self.config.secrets.redactor()))?;
        self.check_crowd(tenant.id, id, &decided.rule).await?;
        let secrets = &self.config.secrets;
        let not_saved = |problem| not_saved(problem, secrets.redactor());
        secrets.apply("payload", &mut decided.payload_template).map_err(not_saved)?;
        if let TriggerRule::Event { filter, event_name } = &mut decided.rule {
            secrets.name("event_name", event_name).map_err(not_saved)?;
            secrets.apply("filter", filter).map_err(not_saved)?;
        }
        let next_due_at = self.next_due(&decided.rule)?;
        let roots: &[&str] = match decided.rule.kind() {
            TriggerKind::Event => &["event", "tenant", "trigger"],
            TriggerKind::Schedule => &["schedule", "tenant", "trigger"],
        };
        let has_placeholders = template::check(&decided.payload_template, roots)?;
        let mut door = Door::open(self, scope, tenant.id).await?;
        let nothing = json!({});
        let cause = first_cause(&decided.rule, next_due_at.unwrap_or(self.now()), &nothing, has_placeholders);
        let fits = match cause {
            Some(cause) => Making {
                tenant,
                trigger: id,
                label: &decided.label,
                definition_key: &definition.key,
                template: &decided.payload_template,
                cause,
            }
            .job(self, &mut door, Source::Schedule)
            .await
            .map(drop),
            None => door.check_frame(&definition, &decided.payload_template),
        };
        fits.map_err(not_saved)?;
        Ok(NewTrigger {
            tenant_id: tenant.id,
            label: decided.label,
            is_enabled: decided.is_enabled,
            rule: decided.rule,
            definition_id: definition.id,
            payload_template: decided.payload_template,
            dedupe_window_seconds: decided.dedupe_window_seconds,
            next_due_at: next_due_at.filter(|_| decided.is_enabled),
        })
    }

    /// One event sets off all triggers that listen to its name, at once and in memory.
    async fn check_crowd(&self, tenant: TenantId, id: TriggerId, rule: &TriggerRule) -> Result<(), Problem> {
        let TriggerRule::Event { event_name, .. } = rule else { return Ok(()) };
        let others = self.store.triggers_on(tenant, event_name).await?;
        if others.iter().filter(|other| other.id != id).count() < MOST_LISTENING {
            return Ok(());
        }
        let detail = format!(
            "{MOST_LISTENING} triggers listen to “{event_name}” already; more are not possible. The trigger was not saved."
        );
        Err(Problem::new(ProblemCode::QuotaExceeded, detail)
            .with_field("event_name", "Too many listen to it."))
    }

    fn next_due(&self, rule: &TriggerRule) -> Result<Option<Timestamp>, Problem> {
        match rule {
            TriggerRule::Event { .. } => Ok(None),
            TriggerRule::Schedule { cron_expr, timezone, .. } => {
                let next = Schedule::parse(cron_expr, timezone)?.next(self.now());
                next.map(Some).ok_or_else(never_due)
            }
        }
    }
}

pub(super) fn never_due() -> Problem {
    Problem::invalid("cron_expr", "This schedule is never due in the next fifty years. Nothing was changed.")
}

/// The same problem in the words of somebody who saves a trigger.
fn not_saved(problem: Problem, redactor: &Redactor) -> Problem {
    let said = in_words(&problem, redactor).replace(" Nothing was enqueued.", "");
    let mut not_saved = Problem::new(problem.code, format!("The trigger was not saved: {said}"));
    for error in problem.errors {
        not_saved =
            not_saved.with_field(error.field.replacen("payload", "payload_template", 1), error.message);
    }
    not_saved
}

/// What the trigger's first job would come from, as far as it can be known before.
fn first_cause<'a>(
    rule: &'a TriggerRule,
    due_at: Timestamp,
    nothing: &'a Value,
    has_placeholders: bool,
) -> Option<Cause<'a>> {
    match rule {
        TriggerRule::Schedule { timezone, .. } => Some(Cause::Schedule { due_at, timezone }),
        TriggerRule::Event { .. } if !has_placeholders => {
            Some(Cause::Event { payload: nothing, event_id: None })
        }
        // What the values will be is not known yet.
        TriggerRule::Event { .. } => None,
    }
}
