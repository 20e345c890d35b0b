//! Tenants, users, the first admin, keys and settings.

use super::bench::{Bench, NOW, code_of, field_of, person};
use leasehold_queue::{
    params::{NewKey, NewTenant, NewUser, TenantChange},
    scope::Scope,
};
use leasehold_types::{KeyId, PageRequest, Role, TenantId, people::AuditFilter};
use uuid::Uuid;

fn tenant(slug: &str, name: &str) -> NewTenant {
    NewTenant { slug: slug.into(), name: name.into(), timezone: "Europe/Berlin".into() }
}

fn user(email: &str) -> NewUser {
    NewUser {
        email: email.into(),
        name: "Ann".into(),
        password_hash: "hash".into(),
        super_admin: false,
        membership: None,
    }
}

fn key(tenant: TenantId, prefix: &str) -> NewKey {
    NewKey {
        id: KeyId(Uuid::now_v7()),
        tenant_id: Some(tenant),
        name: "ci".into(),
        prefix: prefix.into(),
        secret_hash: "abc".into(),
        scopes: vec!["read".into(), "write".into()],
        expires_at: Some(NOW.plus_secs(60)),
    }
}

pub async fn a_tenant_is_found_by_its_slug(b: Bench) {
    let scope = Scope::system("test");
    let made = b.store.create_tenant(&scope, tenant("oak", "Oak & Sons")).await.unwrap();
    let found = b.store.tenant_by_slug(&scope, "oak").await.unwrap().unwrap();
    assert_eq!(found, made);
    assert_eq!(
        (found.name.as_str(), found.timezone.as_str(), found.created_at),
        ("Oak & Sons", "Europe/Berlin", NOW)
    );
    assert!(b.store.tenant_by_slug(&scope, "elm").await.unwrap().is_none());
}

pub async fn a_tenant_gets_another_name_and_time_zone(b: Bench) {
    let zone = TenantChange { timezone: Some("Asia/Tokyo".into()), ..TenantChange::default() };
    let changed = b.store.update_tenant(&b.ann(), b.a, zone.clone()).await.unwrap();
    assert_eq!((changed.name.as_str(), changed.timezone.as_str()), ("Acme", "Asia/Tokyo"), "the rest stays");
    let name = TenantChange { name: Some("Acme & Sons".into()), ..TenantChange::default() };
    let changed = b.store.update_tenant(&b.ann(), b.a, name).await.unwrap();
    assert_eq!((changed.name.as_str(), changed.timezone.as_str()), ("Acme & Sons", "Asia/Tokyo"));
    assert_eq!(b.store.tenant(&b.ann(), b.a).await.unwrap(), Some(changed));
    assert_eq!(code_of(b.store.update_tenant(&b.bob(), b.a, zone.clone()).await), "NOT_FOUND");
    let nobody = TenantId(Uuid::nil());
    assert_eq!(code_of(b.store.update_tenant(&Scope::system("test"), nobody, zone).await), "NOT_FOUND");
    let log = b.store.audit_entries(&b.ann(), &AuditFilter::default(), PageRequest::default()).await.unwrap();
    let acts: Vec<_> = log.items.iter().map(|e| (e.action.as_str(), e.reason.as_deref())).collect();
    let expected =
        [("tenant.update", Some("name: Acme & Sons")), ("tenant.update", Some("time zone: Asia/Tokyo"))];
    assert_eq!(acts, expected);
}

pub async fn a_slug_is_taken_once(b: Bench) {
    let again = b.store.create_tenant(&Scope::system("test"), tenant("acme", "Other")).await;
    assert_eq!(code_of(again), "ALREADY_EXISTS");
}

pub async fn tenants_are_listed_by_name(b: Bench) {
    b.store.create_tenant(&Scope::system("test"), tenant("aaa", "Zebra")).await.unwrap();
    let names: Vec<_> =
        b.store.tenants(&Scope::system("test")).await.unwrap().into_iter().map(|t| t.name).collect();
    assert_eq!(names, ["Acme", "Birch", "Zebra"]);
}

