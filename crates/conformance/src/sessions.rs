//! Browser sessions.

use super::bench::{Bench, NOW};
use leasehold_queue::params::SessionRow;
use serde_json::{Value, json};

fn session(id: &str, data: Value, lives: i64) -> SessionRow {
    SessionRow { id_hash: id.into(), user_id: None, data, expires_at: NOW.plus_secs(lives) }
}

pub async fn a_session_is_saved_and_replaced(b: Bench) {
    b.store.save_session(session("s", json!({"a": 1}), 60)).await.unwrap();
    let newer = session("s", json!({"a": [1, "zwei"]}), 120);
    b.store.save_session(newer.clone()).await.unwrap();
    assert_eq!(b.store.session("s").await.unwrap(), Some(newer));
    assert_eq!(b.store.session("t").await.unwrap(), None);
}

pub async fn an_expired_session_is_gone(b: Bench) {
    b.store.save_session(session("s", json!({}), 60)).await.unwrap();
    b.wait(60);
    assert_eq!(b.store.session("s").await.unwrap(), None);
}

pub async fn a_deleted_session_is_gone(b: Bench) {
    b.store.save_session(session("s", json!({}), 60)).await.unwrap();
    b.store.delete_session("s").await.unwrap();
    b.store.delete_session("s").await.unwrap();
    assert_eq!(b.store.session("s").await.unwrap(), None);
}

pub async fn pruning_removes_only_expired_sessions(b: Bench) {
    b.store.save_session(session("old", json!({}), 60)).await.unwrap();
    b.store.save_session(session("new", json!({}), 600)).await.unwrap();
    b.wait(61);
    assert_eq!(b.store.prune_sessions().await.unwrap(), 1);
    assert!(b.store.session("new").await.unwrap().is_some());
}
