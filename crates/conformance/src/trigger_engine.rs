//! Triggers through the engine: what may be saved, and what fires when.

use super::bench::{Bench, definition};
use leasehold_queue::{
    Engine,
    engine::{AppEventRequest, EngineConfig, TriggerDraft},
    params::NewDefinition,
    scope::Scope,
};
use leasehold_types::{
    CatchUp, FiringOutcome, Source, TenantLimits, Timestamp, Trigger, TriggerKind, TriggerRule,
};
use serde_json::{Value, json};

fn schedule(label: &str, cron: &str, template: Value) -> TriggerDraft {
    TriggerDraft {
        label: Some(label.into()),
        trigger_type: Some(TriggerKind::Schedule),
        cron_expr: Some(cron.into()),
        definition_key: Some("import".into()),
        payload_template: Some(template),
        ..TriggerDraft::default()
    }
}

/// A schema that asks for a `provider_id`.
async fn sync_dropbox(b: &Bench) {
    let arg_schema = json!({
        "type": "object",
        "properties": {
            "provider_id": {"type": "string", "format": "uuid"}, "path_prefix": {"type": "string"},
        },
        "required": ["provider_id"],
        "additionalProperties": false,
    });
    b.store.ensure_definition(NewDefinition { arg_schema, ..definition("sync-dropbox") }).await.unwrap();
}

async fn tick(engine: &Engine) -> usize {
    engine.fire_due_triggers("test").await.unwrap()
}

async fn made(engine: &Engine, b: &Bench, draft: TriggerDraft) -> Trigger {
    engine.create_trigger(&b.ann(), b.a, draft).await.unwrap()
}

pub async fn the_printed_triggers_are_saved_or_refused_as_they_should(b: Bench) {
    sync_dropbox(&b).await;
    let engine = b.engine(EngineConfig::default());
    let event = TriggerDraft {
        label: Some("Resync on folder change".into()),
        trigger_type: Some(TriggerKind::Event),
        event_name: Some("provider.folder.updated".into()),
        definition_key: Some("sync-dropbox".into()),
        payload_template: Some(
            json!({"provider_id": "{{event.provider_id}}", "path_prefix": "{{event.folder_path}}"}),
        ),
        dedupe_window_seconds: Some(120),
        ..TriggerDraft::default()
    };
    let saved = made(&engine, &b, event.clone()).await;
    assert_eq!((saved.dedupe_window_seconds, saved.is_enabled), (120, true));
    let nightly = TriggerDraft {
        timezone: Some("America/New_York".into()),
        definition_key: Some("sync-dropbox".into()),
        ..schedule("Nightly provider sync", "0 2 * * *", json!({"path_prefix": "/"}))
    };
    let problem = engine.create_trigger(&b.ann(), b.a, nightly.clone()).await.unwrap_err();
    assert_eq!(problem.code.as_str(), "INVALID_PAYLOAD");
    assert!(problem.detail.contains("provider_id"), "{}", problem.detail);
    assert!(problem.detail.starts_with("The trigger was not saved"), "{}", problem.detail);
    assert_eq!(problem.errors[0].field, "payload_template");
    let accepted = TriggerDraft { definition_key: Some("import".into()), ..nightly };
    let saved = made(&engine, &b, accepted).await;
    assert!(saved.next_due_at.is_some_and(|at| at > b.clock.now()));
    // The values are not known yet, but which members there will be is.
    let frame = TriggerDraft { payload_template: Some(json!({"path_prefix": "{{event.x}}"})), ..event };
    let problem = engine.create_trigger(&b.ann(), b.a, frame).await.unwrap_err();
    assert!(problem.detail.contains("provider_id"), "{}", problem.detail);

    let payload = json!({"provider_id": "0192f3c4-0000-7000-8000-000000000001", "folder_path": "/inbox"});
    let name = "provider.folder.updated".to_owned();
    let event = AppEventRequest { name: name.clone(), event_id: None, payload };
    let answer = engine.app_event(&b.ann(), b.a, event).await.unwrap();
    assert_eq!(answer.firings[0].outcome, FiringOutcome::Enqueued);
    let payload = json!({"provider_id": "not a uuid", "folder_path": "/inbox"});
    let event = AppEventRequest { name, event_id: None, payload };
    let answer = engine.app_event(&b.ann(), b.a, event).await.unwrap();
    assert_eq!(answer.firings[0].code.as_deref(), Some("INVALID_PAYLOAD"));
    let shown = b.reread(answer.firings[0].trigger_id).await.last_error.unwrap();
    assert!(shown.contains("payload/provider_id"), "{shown}");
}

