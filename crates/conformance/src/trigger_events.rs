//! Events of the tenants' applications.

use super::bench::{Bench, code_of, definition};
use leasehold_queue::{
    engine::{AppEventRequest, EngineConfig, EventAnswer, TriggerDraft},
    params::{NewDefinition, NewJob},
    secrets::{OnSecret, REDACTED, SecretPolicy},
    triggers::{Firing, NewAppEvent, Received, TriggerEdit, Verdict, Window},
};
use leasehold_types::{FiringOutcome, JobRef, Source, Trigger, TriggerKind};
use serde_json::{Value, json};
use uuid::Uuid;

impl Bench {
    pub(super) fn event(&self, event_id: &str) -> NewAppEvent {
        NewAppEvent {
            id: Uuid::now_v7(),
            tenant_id: self.a,
            event_id: event_id.into(),
            name: "folder.updated".into(),
            payload: json!({"x": 1}),
            payload_hash: "hash".into(),
        }
    }

    /// A firing on an event, with the trigger's window.
    pub(super) fn heard(&self, trigger: &Trigger, payload: &str) -> Firing {
        let job = NewJob { source: Source::Event, ..self.job(trigger.tenant_id) };
        let window = Window { payload_hash: payload.into(), seconds: trigger.dedupe_window_seconds };
        let verdict = Verdict::Enqueue { job: Box::new(job), window: Some(window) };
        Firing { verdict, ..self.firing(trigger, None) }
    }

    pub(super) async fn receive(&self, event: NewAppEvent, trigger: &Trigger, payload: &str) -> Received {
        let (seen, firings) = ([(trigger.id, trigger.revision)], vec![self.heard(trigger, payload)]);
        self.store.receive_event(&self.ann(), event, &seen, firings).await.unwrap()
    }
}

pub(super) fn kept(received: Received) -> FiringOutcome {
    match received {
        Received::Kept(_, firings) => firings[0].outcome,
        other => panic!("not kept: {other:?}"),
    }
}

pub async fn an_event_is_kept_with_its_job(b: Bench) {
    let trigger = b.trigger(b.listening(b.a, "folder.updated")).await;
    let Received::Kept(event, firings) = b.receive(b.event("e1"), &trigger, "p").await else { panic!() };
    assert_eq!((event.event_id.as_str(), event.received_at), ("e1", b.clock.now()));
    assert_eq!((firings.len(), firings[0].outcome), (1, FiringOutcome::Enqueued));
    let job = b.detail(firings[0].job_number.unwrap()).await;
    assert_eq!((job.row.source, Some(job.row.id)), (Source::Event, firings[0].job_id));
    assert_eq!(b.reread(trigger.id).await.last_fired_at, Some(b.clock.now()));
}

pub async fn the_same_event_again_is_answered_with_what_was(b: Bench) {
    let trigger = b.trigger(b.listening(b.a, "folder.updated")).await;
    let Received::Kept(event, firings) = b.receive(b.event("e1"), &trigger, "p").await else { panic!() };
    b.wait(1_000);
    let again = b.receive(b.event("e1"), &trigger, "p").await;
    assert_eq!(again, Received::Replayed(event, firings));
    assert_eq!(b.store.received_event(b.a, "e1", "hash").await.unwrap(), Some(again));
    assert_eq!(b.store.received_event(b.a, "e2", "hash").await.unwrap(), None);
    assert_eq!(b.all_jobs().await, 1);
}

pub async fn another_event_under_the_same_id_is_a_conflict(b: Bench) {
    b.store.receive_event(&b.ann(), b.event("e1"), &[], Vec::new()).await.unwrap();
    let other = NewAppEvent { payload_hash: "other".into(), ..b.event("e1") };
    let answer = b.store.receive_event(&b.ann(), other, &[], Vec::new()).await;
    assert_eq!(code_of(answer), "IDEMPOTENCY_CONFLICT");
    assert_eq!(code_of(b.store.received_event(b.a, "e1", "other").await), "IDEMPOTENCY_CONFLICT");
}

pub async fn an_event_overtaken_by_an_edit_writes_nothing(b: Bench) {
    let trigger = b.trigger(b.listening(b.a, "folder.updated")).await;
    let edit = TriggerEdit { revision: 1, new: b.listening(b.a, "folder.updated"), reschedule: false };
    b.store.update_trigger(&b.ann(), trigger.id, edit).await.unwrap().unwrap();
    assert_eq!(b.receive(b.event("e1"), &trigger, "p").await, Received::Overtaken);
    let changed = b.reread(trigger.id).await;
    b.trigger(b.listening(b.a, "folder.updated")).await;
    assert_eq!(b.receive(b.event("e1"), &changed, "p").await, Received::Overtaken, "a new one counts too");
    assert_eq!(b.store.received_event(b.a, "e1", "hash").await.unwrap(), None);
    assert_eq!(b.all_jobs().await, 0);
}