pub async fn a_scope_sees_only_its_tenant(b: Bench) {
    let seen = b.store.tenants(&b.ann()).await.unwrap();
    assert_eq!(seen.iter().map(|t| t.id).collect::<Vec<_>>(), [b.a]);
    assert!(b.store.tenant_by_slug(&b.ann(), "birch").await.unwrap().is_none());
    assert!(b.store.tenant_by_slug(&b.ann(), "acme").await.unwrap().is_some());
}

pub async fn a_user_is_found_with_the_password_hash(b: Bench) {
    let made = b.store.create_user(&Scope::system("test"), user("ann@example.org")).await.unwrap();
    let (found, hash) = b.store.credentials("ann@example.org").await.unwrap().unwrap();
    assert_eq!((&found, hash.as_str()), (&made, "hash"));
    assert_eq!(b.store.user(made.id).await.unwrap(), Some(made));
    assert!(b.store.credentials("nobody@example.org").await.unwrap().is_none());
}

pub async fn an_email_is_taken_once(b: Bench) {
    let scope = Scope::system("test");
    b.store.create_user(&scope, user("ann@example.org")).await.unwrap();
    let again = b.store.create_user(&scope, user("ann@example.org")).await;
    assert_eq!(field_of(&again), Some("email"));
    assert_eq!(code_of(again), "ALREADY_EXISTS");
}

pub async fn nothing_is_made_for_an_unknown_tenant(b: Bench) {
    let (scope, nowhere) = (Scope::system("test"), TenantId(Uuid::now_v7()));
    let new = NewUser { membership: Some((nowhere, Role::Viewer)), ..user("ann@example.org") };
    assert_eq!(code_of(b.store.create_user(&scope, new).await), "NOT_FOUND");
    assert!(b.store.credentials("ann@example.org").await.unwrap().is_none());
    let key = NewKey { tenant_id: Some(nowhere), ..key(b.a, "prefix") };
    assert_eq!(code_of(b.store.create_key(&scope, key).await), "NOT_FOUND");
    assert!(b.store.key_by_prefix("prefix").await.unwrap().is_none());
}

pub async fn memberships_name_tenant_and_role(b: Bench) {
    let new = NewUser { membership: Some((b.a, Role::Viewer)), ..user("ann@example.org") };
    let ann = b.store.create_user(&Scope::system("test"), new).await.unwrap();
    let memberships = b.store.memberships(ann.id).await.unwrap();
    assert_eq!(memberships.len(), 1);
    assert_eq!((memberships[0].tenant.id, memberships[0].role), (b.a, Role::Viewer));
}

async fn offer_setup(b: &Bench) {
    b.store.put_setting("setup_token", "right", Some(NOW.plus_secs(60))).await.unwrap();
}

pub async fn the_first_admin_needs_the_token(b: Bench) {
    offer_setup(&b).await;
    let wrong = b.store.create_first_admin("wrong", user("ann@example.org"), None, None).await;
    assert_eq!(code_of(wrong), "SETUP_LINK_INVALID");
    assert!(!b.store.has_users().await.unwrap());
    let admin = NewUser { super_admin: true, ..user("ann@example.org") };
    let origin = Some("203.0.113.7".to_owned());
    let (user, tenant) =
        b.store.create_first_admin("right", admin, Some(tenant("oak", "Oak")), origin).await.unwrap();
    assert!(user.super_admin && b.store.has_users().await.unwrap());
    assert_eq!(tenant.unwrap().slug, "oak");
    let all = Scope::system("test");
    let trail = b.store.audit_entries(&all, &AuditFilter::default(), PageRequest::default()).await.unwrap();
    let said: Vec<_> = trail.items.iter().map(|e| (e.actor.as_str(), e.action.as_str())).collect();
    assert_eq!(said, [("ann@example.org", "tenant.create"), ("ann@example.org", "user.create")]);
    assert!(trail.items.iter().all(|entry| entry.origin.as_deref() == Some("203.0.113.7")));
}