pub async fn a_bad_trigger_is_refused_by_its_field(b: Bench) {
    let engine = b.engine(EngineConfig::default());
    let good = || schedule("x", "0 2 * * *", json!({}));
    let on = || TriggerDraft {
        trigger_type: Some(TriggerKind::Event),
        event_name: Some("a.b".into()),
        cron_expr: None,
        ..good()
    };
    let text = |text: &str| Some(text.to_owned());
    for (draft, field) in [
        (TriggerDraft { label: text("  "), ..good() }, "label"),
        (TriggerDraft { label: text("a\nb"), ..good() }, "label"),
        (TriggerDraft { label: None, ..good() }, "label"),
        (TriggerDraft { trigger_type: None, ..good() }, "trigger_type"),
        (TriggerDraft { cron_expr: None, ..good() }, "cron_expr"),
        (TriggerDraft { cron_expr: text("61 * * * *"), ..good() }, "cron_expr"),
        (TriggerDraft { cron_expr: text("0 0 31 2 *"), ..good() }, "cron_expr"),
        (TriggerDraft { timezone: text("Mars/Olympus"), ..good() }, "timezone"),
        (TriggerDraft { event_name: text("a.b"), ..good() }, "event_name"),
        (TriggerDraft { filter: Some(json!({})), ..good() }, "filter"),
        (TriggerDraft { definition_key: text("nothing"), ..good() }, "definition_key"),
        (TriggerDraft { definition_key: None, ..good() }, "definition_key"),
        (TriggerDraft { payload_template: Some(json!([])), ..good() }, "payload_template"),
        (
            TriggerDraft { payload_template: Some(json!({"a": "{{event.x}}"})), ..good() },
            "payload_template/a",
        ),
        (TriggerDraft { dedupe_window_seconds: Some(-1), ..good() }, "dedupe_window_seconds"),
        (TriggerDraft { dedupe_window_seconds: Some(i32::MAX), ..good() }, "dedupe_window_seconds"),
        (TriggerDraft { event_name: text("a b"), ..on() }, "event_name"),
        (TriggerDraft { event_name: None, ..on() }, "event_name"),
        (TriggerDraft { cron_expr: text("* * * * *"), ..on() }, "cron_expr"),
        (TriggerDraft { timezone: text("UTC"), ..on() }, "timezone"),
        (TriggerDraft { catch_up: Some(CatchUp::All), ..on() }, "catch_up"),
        (TriggerDraft { filter: Some(json!({"a": {"regex": "x"}})), ..on() }, "filter/a"),
        (
            TriggerDraft { payload_template: Some(json!({"a": "{{schedule.due_at}}"})), ..on() },
            "payload_template/a",
        ),
    ] {
        let problem = engine.create_trigger(&b.ann(), b.a, draft.clone()).await.unwrap_err();
        assert_eq!(problem.errors.first().map(|e| e.field.as_str()), Some(field), "{draft:?}: {problem}");
        assert_eq!(problem.code.status(), 422, "{problem}");
    }
    assert!(b.store.triggers(&b.ann(), None, 9).await.unwrap().is_empty());
    b.switch_definition(b.definition.id, false).await;
    engine.definitions_changed();
    let problem = engine.create_trigger(&b.ann(), b.a, good()).await.unwrap_err();
    assert_eq!(problem.code.as_str(), "DEFINITION_INACTIVE");
}

