//! Triggers and their firings.

use super::bench::{Bench, code_of};
use leasehold_queue::{
    gate::{Counted, Extent, Gate, Measure, Refusal},
    params::NewJob,
    scope::Scope,
    triggers::{DueTrigger, Firing, NewTrigger, TriggerEdit, Verdict},
};
use leasehold_types::{
    CatchUp, DefinitionId, FiringOutcome, JobFilter, JobRef, PageRequest, Source, TenantId, Timestamp,
    Trigger, TriggerId, TriggerRule,
};
use serde_json::json;
use uuid::Uuid;

impl Bench {
    /// A schedule of every minute whose next time is given.
    pub(super) fn scheduled(&self, tenant: TenantId, due: Timestamp) -> NewTrigger {
        NewTrigger {
            tenant_id: tenant,
            label: "Every minute".into(),
            is_enabled: true,
            rule: TriggerRule::Schedule {
                cron_expr: "* * * * *".into(),
                timezone: "Europe/Berlin".into(),
                catch_up: CatchUp::All,
            },
            definition_id: self.definition.id,
            payload_template: json!({"a": 1}),
            dedupe_window_seconds: 300,
            next_due_at: Some(due),
        }
    }

    pub(super) fn listening(&self, tenant: TenantId, event_name: &str) -> NewTrigger {
        NewTrigger {
            label: "On the event".into(),
            rule: TriggerRule::Event { event_name: event_name.into(), filter: json!({"x": 1}) },
            next_due_at: None,
            ..self.scheduled(tenant, self.clock.now())
        }
    }

    pub(super) async fn trigger(&self, new: NewTrigger) -> Trigger {
        self.store.create_trigger(&Scope::system("test"), new).await.unwrap()
    }

    pub(super) async fn reread(&self, id: TriggerId) -> Trigger {
        self.store.trigger(&Scope::system("test"), id).await.unwrap().expect("the trigger is there")
    }

    pub(super) async fn all_jobs(&self) -> i64 {
        let all = PageRequest::default();
        let list = self.store.list(&Scope::system("test"), &JobFilter::default(), all).await.unwrap();
        list.matching.count
    }

    pub(super) fn firing(&self, trigger: &Trigger, due_at: Option<Timestamp>) -> Firing {
        let job = NewJob {
            source: if due_at.is_some() { Source::Schedule } else { Source::Event },
            source_ref: Some(trigger.id.to_string()),
            ..self.job(trigger.tenant_id)
        };
        Firing {
            trigger_id: trigger.id,
            tenant_id: trigger.tenant_id,
            label: trigger.label.clone(),
            due_at,
            verdict: Verdict::Enqueue { job: Box::new(job), window: None },
        }
    }

    /// The trigger's time due fires, and it is due again a minute later.
    pub(super) fn due(&self, trigger: &Trigger) -> DueTrigger {
        let due_at = trigger.next_due_at.expect("it has a time due");
        DueTrigger {
            id: trigger.id,
            revision: trigger.revision,
            was_due_at: due_at,
            next_due_at: Some(due_at.plus_secs(60)),
            firings: vec![self.firing(trigger, Some(due_at))],
        }
    }

    pub(super) async fn fire(&self, due: DueTrigger) -> Vec<leasehold_types::FiringView> {
        self.store.fire_due(&Scope::system("test"), vec![due]).await.unwrap()
    }
}

fn edit_of(trigger: &Trigger, new: NewTrigger, reschedule: bool) -> TriggerEdit {
    TriggerEdit { revision: trigger.revision, new, reschedule }
}

pub async fn a_trigger_comes_back_whole(b: Bench) {
    let now = b.clock.now();
    let schedule = b.store.create_trigger(&b.ann(), b.scheduled(b.a, now)).await.unwrap();
    let event = b.store.create_trigger(&b.ann(), b.listening(b.a, "folder.updated")).await.unwrap();
    assert_eq!(b.store.trigger(&b.ann(), schedule.id).await.unwrap().as_ref(), Some(&schedule));
    assert_eq!((schedule.rule.clone(), schedule.next_due_at), (b.scheduled(b.a, now).rule, Some(now)));
    assert_eq!((event.rule.clone(), event.next_due_at), (b.listening(b.a, "folder.updated").rule, None));
    assert_eq!((event.definition_key.as_str(), &event.payload_template), ("import", &json!({"a": 1})));
    assert_eq!((event.dedupe_window_seconds, event.is_enabled, event.revision), (300, true, 1));
    assert_eq!((event.last_error, event.last_fired_at, event.created_at), (None, None, now));
}

