//! The engine's door on a real store: what is refused, in which order, and that a refusal changes nothing.

use super::bench::{Bench, definition};
use leasehold_queue::{
    allow::AllowList,
    engine::{Engine, EngineConfig, EnqueueRequest},
    params::NewDefinition,
    quota::Quotas,
    scope::Scope,
    secrets::{OnSecret, REDACTED, SecretPolicy},
};
use leasehold_types::{
    DefinitionLimits, JobFilter, JobRef, JobStatus, KeyMode, PageRequest, Problem, Source, TenantId,
};
use serde_json::{Value, json};

impl Bench {
    pub(super) fn engine(&self, config: EngineConfig) -> Engine {
        Engine::new(self.store.clone(), self.clock.clone(), config)
    }

    /// Everything an enqueue writes, counted.
    pub(super) async fn footprint(&self) -> (i64, i64, usize) {
        let everything = Scope::system("test");
        let page = PageRequest::default();
        let listed = self.store.list(&everything, &JobFilter::default(), page).await.unwrap();
        let cards = self.store.overview(&everything, self.a).await.unwrap().cards;
        (listed.matching.count, cards.iter().map(|card| card.queued).sum(), self.events().await.len())
    }
}

pub(super) fn import(payload: Value) -> EnqueueRequest {
    EnqueueRequest::new("import", payload, Source::Api)
}

pub(super) fn keyed(key: &str) -> EnqueueRequest {
    EnqueueRequest { idempotency_key: Some(key.into()), ..import(json!({})) }
}

pub(super) fn quotas(settings: &[(&str, i64)]) -> EngineConfig {
    let quotas = Quotas::new(settings.iter().map(|(name, max)| ((*name).to_owned(), *max)));
    EngineConfig { quotas, ..EngineConfig::default() }
}

pub(super) async fn code(engine: &Engine, b: &Bench, request: EnqueueRequest) -> &'static str {
    match engine.enqueue(&b.ann(), b.a, request).await {
        Ok(_) => "ok",
        Err(problem) => problem.code.as_str(),
    }
}

pub async fn bad_input_has_a_code_and_changes_nothing(b: Bench) {
    let engine = b.engine(EngineConfig::default());
    engine.enqueue(&b.ann(), b.a, import(json!({}))).await.unwrap();
    let before = b.footprint().await;
    let ask = || import(json!({}));
    let text = |text: &str| Some(text.to_owned());
    for (request, expected) in [
        (EnqueueRequest::new("nothing", json!({}), Source::Api), "INVALID_INPUT"),
        (EnqueueRequest { priority: Some(0), ..ask() }, "INVALID_INPUT"),
        (EnqueueRequest { priority: Some(1_001), ..ask() }, "INVALID_INPUT"),
        (EnqueueRequest { max_attempts: Some(101), ..ask() }, "INVALID_INPUT"),
        (EnqueueRequest { max_attempts: Some(0), ..ask() }, "INVALID_INPUT"),
        (EnqueueRequest { dedupe_key: text("a\0b"), ..ask() }, "INVALID_INPUT"),
        (EnqueueRequest { correlation_id: text(&"x".repeat(201)), ..ask() }, "INVALID_INPUT"),
        (EnqueueRequest { queue: text("a\0b"), ..ask() }, "INVALID_INPUT"),
        (EnqueueRequest { queue: text("nowhere"), ..ask() }, "QUEUE_NOT_ALLOWED"),
        (import(json!({"a": "x\0y"})), "INVALID_PAYLOAD"),
        (import(json!("no object")), "INVALID_PAYLOAD"),
        (import(json!({"a": "x".repeat(1_048_577)})), "PAYLOAD_TOO_LARGE"),
    ] {
        let problem = engine.enqueue(&b.ann(), b.a, request).await.unwrap_err();
        assert_eq!(problem.code.as_str(), expected, "{problem}");
    }
    let foreign = engine.enqueue(&b.ann(), b.b, import(json!({}))).await.unwrap_err();
    assert_eq!(foreign.code.as_str(), "NOT_FOUND");
    let unknown: Problem = "lost".parse::<JobStatus>().unwrap_err().in_field("status");
    assert_eq!((unknown.code.as_str(), unknown.errors[0].field.as_str()), ("INVALID_INPUT", "status"));
    assert_eq!(b.footprint().await, before);
}