pub async fn the_same_payload_within_the_window_makes_no_second_job(b: Bench) {
    let trigger = b.trigger(b.listening(b.a, "folder.updated")).await;
    assert_eq!(kept(b.receive(b.event("e1"), &trigger, "p").await), FiringOutcome::Enqueued);
    b.wait(299);
    let Received::Kept(_, same) = b.receive(b.event("e2"), &trigger, "p").await else { panic!() };
    assert_eq!((same[0].outcome, same[0].job_number), (FiringOutcome::Deduplicated, Some(1)));
    assert_eq!(kept(b.receive(b.event("e3"), &trigger, "q").await), FiringOutcome::Enqueued);
    b.wait(1);
    let after = b.receive(b.event("e4"), &trigger, "p").await;
    assert_eq!(kept(after), FiringOutcome::Enqueued, "what was deduplicated does not prolong the window");
    assert_eq!(b.all_jobs().await, 3);
}

pub async fn tenants_have_their_own_event_ids(b: Bench) {
    let event = || NewAppEvent { tenant_id: b.b, payload_hash: "other".into(), ..b.event("e1") };
    b.store.receive_event(&b.ann(), b.event("e1"), &[], Vec::new()).await.unwrap();
    assert_eq!(code_of(b.store.receive_event(&b.ann(), event(), &[], Vec::new()).await), "NOT_FOUND");
    let theirs = b.store.receive_event(&b.bob(), event(), &[], Vec::new()).await.unwrap();
    assert!(matches!(theirs, Received::Kept(..)));
}

fn draft(label: &str, template: Value) -> TriggerDraft {
    TriggerDraft {
        label: Some(label.into()),
        trigger_type: Some(TriggerKind::Event),
        event_name: Some("folder.updated".into()),
        definition_key: Some("import".into()),
        payload_template: Some(template),
        ..TriggerDraft::default()
    }
}

fn posted(event_id: &str, payload: Value) -> AppEventRequest {
    AppEventRequest { name: "folder.updated".into(), event_id: Some(event_id.into()), payload }
}

fn outcomes(answer: &EventAnswer) -> Vec<(&str, &str)> {
    answer.firings.iter().map(|f| (f.label.as_str(), f.outcome.as_str())).collect()
}

pub async fn an_event_answers_for_every_trigger(b: Bench) {
    let engine = b.engine(EngineConfig::default());
    let filtered = TriggerDraft { filter: Some(json!({"n": 2})), ..draft("filtered", json!({})) };
    let off = TriggerDraft { is_enabled: Some(false), ..draft("off", json!({})) };
    for draft in [
        draft("whole", json!({"n": "{{event.n}}", "text": "no {{event.n}}", "by": "{{tenant.slug}}"})),
        filtered,
        off,
        draft("missing", json!({"n": "{{event.nothing}}"})),
    ] {
        engine.create_trigger(&b.ann(), b.a, draft).await.unwrap();
    }
    let answer = engine.app_event(&b.ann(), b.a, posted("e1", json!({"n": 7}))).await.unwrap();
    let expected =
        [("whole", "enqueued"), ("filtered", "filtered"), ("off", "disabled"), ("missing", "refused")];
    assert_eq!(outcomes(&answer), expected);
    assert!(!answer.replayed);
    let job = b.detail(answer.firings[0].job_number.unwrap()).await;
    assert_eq!(job.payload, json!({"n": 7, "text": "no 7", "by": "acme"}));
    assert_eq!((job.row.source, job.correlation_id.as_deref()), (Source::Event, Some("e1")));
    let refused = &answer.firings[3];
    assert_eq!(refused.code.as_deref(), Some("INVALID_PAYLOAD"));
    assert!(refused.detail.as_ref().unwrap().contains("event.nothing"), "{refused:?}");
    let same = engine.app_event(&b.ann(), b.a, posted("e2", json!({"n": 7}))).await.unwrap();
    assert_eq!(outcomes(&same)[0], ("whole", "deduplicated"));
    let again = engine.app_event(&b.ann(), b.a, posted("e1", json!({"n": 7}))).await.unwrap();
    assert_eq!((again.replayed, outcomes(&again)), (true, expected.to_vec()));
    let other = engine.app_event(&b.ann(), b.a, posted("e1", json!({"n": 8}))).await.unwrap_err();
    assert_eq!(other.code.as_str(), "IDEMPOTENCY_CONFLICT");
    assert_eq!(b.all_jobs().await, 1);
    let nobody = AppEventRequest { name: "unheard".into(), event_id: None, payload: json!({}) };
    assert!(engine.app_event(&b.ann(), b.a, nobody).await.unwrap().firings.is_empty());
}