pub async fn a_schedule_fires_on_time_and_moves_on(b: Bench) {
    let engine = b.engine(EngineConfig::default());
    let template =
        json!({"due": "{{schedule.due_at}}", "zone": "{{schedule.timezone}}", "who": "{{trigger.label}}"});
    let draft =
        TriggerDraft { timezone: Some("europe/berlin".into()), ..schedule("n", "0  * * * *", template) };
    let trigger = made(&engine, &b, draft).await;
    let TriggerRule::Schedule { cron_expr, timezone, catch_up } = &trigger.rule else { panic!() };
    assert_eq!(
        (cron_expr.as_str(), timezone.as_str(), *catch_up),
        ("0 * * * *", "Europe/Berlin", CatchUp::Once)
    );
    let due = trigger.next_due_at.unwrap();
    b.clock.freeze(Timestamp::from_micros(due.micros() - 1));
    assert_eq!(tick(&engine).await, 0, "not before its time");
    b.clock.freeze(due);
    assert_eq!(tick(&engine).await, 1);
    assert_eq!(tick(&engine).await, 0);
    let fired = b.store.firings(&b.ann(), trigger.id, 9).await.unwrap().remove(0);
    let job = b.detail(fired.job_number.unwrap()).await;
    assert_eq!(job.payload, json!({"due": due, "zone": "Europe/Berlin", "who": "n"}));
    assert_eq!((job.row.source, fired.due_at), (Source::Schedule, Some(due)));
    assert_eq!(b.reread(trigger.id).await.next_due_at, Some(due.plus_secs(3_600)));
}

pub async fn after_downtime_the_policy_decides(b: Bench) {
    let engine = b.engine(EngineConfig::default());
    let mut triggers = Vec::new();
    for catch_up in [CatchUp::Skip, CatchUp::Once, CatchUp::All] {
        let draft = TriggerDraft { catch_up: Some(catch_up), ..schedule("x", "0 * * * *", json!({})) };
        triggers.push(made(&engine, &b, draft).await);
    }
    b.clock.freeze(triggers[0].next_due_at.unwrap().plus_secs(4 * 3_600 + 1_800));
    tick(&engine).await;
    let mut enqueued = Vec::new();
    for trigger in &triggers {
        let firings = b.store.firings(&b.ann(), trigger.id, 99).await.unwrap();
        let count = |outcome| firings.iter().filter(|f| f.outcome == outcome).count();
        enqueued.push((count(FiringOutcome::Enqueued), count(FiringOutcome::Missed)));
    }
    assert_eq!(enqueued, [(0, 1), (1, 1), (5, 0)]);
    assert_eq!(b.all_jobs().await, 6);
    b.wait(400 * 86_400);
    tick(&engine).await;
    assert_eq!(b.all_jobs().await, 6 + 1 + 100, "never a flood");
}

pub async fn a_broken_trigger_stops_no_other(b: Bench) {
    let engine = b.engine(EngineConfig::default());
    let broken = made(&engine, &b, schedule("broken", "* * * * *", json!({"n": 1}))).await;
    let sound = made(&engine, &b, schedule("sound", "* * * * *", json!({"n": 1}))).await;
    // A template that was valid when it was saved, and is not any more.
    let mut new = b.scheduled(b.a, broken.next_due_at.unwrap());
    new.payload_template = json!({"n": "{{schedule.nothing}}"});
    let edit = leasehold_queue::triggers::TriggerEdit { revision: broken.revision, new, reschedule: false };
    b.store.update_trigger(&b.ann(), broken.id, edit).await.unwrap().unwrap();
    b.wait(60);
    assert_eq!(tick(&engine).await, 2);
    assert!(b.reread(broken.id).await.last_error.unwrap().contains("schedule.nothing"));
    assert_eq!(b.reread(sound.id).await.last_error, None);
    assert_eq!(b.all_jobs().await, 1);
}

