//! Limits of tenants and of kinds of jobs: kept, replaced, and out of a stranger's reach.

use super::bench::{Bench, code_of, definition};
use leasehold_queue::{
    params::{NewDefinition, NewUser},
    scope::Scope,
};
use leasehold_types::{DefinitionId, DefinitionLimits, KeyMode, Role, TenantId, TenantLimits};
use uuid::Uuid;

fn some() -> TenantLimits {
    TenantLimits { max_queued: Some(5), submits_per_minute: Some(60), max_in_flight: None }
}

fn of_keys() -> DefinitionLimits {
    DefinitionLimits {
        max_in_flight: Some(8),
        max_active_per_key: Some(1),
        key_mode: KeyMode::Reject,
        ..DefinitionLimits::default()
    }
}

pub async fn a_tenant_has_no_limits_at_first(b: Bench) {
    let tenant = b.store.tenant(&b.ann(), b.a).await.unwrap().unwrap();
    assert_eq!((tenant.id, tenant.limits), (b.a, TenantLimits::default()));
}

pub async fn limits_of_a_tenant_are_read_wherever_it_is_read(b: Bench) {
    let scope = Scope::system("test");
    b.store.set_tenant_limits(&scope, b.a, some()).await.unwrap();
    assert_eq!(b.store.tenant(&scope, b.a).await.unwrap().unwrap().limits, some());
    assert_eq!(b.store.tenant_by_slug(&scope, "acme").await.unwrap().unwrap().limits, some());
    let all: Vec<_> = b.store.tenants(&scope).await.unwrap().into_iter().map(|t| t.limits).collect();
    assert_eq!(all, [some(), TenantLimits::default()]);
    let ann = NewUser {
        email: "ann@example.org".into(),
        name: "Ann".into(),
        password_hash: "hash".into(),
        super_admin: false,
        membership: Some((b.a, Role::Admin)),
    };
    let ann = b.store.create_user(&scope, ann).await.unwrap();
    assert_eq!(b.store.memberships(ann.id).await.unwrap()[0].tenant.limits, some());
}

pub async fn limits_of_a_tenant_are_replaced_as_a_whole(b: Bench) {
    let scope = Scope::system("test");
    b.store.set_tenant_limits(&scope, b.a, some()).await.unwrap();
    let other = TenantLimits { max_in_flight: Some(2), ..TenantLimits::default() };
    b.store.set_tenant_limits(&scope, b.a, other.clone()).await.unwrap();
    assert_eq!(b.store.tenant(&scope, b.a).await.unwrap().unwrap().limits, other);
}

pub async fn a_strangers_limits_cannot_be_changed(b: Bench) {
    assert_eq!(code_of(b.store.set_tenant_limits(&b.ann(), b.b, some()).await), "NOT_FOUND");
    let nobody = TenantId(Uuid::now_v7());
    let scope = Scope::system("test");
    assert_eq!(code_of(b.store.set_tenant_limits(&scope, nobody, some()).await), "NOT_FOUND");
    assert_eq!(b.store.tenant(&scope, nobody).await.unwrap(), None);
    assert_eq!(b.store.tenant(&b.ann(), b.b).await.unwrap(), None);
    assert_eq!(b.store.tenant(&scope, b.b).await.unwrap().unwrap().limits, TenantLimits::default());
}

pub async fn a_definition_is_made_with_its_limits_and_keeps_what_was_changed(b: Bench) {
    let limited = NewDefinition { limits: of_keys(), ..definition("convert") };
    let made = b.store.ensure_definition(limited.clone()).await.unwrap();
    assert_eq!(made.limits, of_keys());
    let changed = DefinitionLimits { max_in_flight_per_tenant: Some(3), ..DefinitionLimits::default() };
    b.store.set_definition_limits(&Scope::system("test"), made.id, changed.clone()).await.unwrap();
    assert_eq!(
        b.store.ensure_definition(limited).await.unwrap().limits,
        changed,
        "a restart keeps the change"
    );
    assert_eq!(b.store.definition(made.id).await.unwrap().unwrap().limits, changed);
    let listed = b.store.definitions().await.unwrap();
    assert!(listed.iter().any(|d| d.id == made.id && d.limits == changed));
}

pub async fn an_unknown_definition_has_no_limits_to_change(b: Bench) {
    let nobody = DefinitionId(Uuid::now_v7());
    let answer = b.store.set_definition_limits(&Scope::system("test"), nobody, of_keys()).await;
    assert_eq!(code_of(answer), "NOT_FOUND");
}
