//! Rights of streams that are open.

use super::bench::{Bench, NOW};
use leasehold_queue::{
    params::{NewKey, NewUser, SessionRow},
    rights::SessionRight,
    scope::Scope,
};
use leasehold_types::{KeyId, Role, Timestamp, UserId};
use serde_json::json;
use uuid::Uuid;

async fn user(b: &Bench, email: &str, super_admin: bool, role: Option<Role>) -> UserId {
    let user = NewUser {
        email: email.into(),
        name: email.into(),
        password_hash: "x".into(),
        super_admin,
        membership: role.map(|role| (b.a, role)),
    };
    b.store.create_user(&Scope::system("test"), user).await.unwrap().id
}

async fn session(b: &Bench, id: &str, user: UserId) {
    let expires_at = NOW.plus_secs(60);
    let row = SessionRow { id_hash: id.into(), user_id: Some(user), data: json!({}), expires_at };
    b.store.save_session(row).await.unwrap();
}

pub async fn sessions_are_answered_in_order_with_what_their_user_is(b: Bench) {
    let (ann, root) =
        (user(&b, "ann@x.org", false, Some(Role::Viewer)).await, user(&b, "root@x.org", true, None).await);
    session(&b, "s-ann", ann).await;
    session(&b, "s-root", root).await;
    let asked = [("s-root", b.a), ("nobody", b.a), ("s-ann", b.a), ("s-ann", b.b), ("s-ann", b.a)];
    let asked = asked.map(|(session, tenant)| (session.to_owned(), tenant));
    let rights = b.store.session_rights(&asked).await.unwrap();
    let right = |user_id, super_admin, role| Some(SessionRight { user_id, super_admin, role });
    let viewer = right(ann, false, Some(Role::Viewer));
    assert_eq!(rights, [right(root, true, None), None, viewer, right(ann, false, None), viewer]);
    assert!(b.store.session_rights(&[]).await.unwrap().is_empty());
}

pub async fn a_session_that_ended_has_no_rights(b: Bench) {
    let ann = user(&b, "ann@x.org", false, Some(Role::Admin)).await;
    for id in ["deleted", "expired"] {
        session(&b, id, ann).await;
    }
    b.store.delete_session("deleted").await.unwrap();
    let asked = [("deleted".to_owned(), b.a), ("expired".to_owned(), b.a)];
    let rights = b.store.session_rights(&asked).await.unwrap();
    assert_eq!((rights[0].is_some(), rights[1].is_some()), (false, true));
    b.wait(60);
    assert_eq!(b.store.session_rights(&asked).await.unwrap(), [None, None]);
}

pub async fn only_keys_that_still_open_are_live(b: Bench) {
    let system = Scope::system("test");
    let mut ids = Vec::new();
    for (prefix, expires_at) in [("p1", None), ("p2", None), ("p3", Some(NOW.plus_secs(5)))] {
        let key = key(&b, prefix, expires_at);
        ids.push(b.store.create_key(&system, key).await.unwrap().id);
    }
    b.store.revoke_key(&system, "p2").await.unwrap();
    ids.push(KeyId(Uuid::now_v7()));
    let live = async || {
        let mut live = b.store.live_keys(&ids).await.unwrap();
        live.sort();
        live
    };
    let mut expected = vec![ids[0], ids[2]];
    expected.sort();
    assert_eq!(live().await, expected);
    b.wait(5);
    assert_eq!(live().await, [ids[0]]);
}

fn key(b: &Bench, prefix: &str, expires_at: Option<Timestamp>) -> NewKey {
    NewKey {
        id: KeyId(Uuid::now_v7()),
        tenant_id: Some(b.a),
        name: "a reader".into(),
        prefix: prefix.into(),
        secret_hash: "abc".into(),
        scopes: vec!["read".into()],
        expires_at,
    }
}