pub async fn an_event_with_a_secret_is_refused_or_blotted_out(b: Bench) {
    let policy =
        |on| EngineConfig { secrets: SecretPolicy::new(on, None, None).unwrap(), ..EngineConfig::default() };
    let engine = b.engine(policy(OnSecret::Redact));
    engine.create_trigger(&b.ann(), b.a, draft("all", json!({"got": "{{event}}"}))).await.unwrap();
    let secret = json!({"password": "hunter2", "n": 1});
    let rejecting = b.engine(policy(OnSecret::Reject));
    let refused = rejecting.app_event(&b.ann(), b.a, posted("e1", secret.clone())).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "SECRET_IN_PAYLOAD");
    let refused = draft("literal", json!({"password": "hunter2"}));
    let refused = rejecting.create_trigger(&b.ann(), b.a, refused).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "SECRET_IN_PAYLOAD");
    assert_eq!(b.all_jobs().await, 0);
    let answer = engine.app_event(&b.ann(), b.a, posted("e1", secret)).await.unwrap();
    let job = b.store.job(&b.ann(), JobRef::Number(answer.firings[0].job_number.unwrap()), 0).await.unwrap();
    assert_eq!(job.unwrap().payload, json!({"got": {"password": REDACTED, "n": 1}}));
}

/// A schema's complaint quotes what it is about; what is kept of it must not tell a secret.
pub async fn a_refusal_does_not_tell_secrets(b: Bench) {
    let arg_schema = json!({"type": "object", "properties": {"password": {"type": "integer"}}});
    b.store.ensure_definition(NewDefinition { arg_schema, ..definition("login") }).await.unwrap();
    let engine = b.engine(EngineConfig::default());
    let draft = TriggerDraft {
        definition_key: Some("login".into()),
        ..draft("all", json!({"password": "{{event.password}}"}))
    };
    let trigger = engine.create_trigger(&b.ann(), b.a, draft).await.unwrap();
    let event = posted("e1", json!({"password": "correct horse battery"}));
    let answer = engine.app_event(&b.ann(), b.a, event).await.unwrap();
    assert_eq!(answer.firings[0].outcome, FiringOutcome::Refused);
    let shown = b.reread(trigger.id).await.last_error.unwrap();
    assert!(shown.contains("payload/password") && !shown.contains("horse"), "{shown}");
    assert!(!answer.firings[0].detail.as_ref().unwrap().contains("horse"));
}

pub async fn bad_events_are_refused_and_nothing_is_kept(b: Bench) {
    let engine = b.engine(EngineConfig { max_json_bytes: 1_000, ..EngineConfig::default() });
    let long = "x".repeat(201);
    let named = |name: &str| AppEventRequest { name: name.into(), event_id: None, payload: json!({}) };
    for (request, code) in [
        (named(""), "INVALID_INPUT"),
        (named("two words"), "INVALID_INPUT"),
        (named(&long), "INVALID_INPUT"),
        (posted("", json!({})), "INVALID_INPUT"),
        (posted(&long, json!({})), "INVALID_INPUT"),
        (posted("a\0b", json!({})), "INVALID_INPUT"),
        (posted("e", json!([1])), "INVALID_INPUT"),
        (posted("e", json!({"a": "x\0"})), "INVALID_PAYLOAD"),
        (posted("e", json!({"a": "x".repeat(1_000)})), "PAYLOAD_TOO_LARGE"),
    ] {
        let problem = engine.app_event(&b.ann(), b.a, request.clone()).await.unwrap_err();
        assert_eq!(problem.code.as_str(), code, "{request:?}");
    }
    let foreign = engine.app_event(&b.bob(), b.a, posted("e", json!({}))).await.unwrap_err();
    assert_eq!(foreign.code.as_str(), "NOT_FOUND");
    let then = b.clock.now().plus_secs(1);
    assert_eq!(b.store.prune_firings(then).await.unwrap(), 0);
}