pub async fn a_refused_firing_is_shown_and_clears(b: Bench) {
    let engine = b.engine(EngineConfig::default());
    let trigger = made(&engine, &b, schedule("x", "* * * * *", json!({}))).await;
    let full = TenantLimits { max_queued: Some(0), ..TenantLimits::default() };
    b.store.set_tenant_limits(&Scope::system("test"), b.a, full).await.unwrap();
    b.wait(60);
    tick(&engine).await;
    let refused = b.reread(trigger.id).await;
    assert!(refused.last_error.is_some() && refused.last_fired_for.is_none(), "{refused:?}");
    assert_eq!(
        b.store.firings(&b.ann(), trigger.id, 9).await.unwrap()[0].code.as_deref(),
        Some("QUOTA_EXCEEDED")
    );
    b.store.set_tenant_limits(&Scope::system("test"), b.a, TenantLimits::default()).await.unwrap();
    b.wait(60);
    tick(&engine).await;
    assert_eq!((b.reread(trigger.id).await.last_error, b.all_jobs().await), (None, 1));
}

pub async fn a_trigger_can_always_be_switched_off(b: Bench) {
    let engine = b.engine(EngineConfig::default());
    let trigger = made(&engine, &b, schedule("x", "* * * * *", json!({}))).await;
    b.switch_definition(b.definition.id, false).await;
    engine.definitions_changed();
    let switch = |on| TriggerDraft { is_enabled: Some(on), ..TriggerDraft::default() };
    let off = engine.update_trigger(&b.ann(), trigger.id, switch(false)).await.unwrap();
    assert_eq!((off.is_enabled, off.next_due_at), (false, None));
    b.wait(600);
    assert_eq!(tick(&engine).await, 0);
    let on = engine.update_trigger(&b.ann(), trigger.id, switch(true)).await.unwrap_err();
    assert_eq!(on.code.as_str(), "DEFINITION_INACTIVE");
    b.switch_definition(b.definition.id, true).await;
    engine.definitions_changed();
    let on = engine.update_trigger(&b.ann(), trigger.id, switch(true)).await.unwrap();
    assert!(on.next_due_at.unwrap() > b.clock.now(), "what passed while it was off is not made up for");
}

pub async fn an_edited_schedule_begins_anew(b: Bench) {
    let engine = b.engine(EngineConfig::default());
    let trigger = made(&engine, &b, schedule("x", "* * * * *", json!({}))).await;
    let ann = b.ann();
    let change = |draft| engine.update_trigger(&ann, trigger.id, draft);
    let label = TriggerDraft { label: Some("y".into()), ..TriggerDraft::default() };
    b.wait(60);
    let labelled = change(label).await.unwrap();
    assert_eq!((labelled.label.as_str(), labelled.next_due_at), ("y", trigger.next_due_at));
    let cron = TriggerDraft { cron_expr: Some("0 0 1 1 *".into()), ..TriggerDraft::default() };
    assert!(change(cron).await.unwrap().next_due_at.unwrap() > b.clock.now().plus_secs(60));
    let event = TriggerDraft { trigger_type: Some(TriggerKind::Event), ..TriggerDraft::default() };
    assert_eq!(change(event).await.unwrap_err().errors[0].field, "trigger_type");
    let foreign = TriggerDraft { label: Some("z".into()), ..TriggerDraft::default() };
    let foreign = engine.update_trigger(&b.bob(), trigger.id, foreign).await.unwrap_err();
    assert_eq!(foreign.code.as_str(), "NOT_FOUND");
}