pub async fn what_is_done_on_the_terminal_leaves_a_trail(b: Bench) {
    let made = b.store.create_tenant(&Scope::terminal("root"), tenant("oak", "Oak")).await.unwrap();
    let all = Scope::system("test");
    let trail = b.store.audit_entries(&all, &AuditFilter::default(), PageRequest::default()).await.unwrap();
    let entry = &trail.items[0];
    assert_eq!((entry.actor.as_str(), entry.action.as_str()), ("terminal (root)", "tenant.create"));
    assert_eq!(entry.tenant_id, Some(made.id));
}

pub async fn the_setup_token_works_once(b: Bench) {
    offer_setup(&b).await;
    b.store.create_first_admin("right", user("ann@example.org"), None, None).await.unwrap();
    let again = b.store.create_first_admin("right", user("bob@example.org"), None, None).await;
    assert_eq!(code_of(again), "SETUP_LINK_INVALID");
    assert!(b.store.credentials("bob@example.org").await.unwrap().is_none());
}

pub async fn an_expired_setup_token_is_refused(b: Bench) {
    offer_setup(&b).await;
    b.wait(61);
    let late = b.store.create_first_admin("right", user("ann@example.org"), None, None).await;
    assert_eq!(code_of(late), "SETUP_LINK_INVALID");
}

pub async fn setup_is_over_once_a_user_exists(b: Bench) {
    offer_setup(&b).await;
    b.store.create_user(&Scope::system("test"), user("bob@example.org")).await.unwrap();
    let late = b.store.create_first_admin("right", user("ann@example.org"), None, None).await;
    assert_eq!(code_of(late), "SETUP_LINK_INVALID");
}

pub async fn settings_are_replaced(b: Bench) {
    assert_eq!(b.store.setting("x").await.unwrap(), None);
    b.store.put_setting("x", "1", None).await.unwrap();
    b.store.put_setting("x", "2", Some(NOW)).await.unwrap();
    assert_eq!(b.store.setting("x").await.unwrap(), Some(("2".into(), Some(NOW))));
}

pub async fn a_key_is_found_by_its_prefix(b: Bench) {
    let made = b.store.create_key(&Scope::system("test"), key(b.a, "p1")).await.unwrap();
    let (found, hash) = b.store.key_by_prefix("p1").await.unwrap().unwrap();
    assert_eq!((&found, hash.as_str()), (&made, "abc"));
    assert_eq!((found.scopes, found.tenant_id), (vec!["read".to_owned(), "write".into()], Some(b.a)));
    assert!(b.store.key_by_prefix("p2").await.unwrap().is_none());
}

pub async fn only_who_reaches_every_tenant_makes_a_key_of_the_installation(b: Bench) {
    let of_all = |prefix: &str| NewKey { tenant_id: None, ..key(b.a, prefix) };
    assert_eq!(code_of(b.store.create_key(&b.ann(), of_all("p1")).await), "NOT_FOUND");
    let made = b.store.create_key(&Scope::system("test"), of_all("p2")).await.unwrap();
    assert_eq!(made.tenant_id, None);
    assert_eq!(b.store.key_by_prefix("p2").await.unwrap().unwrap().0, made);
    assert!(b.store.api_keys(&b.ann()).await.unwrap().is_empty(), "no tenant's list shows it");
    assert_eq!(code_of(b.store.revoke_key(&b.ann(), "p2").await), "NOT_FOUND");
    assert!(b.store.revoke_key(&Scope::system("test"), "p2").await.unwrap().revoked_at.is_some());
}

pub async fn a_key_for_a_foreign_tenant_is_not_found(b: Bench) {
    let made = b.store.create_key(&person(b.a, "ann@example.org"), key(b.b, "p1")).await;
    assert_eq!(code_of(made), "NOT_FOUND");
    assert!(b.store.key_by_prefix("p1").await.unwrap().is_none());
}