pub async fn triggers_are_listed_within_a_scope(b: Bench) {
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(b.trigger(b.listening(b.a, "x")).await.id);
    }
    let foreign = b.trigger(b.listening(b.b, "x")).await.id;
    let list = async |scope: &Scope, after, limit| {
        let found = b.store.triggers(scope, after, limit).await.unwrap();
        found.into_iter().map(|t| t.id).collect::<Vec<_>>()
    };
    assert_eq!(list(&b.ann(), None, 2).await, ids[..2]);
    assert_eq!(list(&b.ann(), Some(ids[1]), 2).await, ids[2..]);
    assert_eq!(list(&b.bob(), None, 9).await, [foreign]);
    assert_eq!(list(&Scope::system("test"), None, 9).await.len(), 4);
    let on: Vec<_> = b.store.triggers_on(b.a, "x").await.unwrap().into_iter().map(|t| t.id).collect();
    assert_eq!(on, ids);
    assert!(b.store.triggers_on(b.a, "y").await.unwrap().is_empty());
}

pub async fn a_foreign_trigger_does_not_exist(b: Bench) {
    let trigger = b.trigger(b.scheduled(b.a, b.clock.now())).await;
    b.fire(b.due(&trigger)).await;
    assert_eq!(b.store.trigger(&b.bob(), trigger.id).await.unwrap(), None);
    assert!(b.store.firings(&b.bob(), trigger.id, 9).await.unwrap().is_empty());
    let edit = || edit_of(&trigger, b.scheduled(b.b, b.clock.now()), true);
    assert_eq!(code_of(b.store.update_trigger(&b.bob(), trigger.id, edit()).await), "NOT_FOUND");
    assert_eq!(code_of(b.store.delete_trigger(&b.bob(), trigger.id).await), "NOT_FOUND");
    assert_eq!(code_of(b.store.create_trigger(&b.bob(), b.listening(b.a, "x")).await), "NOT_FOUND");
    let unknown = TriggerId(Uuid::now_v7());
    assert_eq!(code_of(b.store.update_trigger(&b.ann(), unknown, edit()).await), "NOT_FOUND");
    assert_eq!(b.reread(trigger.id).await.revision, 1);
}

pub async fn a_trigger_needs_its_definition(b: Bench) {
    let lost = || NewTrigger { definition_id: DefinitionId(Uuid::now_v7()), ..b.listening(b.a, "x") };
    assert_eq!(code_of(b.store.create_trigger(&b.ann(), lost()).await), "NOT_FOUND");
    let trigger = b.trigger(b.listening(b.a, "x")).await;
    let edit = edit_of(&trigger, lost(), false);
    assert_eq!(code_of(b.store.update_trigger(&b.ann(), trigger.id, edit).await), "NOT_FOUND");
    assert_eq!(b.reread(trigger.id).await, trigger);
}

pub async fn an_edit_of_what_has_changed_is_not_written(b: Bench) {
    let trigger = b.trigger(b.listening(b.a, "x")).await;
    let renamed = |label: &str| NewTrigger { label: label.into(), ..b.listening(b.a, "x") };
    let first = edit_of(&trigger, renamed("first"), false);
    let saved = b.store.update_trigger(&b.ann(), trigger.id, first).await.unwrap().unwrap();
    assert_eq!((saved.label.as_str(), saved.revision), ("first", 2));
    let second = edit_of(&trigger, renamed("second"), false);
    assert_eq!(b.store.update_trigger(&b.ann(), trigger.id, second).await.unwrap(), None);
    assert_eq!(b.reread(trigger.id).await, saved);
}