pub async fn the_checks_come_in_their_order(b: Bench) {
    let strict = NewDefinition {
        arg_schema: json!({"properties": {"n": {"type": "integer"}}}),
        ..definition("strict")
    };
    let strict = b.store.ensure_definition(strict).await.unwrap();
    let engine = b.engine(EngineConfig {
        max_json_bytes: 40,
        high_watermark: 1,
        secrets: SecretPolicy::new(OnSecret::Reject, None, None).unwrap(),
        ..quotas(&[("JOBS_QUOTA_MAX_QUEUED", 1)])
    });
    let limits = DefinitionLimits {
        max_active_per_key: Some(1),
        key_mode: KeyMode::Reject,
        ..DefinitionLimits::default()
    };
    engine.set_definition_limits(&Scope::system("test"), strict.id, limits).await.unwrap();
    // A request with everything wrong; each line mends what the line before complained of.
    let mut request = EnqueueRequest {
        queue: Some("nowhere".into()),
        concurrency_key: Some("doc".into()),
        idempotency_key: Some("k".into()),
        ..EnqueueRequest::new("strict", json!({"n": "x", "token": "y".repeat(40)}), Source::Api)
    };
    let first = EnqueueRequest { queue: None, payload: json!({"n": 1}), ..request.clone() };
    let first = engine.enqueue(&b.ann(), b.a, first).await.unwrap().job;
    assert_eq!(code(&engine, &b, request.clone()).await, "PAYLOAD_TOO_LARGE");
    request.payload["token"] = json!("y");
    assert_eq!(code(&engine, &b, request.clone()).await, "INVALID_PAYLOAD");
    request.payload["n"] = json!(2);
    assert_eq!(code(&engine, &b, request.clone()).await, "QUEUE_NOT_ALLOWED");
    request.queue = None;
    assert_eq!(code(&engine, &b, request.clone()).await, "SECRET_IN_PAYLOAD");
    request.payload = json!({"n": 2});
    assert_eq!(code(&engine, &b, request.clone()).await, "IDEMPOTENCY_CONFLICT");
    request.idempotency_key = None;
    assert_eq!(code(&engine, &b, request.clone()).await, "CONCURRENCY_LIMIT");
    request.concurrency_key = None;
    assert_eq!(code(&engine, &b, request.clone()).await, "QUOTA_EXCEEDED");
    let without_quota = b.engine(EngineConfig { high_watermark: 1, ..EngineConfig::default() });
    assert_eq!(code(&without_quota, &b, request.clone()).await, "QUEUE_OVERLOADED");
    request.payload = json!({"n": 1});
    request.idempotency_key = Some("k".into());
    request.concurrency_key = Some("doc".into());
    let replay = engine.enqueue(&b.ann(), b.a, request).await.unwrap();
    assert!(!replay.is_new() && replay.job.number == first.number, "a replay passes whatever is full");
    assert_eq!(b.footprint().await, (1, 1, 1));
}

