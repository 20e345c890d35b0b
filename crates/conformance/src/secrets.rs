//! Secrets on a real store: in keys, in what workers over HTTP say, and in what programs ask for.

use super::{
    bench::{Bench, NOW, definition},
    door::{code, import},
};
use leasehold_queue::{
    administration::DefinitionChange,
    engine::{EngineConfig, EnqueueRequest, Held},
    params::{ClaimedJob, HowCreated, NewDefinition, NewLogLine, REMOTE},
    scope::Scope,
    secrets::{OnSecret, REDACTED, SecretPolicy, corpus},
    transition::{Ending, Failure},
};
use leasehold_types::{JobFilter, JobRef, LogStream, PageRequest, ProblemCode};
use serde_json::json;

fn config(on_secret: OnSecret) -> EngineConfig {
    EngineConfig { secrets: SecretPolicy::new(on_secret, None, None).unwrap(), ..EngineConfig::default() }
}

pub(crate) fn held(job: &ClaimedJob) -> Held {
    let (worker, lease_id) = (job.lease.worker_id.clone(), job.lease.lease_id);
    Held { job: JobRef::Number(job.lease.number), worker, lease_id }
}

pub async fn keys_with_secrets_are_kept_as_hashes_and_still_compare(b: Bench) {
    let secret = &corpus::secrets()[2];
    let text = || Some(secret.text.clone());
    for mode in [OnSecret::Allow, OnSecret::Redact] {
        // Two processes: the hash is the installation's, not the process's.
        let (engine, other) = (b.engine(config(mode)), b.engine(config(mode)));
        let with_dedupe =
            || EnqueueRequest { dedupe_key: text(), owner_user_id: text(), ..import(json!({})) };
        let first = engine.enqueue(&b.ann(), b.a, with_dedupe()).await.unwrap().job;
        let again = other.enqueue(&b.ann(), b.a, with_dedupe()).await.unwrap().job;
        assert_eq!((again.number, again.how == HowCreated::Inserted), (first.number, false), "{mode:?}");
        let with_key = || EnqueueRequest { idempotency_key: text(), ..import(json!({})) };
        let first_keyed = engine.enqueue(&b.ann(), b.a, with_key()).await.unwrap().job;
        assert_eq!(other.enqueue(&b.ann(), b.a, with_key()).await.unwrap().job.number, first_keyed.number);
        let kept = b.detail(first.number).await;
        assert!(!format!("{kept:?}").contains(&secret.core), "{kept:?}");
        assert!(kept.dedupe_key.unwrap().starts_with("redacted-"));
        // Whoever asks for the owner in clear finds the jobs.
        let filter = JobFilter { owner_user_id: text(), ..JobFilter::default() };
        let found = engine.list(&b.ann(), &filter, PageRequest::default()).await.unwrap();
        assert_eq!(found.rows.len(), 1, "{mode:?}");
    }
    let strict = b.engine(config(OnSecret::Reject));
    let request = EnqueueRequest { dedupe_key: text(), ..import(json!({})) };
    assert_eq!(code(&strict, &b, request).await, "SECRET_IN_PAYLOAD");
}

pub async fn what_a_worker_says_is_kept_without_secrets_in_every_mode(b: Bench) {
    for mode in [OnSecret::Allow, OnSecret::Redact, OnSecret::Reject] {
        let engine = b.engine(config(mode));
        let secret = &corpus::secrets()[5];
        let job = b.running_with(|job| job.payload = json!({"password": "sesame-opens"})).await;
        let result = json!({"note": secret.text, "said": "sesame-opens", "rows": 3});
        let ended =
            engine.remote_finish(&b.ann(), &held(&job), Ending::Completed, Some(result), None).await.unwrap();
        assert!(!ended.already_done);
        let kept = b.detail(job.lease.number).await.result.unwrap();
        assert_eq!(kept["said"], REDACTED, "{mode:?}");
        assert_eq!(kept["rows"], 3);
        assert!(!kept.to_string().contains(&secret.core), "{kept}");
        let job = b.running().await;
        let failure = Failure {
            error_code: Some(secret.text.clone()),
            message: format!("{} {}", "x".repeat(3_990), secret.text),
            retryable: Some(false),
            ..Failure::default()
        };
        engine.remote_finish(&b.ann(), &held(&job), Ending::Failed(failure), None, None).await.unwrap();
        let kept = b.detail(job.lease.number).await;
        assert!(!format!("{kept:?}").contains(&secret.core[..8]), "{kept:?}");
    }
}

pub async fn a_private_key_is_hidden_over_lines_and_requests(b: Bench) {
    let engine = b.engine(EngineConfig::default());
    let job = b.running().await;
    let key = corpus::secrets().into_iter().find(|secret| secret.kind == "private key").unwrap();
    let lines: Vec<NewLogLine> = key
        .text
        .lines()
        .zip(1..)
        .map(|(text, seq)| NewLogLine { seq, stream: LogStream::Stdout, text: text.into(), at: NOW })
        .collect();
    // Cut behind the first line of the key, and again behind the next.
    for some in [&lines[..2], &lines[2..3], &lines[3..]] {
        engine.remote_logs(&b.ann(), &held(&job), some.to_vec()).await.unwrap();
    }
    let kept = b.store.logs(&b.ann(), JobRef::Number(job.lease.number), 1, 0, 100).await.unwrap();
    let kept: Vec<_> = kept.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(kept, ["before", REDACTED, REDACTED, REDACTED, REDACTED, "behind"]);
}

pub async fn a_name_that_is_a_secret_is_refused(b: Bench) {
    let engine = b.engine(EngineConfig::default());
    let secret = &corpus::secrets()[2].text;
    let request =
        leasehold_queue::engine::AppEventRequest { name: secret.clone(), event_id: None, payload: json!({}) };
    let problem = engine.app_event(&b.ann(), b.a, request).await.unwrap_err();
    assert_eq!(problem.code, ProblemCode::SecretInPayload);
    assert!(!format!("{problem:?}").contains(secret.as_str()));
}

pub async fn a_definition_is_kept_without_secrets_or_refused(b: Bench) {
    let governor = Scope::terminal("ann");
    for secret in corpus::secrets() {
        let text = format!("Call it with {}", secret.text);
        let schema = json!({
            "type": "object",
            "properties": {"note": {"type": "string", "default": text, "examples": [text], "description": text}},
        });
        let change = DefinitionChange {
            description: Some(text.clone()),
            arg_schema: Some(schema),
            ..Default::default()
        };
        for mode in [OnSecret::Allow, OnSecret::Redact] {
            let engine = b.engine(config(mode));
            engine.update_definition(&governor, b.definition.id, change.clone()).await.unwrap();
            let kept = b.store.definition(b.definition.id).await.unwrap().unwrap();
            assert!(!format!("{kept:?}").contains(&secret.core), "{}: {kept:?}", secret.kind);
            assert_eq!(kept.arg_schema["properties"]["note"]["type"], "string");
        }
        let strict = b.engine(config(OnSecret::Reject));
        for change in [
            DefinitionChange { arg_schema: None, ..change.clone() },
            DefinitionChange { description: None, ..change },
        ] {
            let refused = strict.update_definition(&governor, b.definition.id, change).await.unwrap_err();
            assert_eq!(refused.code, ProblemCode::SecretInPayload, "{}", secret.kind);
        }
        let new = NewDefinition { description: text, executor: REMOTE.into(), ..definition("thumbnail") };
        let refused = strict.create_definition(&governor, new, true).await.unwrap_err();
        assert_eq!(refused.code, ProblemCode::SecretInPayload, "{}", secret.kind);
    }
}
