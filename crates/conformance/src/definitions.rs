//! The policies of kinds of jobs.

use super::bench::{Bench, code_of, definition, field_of};
use leasehold_queue::params::NewDefinition;
use leasehold_types::{
    DefinitionId,
    view::{Jitter, RetryPolicy},
};
use serde_json::json;
use uuid::Uuid;

pub async fn a_definition_is_created_once_and_kept(b: Bench) {
    let changed = NewDefinition { timeout_seconds: 5, ..definition("import") };
    let again = b.store.ensure_definition(changed).await.unwrap();
    assert_eq!(again, b.definition, "an edited definition must survive a restart of the server");
}

pub async fn a_kind_has_one_definition(b: Bench) {
    let twin = NewDefinition { key: "twin".into(), ..definition("import") };
    let refused = b.store.ensure_definition(twin).await;
    assert_eq!(field_of(&refused), Some("job_type"));
    assert_eq!(code_of(refused), "ALREADY_EXISTS");
}

pub async fn definitions_are_listed_by_key(b: Bench) {
    b.store.ensure_definition(definition("export")).await.unwrap();
    b.store.ensure_definition(definition("zip")).await.unwrap();
    let keys: Vec<_> = b.store.definitions().await.unwrap().into_iter().map(|d| d.key).collect();
    assert_eq!(keys, ["export", "import", "zip"]);
}

pub async fn a_definition_comes_back_whole(b: Bench) {
    let retry = RetryPolicy {
        base_seconds: 0.5,
        cap_seconds: 9.0,
        jitter: Jitter::Decorrelated,
        retryable_classes: vec!["rate_limited".into()],
    };
    let arg_schema = json!({"type": "object", "properties": {"x": {"type": "integer"}}});
    let new = NewDefinition { retry: retry.clone(), arg_schema: arg_schema.clone(), ..definition("whole") };
    let made = b.store.ensure_definition(new).await.unwrap();
    let found = b.store.definition(made.id).await.unwrap().unwrap();
    assert_eq!(found, made);
    assert_eq!((found.retry, found.arg_schema), (retry, arg_schema));
    assert_eq!((found.timeout_seconds, found.max_attempts, found.stages.len()), (600, 3, 2));
    assert!(found.is_active && found.executor == "command" && found.description.contains("whole"));
}

pub async fn an_unknown_definition_is_none(b: Bench) {
    assert_eq!(b.store.definition(DefinitionId(Uuid::now_v7())).await.unwrap(), None);
}