pub async fn a_schema_saved_before_there_were_bounds_is_refused_when_it_is_used(b: Bench) {
    let mut defs = serde_json::Map::new();
    for level in 0..28 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        defs.insert(format!("l{level}"), json!({"allOf": [next, next]}));
    }
    defs.insert("l28".into(), json!({"type": "object"}));
    let arg_schema = json!({"$defs": defs, "$ref": "#/$defs/l0"});
    let old = NewDefinition { arg_schema: arg_schema.clone(), ..definition("old") };
    b.store.ensure_definition(old).await.unwrap();
    let engine = b.engine(EngineConfig::default());
    let before = b.footprint().await;
    let request = EnqueueRequest::new("old", json!({}), Source::Api);
    let problem = engine.enqueue(&b.ann(), b.a, request).await.unwrap_err();
    assert_eq!(problem.code.as_str(), "INVALID_PAYLOAD");
    assert!(problem.detail.contains("“old” cannot be used"), "{problem}");
    assert_eq!(b.footprint().await, before);
    let new = NewDefinition { executor: "remote".into(), arg_schema, ..definition("new") };
    let problem = engine.create_definition(&Scope::system("test"), new, true).await.unwrap_err();
    assert_eq!(problem.errors[0].field, "arg_schema", "{problem}");
}

pub async fn allow_lists_of_everywhere_and_of_the_domain_unite(b: Bench) {
    let list = |key: &str, names: &[&str]| (key.to_owned(), names.iter().map(|n| (*n).to_owned()).collect());
    b.store.ensure_definition(definition("export")).await.unwrap();
    let engine = b.engine(EngineConfig {
        allowed_queues: AllowList::new([
            list("", &["bulk"]),
            list("COMMANDS", &["gpu"]),
            list("DECKS", &["slow"]),
        ]),
        allowed_job_types: AllowList::new([list("", &["import"]), list("DECKS", &["export"])]),
        ..EngineConfig::default()
    });
    let into = |queue: &str| EnqueueRequest { queue: Some(queue.into()), ..import(json!({})) };
    for queue in ["default", "high", "low", "bulk", "gpu"] {
        assert_eq!(code(&engine, &b, into(queue)).await, "ok", "{queue}");
    }
    assert_eq!(code(&engine, &b, into("slow")).await, "QUEUE_NOT_ALLOWED");
    let export = EnqueueRequest::new("export", json!({}), Source::Api);
    assert_eq!(code(&engine, &b, export).await, "JOB_TYPE_NOT_ALLOWED");
}

pub async fn secrets_are_refused_or_never_stored(b: Bench) {
    let with = |on_secret| EngineConfig {
        secrets: SecretPolicy::new(on_secret, None, None).unwrap(),
        ..EngineConfig::default()
    };
    let payload = json!({"rows": 3, "login": [{"Password": "hunter2"}]});
    let problem = b.engine(with(OnSecret::Reject)).enqueue(&b.ann(), b.a, import(payload.clone())).await;
    let problem = problem.unwrap_err();
    assert_eq!(problem.code.as_str(), "SECRET_IN_PAYLOAD");
    assert_eq!(problem.errors[0].field, "payload/login/0/Password");
    assert_eq!(b.footprint().await, (0, 0, 0));
    let engine = b.engine(with(OnSecret::Redact));
    let made = engine.enqueue(&b.ann(), b.a, import(payload)).await.unwrap().job;
    let kept = b.detail(made.number).await.payload;
    assert_eq!(kept, json!({"rows": 3, "login": [{"Password": REDACTED}]}));
    assert_eq!(engine.job(&b.ann(), JobRef::Number(made.number)).await.unwrap().payload, kept);
}

/// A viewer's request is refused before anything is looked at.
pub async fn who_may_not_operate_may_not_enqueue(b: Bench) {
    let engine = b.engine(EngineConfig::default());
    let viewer = Scope { permission: leasehold_queue::Permission::View, ..b.ann() };
    let one = engine.enqueue(&viewer, b.a, import(json!({}))).await.unwrap_err();
    let many = engine.enqueue_many(&viewer, TenantId(b.a.0), vec![import(json!({}))]).await.unwrap_err();
    assert_eq!((one.code.as_str(), many.code.as_str()), ("FORBIDDEN", "FORBIDDEN"));
    assert_eq!(b.footprint().await, (0, 0, 0));
}