/// An edit of a label must not swallow a time that is due right now.
pub async fn an_edit_keeps_the_time_due_unless_told(b: Bench) {
    let due = b.clock.now();
    let trigger = b.trigger(b.scheduled(b.a, due)).await;
    let edit = |t: &Trigger, reschedule| edit_of(t, b.scheduled(b.a, due.plus_secs(600)), reschedule);
    let kept = b.store.update_trigger(&b.ann(), trigger.id, edit(&trigger, false)).await.unwrap().unwrap();
    assert_eq!(kept.next_due_at, Some(due));
    let moved = b.store.update_trigger(&b.ann(), trigger.id, edit(&kept, true)).await.unwrap().unwrap();
    assert_eq!(moved.next_due_at, Some(due.plus_secs(600)));
}

pub async fn a_deleted_trigger_fires_no_more_and_its_firings_stay(b: Bench) {
    let trigger = b.trigger(b.scheduled(b.a, b.clock.now())).await;
    b.fire(b.due(&trigger)).await;
    let again = b.reread(trigger.id).await;
    b.store.delete_trigger(&b.ann(), trigger.id).await.unwrap();
    b.wait(600);
    assert!(b.store.due_triggers().await.unwrap().is_empty());
    assert!(b.fire(b.due(&again)).await.is_empty());
    assert_eq!(b.store.trigger(&b.ann(), trigger.id).await.unwrap(), None);
    assert_eq!(code_of(b.store.delete_trigger(&b.ann(), trigger.id).await), "NOT_FOUND");
    assert_eq!(b.store.firings(&b.ann(), trigger.id, 9).await.unwrap().len(), 1);
    let event = b.trigger(b.listening(b.a, "x")).await;
    b.store.delete_trigger(&b.ann(), event.id).await.unwrap();
    assert!(b.store.triggers_on(b.a, "x").await.unwrap().is_empty());
}

pub async fn only_what_is_due_is_found(b: Bench) {
    let now = b.clock.now();
    let later = b.trigger(b.scheduled(b.a, now.plus_secs(60))).await;
    let due = b.trigger(b.scheduled(b.b, now)).await;
    b.trigger(b.listening(b.a, "x")).await;
    let off = NewTrigger { is_enabled: false, next_due_at: None, ..b.scheduled(b.a, now) };
    b.trigger(off).await;
    let ids =
        async || -> Vec<_> { b.store.due_triggers().await.unwrap().into_iter().map(|t| t.id).collect() };
    assert_eq!(ids().await, [due.id]);
    b.wait(60);
    assert_eq!(ids().await, [due.id, later.id], "longest due first");
}

pub async fn a_firing_makes_its_job_and_moves_the_trigger_on(b: Bench) {
    let due_at = b.clock.now();
    let trigger = b.trigger(b.scheduled(b.a, due_at)).await;
    b.wait(1);
    let views = b.fire(b.due(&trigger)).await;
    assert_eq!((views.len(), views[0].outcome), (1, FiringOutcome::Enqueued));
    assert_eq!((views[0].due_at, views[0].fired_at), (Some(due_at), due_at.plus_secs(1)));
    let number = views[0].job_number.unwrap();
    let job = b.store.job(&b.ann(), JobRef::Number(number), 0).await.unwrap().unwrap();
    assert_eq!((job.row.source, Some(job.row.id)), (Source::Schedule, views[0].job_id));
    assert_eq!(b.kinds(number).await, ["job.created"]);
    let moved = b.reread(trigger.id).await;
    assert_eq!(moved.next_due_at, Some(due_at.plus_secs(60)));
    assert_eq!((moved.last_fired_for, moved.last_fired_at), (Some(due_at), Some(due_at.plus_secs(1))));
    assert_eq!(moved.revision, trigger.revision, "firing is no edit");
    assert_eq!(b.store.firings(&b.ann(), trigger.id, 9).await.unwrap(), views);
    assert_eq!(b.claim_numbers(5).await, [number]);
}

