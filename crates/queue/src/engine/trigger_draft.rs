//! A trigger as somebody wrote it: which fields go together, and what each may be.

use crate::triggers::{filter, schedule};
use leasehold_types::{CatchUp, Problem, Trigger, TriggerKind, TriggerRule};
use serde_json::{Value, json};

const LONGEST_LABEL: usize = 200;
const LONGEST_NAME: usize = 200;
/// Shorter than firings are kept.
const LONGEST_WINDOW: i32 = 7 * 86_400;
const USUAL_WINDOW: i32 = 300;

/// What is given; the rest stays as it is, or takes its usual value in a new trigger.
#[derive(Clone, Default, Debug)]
pub struct TriggerDraft {
    pub label: Option<String>,
    pub is_enabled: Option<bool>,
    pub trigger_type: Option<TriggerKind>,
    pub event_name: Option<String>,
    pub filter: Option<Value>,
    pub cron_expr: Option<String>,
    pub timezone: Option<String>,
    pub catch_up: Option<CatchUp>,
    pub definition_key: Option<String>,
    pub payload_template: Option<Value>,
    pub dedupe_window_seconds: Option<i32>,
}

/// A draft with every field decided.
#[derive(Clone, PartialEq, Debug)]
pub struct Decided {
    pub label: String,
    pub is_enabled: bool,
    pub rule: TriggerRule,
    pub definition_key: String,
    pub payload_template: Value,
    pub dedupe_window_seconds: i32,
}

impl TriggerDraft {
    /// `old` is the trigger that is edited; `timezone` the tenant's own.
    pub fn decide(self, old: Option<&Trigger>, timezone: &str) -> Result<Decided, Problem> {
        let rule = self.rule(old.map(|old| &old.rule), timezone)?;
        let window = self.dedupe_window_seconds.or_else(|| old.map(|old| old.dedupe_window_seconds));
        Ok(Decided {
            label: label(self.label.or_else(|| old.map(|old| old.label.clone())))?,
            is_enabled: self.is_enabled.or_else(|| old.map(|old| old.is_enabled)).unwrap_or(true),
            rule,
            definition_key: self
                .definition_key
                .or_else(|| old.map(|old| old.definition_key.clone()))
                .ok_or_else(|| missing("definition_key", "the kind of job to create"))?,
            payload_template: self
                .payload_template
                .or_else(|| old.map(|old| old.payload_template.clone()))
                .unwrap_or_else(|| json!({})),
            dedupe_window_seconds: checked_window(window.unwrap_or(USUAL_WINDOW))?,
        })
    }

    fn rule(&self, old: Option<&TriggerRule>, timezone: &str) -> Result<TriggerRule, Problem> {
        let kind = self.trigger_type.or_else(|| old.map(TriggerRule::kind));
        let kind = kind.ok_or_else(|| missing("trigger_type", "“event” or “schedule”"))?;
        if old.is_some_and(|old| old.kind() != kind) {
            let message =
                "A trigger stays an event's or a schedule's; please make a new one. Nothing was changed.";
            return Err(Problem::invalid("trigger_type", message));
        }
        match kind {
            TriggerKind::Event => self.event_rule(old),
            TriggerKind::Schedule => self.schedule_rule(old, timezone),
        }
    }

    fn event_rule(&self, old: Option<&TriggerRule>) -> Result<TriggerRule, Problem> {
        only(
            "schedule",
            &[
                ("cron_expr", self.cron_expr.is_some()),
                ("timezone", self.timezone.is_some()),
                ("catch_up", self.catch_up.is_some()),
            ],
        )?;
        let (old_name, old_filter) = match old {
            Some(TriggerRule::Event { event_name, filter }) => (Some(event_name), Some(filter)),
            _ => (None, None),
        };
        let name = self.event_name.as_ref().or(old_name);
        let name = name.ok_or_else(|| missing("event_name", "the event to wait for"))?;
        let filter = self.filter.as_ref().or(old_filter).cloned().unwrap_or_else(|| json!({}));
        filter::check(&filter)?;
        Ok(TriggerRule::Event { event_name: event_name("event_name", name)?, filter })
    }

    fn schedule_rule(&self, old: Option<&TriggerRule>, timezone: &str) -> Result<TriggerRule, Problem> {
        only("event", &[("event_name", self.event_name.is_some()), ("filter", self.filter.is_some())])?;
        let (old_cron, old_zone, old_catch_up) = match old {
            Some(TriggerRule::Schedule { cron_expr, timezone, catch_up }) => {
                (Some(cron_expr), Some(timezone), Some(*catch_up))
            }
            _ => (None, None, None),
        };
        let cron = self.cron_expr.as_ref().or(old_cron);
        let cron = cron.ok_or_else(|| missing("cron_expr", "five fields such as “0 2 * * *”"))?;
        let zone = self.timezone.as_ref().or(old_zone).map_or(timezone, String::as_str);
        // Five fields, however they were spaced.
        let cron_expr = cron.split_whitespace().collect::<Vec<_>>().join(" ");
        schedule::Schedule::parse(&cron_expr, zone)?;
        Ok(TriggerRule::Schedule {
            cron_expr,
            timezone: schedule::zone_name(zone)?,
            catch_up: self.catch_up.or(old_catch_up).unwrap_or(CatchUp::Once),
        })
    }
}

fn missing(field: &str, what: &str) -> Problem {
    Problem::invalid(field, format!("Please give {what}. Nothing was changed."))
}

fn only(kind: &str, given: &[(&str, bool)]) -> Result<(), Problem> {
    match given.iter().find(|(_, given)| *given) {
        Some((field, _)) => {
            let message = format!("Only a trigger of the type “{kind}” has this. Nothing was changed.");
            Err(Problem::invalid(*field, message))
        }
        None => Ok(()),
    }
}

fn label(label: Option<String>) -> Result<String, Problem> {
    let given = label.unwrap_or_default();
    let label = given.trim();
    if label.is_empty() || given.chars().count() > LONGEST_LABEL || label.contains(char::is_control) {
        let message = format!("A label has 1 to {LONGEST_LABEL} characters on one line.");
        return Err(Problem::invalid("label", message));
    }
    Ok(label.to_owned())
}

/// `provider.folder.updated`
pub fn event_name(field: &str, given: &str) -> Result<String, Problem> {
    let name = given.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || "._:-/".contains(c);
    if name.is_empty() || given.len() > LONGEST_NAME || !name.chars().all(plain) {
        let message = format!("An event's name has 1 to {LONGEST_NAME} letters, digits and . _ : - /.");
        return Err(Problem::invalid(field, message));
    }
    Ok(name.to_owned())
}

fn checked_window(seconds: i32) -> Result<i32, Problem> {
    if (0..=LONGEST_WINDOW).contains(&seconds) {
        return Ok(seconds);
    }
    let message = format!("It must be between 0 and {LONGEST_WINDOW} seconds, not {seconds}.");
    Err(Problem::invalid("dedupe_window_seconds", message))
}