pub async fn a_trigger_is_run_by_hand(b: Bench) {
    let engine = b.engine(EngineConfig::default());
    let event = TriggerDraft {
        trigger_type: Some(TriggerKind::Event),
        event_name: Some("a.b".into()),
        cron_expr: None,
        is_enabled: Some(false),
        ..schedule("x", "", json!({"n": "{{event.n}}"}))
    };
    let event = made(&engine, &b, event).await;
    let fired = engine.run_trigger(&b.ann(), event.id, Some(json!({"n": 3}))).await.unwrap();
    let job = b.detail(fired.job_number.unwrap()).await;
    assert_eq!((job.payload, job.row.source), (json!({"n": 3}), Source::Manual));
    assert_eq!(job.requested_by, "ann@example.org");
    engine.run_trigger(&b.ann(), event.id, Some(json!({"n": 3}))).await.unwrap();
    assert_eq!(b.all_jobs().await, 2, "who asks twice gets two");
    let refused = engine.run_trigger(&b.ann(), event.id, None).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "INVALID_PAYLOAD");
    let foreign = engine.run_trigger(&b.bob(), event.id, None).await.unwrap_err();
    assert_eq!(foreign.code.as_str(), "NOT_FOUND");
    let schedule = made(&engine, &b, schedule("y", "0 0 1 1 *", json!({}))).await;
    engine.run_trigger(&b.ann(), schedule.id, None).await.unwrap();
    assert_eq!(b.reread(schedule.id).await.next_due_at, schedule.next_due_at);
    assert_eq!(b.all_jobs().await, 3);
}

pub async fn an_inactive_definition_refuses_the_firing(b: Bench) {
    let engine = b.engine(EngineConfig::default());
    let trigger = made(&engine, &b, schedule("x", "* * * * *", json!({}))).await;
    b.switch_definition(b.definition.id, false).await;
    engine.definitions_changed();
    b.wait(60);
    tick(&engine).await;
    let firings = b.store.firings(&b.ann(), trigger.id, 9).await.unwrap();
    assert_eq!(firings[0].code.as_deref(), Some("DEFINITION_INACTIVE"));
    assert!(b.reread(trigger.id).await.last_error.unwrap().contains("switched off"));
}

pub async fn a_preview_marks_clock_changes(b: Bench) {
    let engine = b.engine(EngineConfig::default());
    b.clock.freeze("2026-03-01T12:00:00Z".parse().unwrap());
    let ann = b.ann();
    let preview = |zone| engine.preview_schedule(&ann, Some(b.a), "30 2 * * *", zone);
    let (zone, lines) = preview(Some("America/New_York")).await.unwrap();
    assert_eq!((zone.as_str(), lines.len()), ("America/New_York", 10));
    let marked: Vec<_> =
        lines.iter().filter(|line| line.note.is_some()).map(|line| line.local.as_str()).collect();
    assert_eq!(marked, ["2026-03-08T03:00:00-04:00"]);
    assert_eq!(preview(None).await.unwrap().0, "UTC", "the tenant's own");
    assert_eq!(preview(Some("Nowhere")).await.unwrap_err().errors[0].field, "timezone");
    let never = engine.preview_schedule(&b.ann(), Some(b.a), "0 0 31 2 *", None).await.unwrap_err();
    assert_eq!(never.errors[0].field, "cron_expr");
}

pub async fn another_process_helps_when_the_leader_does_not(b: Bench) {
    let engine = b.engine(EngineConfig::default());
    let trigger = made(&engine, &b, schedule("x", "* * * * *", json!({}))).await;
    let hour = std::time::Duration::from_secs(3_600);
    assert!(b.store.try_lead("scheduler", "dead", hour).await.unwrap());
    b.clock.freeze(trigger.next_due_at.unwrap());
    assert_eq!(engine.fire_due_triggers("alive").await.unwrap(), 0, "the leader has a moment");
    b.wait(6);
    assert_eq!(engine.fire_due_triggers("alive").await.unwrap(), 1);
}