pub async fn a_trigger_that_moved_on_does_not_fire_again(b: Bench) {
    let trigger = b.trigger(b.scheduled(b.a, b.clock.now())).await;
    assert_eq!(b.fire(b.due(&trigger)).await.len(), 1);
    let moved = b.reread(trigger.id).await;
    assert!(b.fire(b.due(&trigger)).await.is_empty());
    assert_eq!((b.all_jobs().await, b.reread(trigger.id).await), (1, moved));
}

pub async fn a_trigger_changed_meanwhile_does_not_fire(b: Bench) {
    let due = b.clock.now();
    let trigger = b.trigger(b.scheduled(b.a, due)).await;
    let edit = edit_of(&trigger, b.scheduled(b.a, due), false);
    b.store.update_trigger(&b.ann(), trigger.id, edit).await.unwrap().unwrap();
    assert!(b.fire(b.due(&trigger)).await.is_empty());
    assert_eq!(b.all_jobs().await, 0);
    assert_eq!(b.fire(b.due(&b.reread(trigger.id).await)).await.len(), 1, "with the new revision it does");
}

/// A schedule set back to a time that has fired: the firing is known, and the trigger just moves on.
pub async fn a_time_that_comes_again_does_not_fire_again(b: Bench) {
    let due = b.clock.now();
    let trigger = b.trigger(b.scheduled(b.a, due)).await;
    b.fire(b.due(&trigger)).await;
    let back = edit_of(&trigger, b.scheduled(b.a, due), true);
    let back = b.store.update_trigger(&b.ann(), trigger.id, back).await.unwrap().unwrap();
    assert_eq!(back.next_due_at, Some(due));
    assert!(b.fire(b.due(&back)).await.is_empty());
    assert_eq!(b.all_jobs().await, 1);
    assert_eq!(b.reread(trigger.id).await.next_due_at, Some(due.plus_secs(60)));
}

pub async fn a_refusal_is_kept_and_stops_nobody(b: Bench) {
    let due = b.clock.now();
    let (full, free) = (b.trigger(b.scheduled(b.a, due)).await, b.trigger(b.scheduled(b.b, due)).await);
    let gate = Gate {
        measure: Measure { counted: Counted::Queued, extent: Extent::Tenant(b.a) },
        max: 0,
        refusal: Refusal::Quota,
    };
    let mut refused = b.due(&full);
    if let Verdict::Enqueue { job, .. } = &mut refused.firings[0].verdict {
        job.gates = vec![gate];
    }
    let views = b.store.fire_due(&Scope::system("test"), vec![refused, b.due(&free)]).await.unwrap();
    let outcomes: Vec<_> = views.iter().map(|v| (v.outcome, v.code.as_deref())).collect();
    assert!(outcomes.contains(&(FiringOutcome::Refused, Some("QUOTA_EXCEEDED"))), "{outcomes:?}");
    assert!(outcomes.contains(&(FiringOutcome::Enqueued, None)), "{outcomes:?}");
    let full = b.reread(full.id).await;
    assert!(full.last_error.as_ref().unwrap().contains("at most 0 jobs"), "{:?}", full.last_error);
    assert_eq!((full.next_due_at, full.last_fired_at), (Some(due.plus_secs(60)), None));
    b.fire(b.due(&full)).await;
    let mended = b.reread(full.id).await;
    assert_eq!((mended.last_error, mended.last_fired_for), (None, Some(due.plus_secs(60))));
}

pub async fn old_firings_and_events_are_forgotten(b: Bench) {
    let trigger = b.trigger(b.scheduled(b.a, b.clock.now())).await;
    b.fire(b.due(&trigger)).await;
    b.store.receive_event(&b.ann(), b.event("e1"), &[], Vec::new()).await.unwrap();
    let then = b.clock.now();
    b.wait(60);
    b.fire(b.due(&b.reread(trigger.id).await)).await;
    assert_eq!(b.store.prune_firings(then).await.unwrap(), 0, "what is that old is kept");
    assert_eq!(b.store.prune_firings(then.plus_secs(1)).await.unwrap(), 2);
    assert_eq!(b.store.firings(&b.ann(), trigger.id, 9).await.unwrap().len(), 1);
    assert_eq!(b.all_jobs().await, 2, "jobs are not touched");
}
