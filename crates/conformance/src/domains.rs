//! Whoever is kept to some domains learns nothing of the others by a look-up on the side.

use super::{
    administration::confined,
    bench::{Bench, code_of, definition},
    door::import,
};
use leasehold_queue::{
    attachments::NewAttachment,
    engine::{AppEventRequest, EngineConfig, EnqueueRequest, TriggerDraft},
    params::NewDefinition,
};
use leasehold_types::{Source, TriggerKind};
use serde_json::json;

async fn elsewhere(b: &Bench) {
    let kind = NewDefinition { domain: "elsewhere".into(), ..definition("evaluate") };
    b.store.ensure_definition(kind).await.unwrap();
}

pub async fn a_dedupe_hit_is_named_for_what_it_is(b: Bench) {
    elsewhere(&b).await;
    let engine = b.engine(EngineConfig::default());
    let held = EnqueueRequest { dedupe_key: Some("d".into()), ..import(json!({})) };
    let first = engine.enqueue(&b.ann(), b.a, held).await.unwrap();
    let asked = || EnqueueRequest {
        dedupe_key: Some("d".into()),
        ..EnqueueRequest::new("evaluate", json!({}), Source::Api)
    };
    let hit = engine.enqueue(&b.ann(), b.a, asked()).await.unwrap();
    assert_eq!((hit.job.number, hit.definition_key.as_str()), (first.job.number, "import"));
    let many = engine.enqueue_many(&b.ann(), b.a, vec![asked()]).await.unwrap().remove(0).unwrap();
    assert_eq!(many.definition_key, "import");
}

pub async fn a_dedupe_key_held_in_a_hidden_domain_names_no_job(b: Bench) {
    elsewhere(&b).await;
    let engine = b.engine(EngineConfig::default());
    let held = EnqueueRequest { dedupe_key: Some("d".into()), ..import(json!({})) };
    let first = engine.enqueue(&b.ann(), b.a, held).await.unwrap();
    let scope = confined(b.ann(), &["elsewhere"]);
    let asked = || EnqueueRequest {
        dedupe_key: Some("d".into()),
        ..EnqueueRequest::new("evaluate", json!({}), Source::Api)
    };
    let refused = engine.enqueue(&scope, b.a, asked()).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "ALREADY_EXISTS");
    assert!(!refused.detail.contains(&first.job.number.to_string()), "{}", refused.detail);
    let many = engine.enqueue_many(&scope, b.a, vec![asked()]).await.unwrap();
    assert!(many[0].is_err());
}

pub async fn a_file_of_a_hidden_domain_is_not_read(b: Bench) {
    let job = b.running().await;
    let file = NewAttachment::new("a.txt", "text/plain", b"hidden".to_vec());
    let kept = b.store.attach(&job.lease, file).await.unwrap();
    let own = confined(b.ann(), &[&job.domain]);
    assert!(b.store.attachment(&own, kept.id).await.unwrap().is_some());
    let other = confined(b.ann(), &["elsewhere"]);
    assert_eq!(code_of(b.store.attachment(&other, kept.id).await), "FORBIDDEN");
}

pub async fn an_event_names_no_trigger_of_a_hidden_domain(b: Bench) {
    elsewhere(&b).await;
    let engine = b.engine(EngineConfig::default());
    for kind in ["import", "evaluate"] {
        let draft = TriggerDraft {
            label: Some(format!("On upload, {kind}")),
            trigger_type: Some(TriggerKind::Event),
            event_name: Some("uploaded".into()),
            definition_key: Some(kind.into()),
            payload_template: Some(json!({})),
            ..TriggerDraft::default()
        };
        engine.create_trigger(&b.ann(), b.a, draft).await.unwrap();
    }
    let scope = confined(b.ann(), &["elsewhere"]);
    let event = || {
        let event_id = Some("e1".to_owned());
        AppEventRequest { name: "uploaded".into(), event_id, payload: json!({}) }
    };
    for replayed in [false, true] {
        let answer = engine.app_event(&scope, b.a, event()).await.unwrap();
        let labels: Vec<_> = answer.firings.iter().map(|firing| firing.label.as_str()).collect();
        assert_eq!((answer.replayed, labels), (replayed, vec!["On upload, evaluate"]));
    }
    assert_eq!(engine.app_event(&b.ann(), b.a, event()).await.unwrap().firings.len(), 2, "others see both");
}
