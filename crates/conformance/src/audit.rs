//! The audit log: what is in it, and its chain. What happens when somebody tampers is in each store's own tests.

use super::bench::{Bench, NOW};
use leasehold_queue::{
    EngineConfig,
    audit::{ChainHead, NewAuditEntry},
    engine::Engine,
    refusals::{Refusal, Refused},
    scope::{Actor, Permission, Reach, Scope},
};
use leasehold_types::{KeyId, PageRequest, people::AuditFilter};

/// A key of tenant A.
fn key(b: &Bench) -> Scope {
    let actor = Actor::Key { id: KeyId(uuid::Uuid::nil()), name: "ci".into(), prefix: "p1".into() };
    Scope { actor, ..b.ann() }.coming_from(Some("203.0.113.7, request abc".into()))
}

async fn enqueue(b: &Bench, scope: &Scope, n: usize) {
    let tenant = scope.tenant().unwrap();
    for _ in 0..n {
        b.store.create_jobs(scope, vec![b.job(tenant)]).await.unwrap();
    }
}

fn engine(b: &Bench) -> Engine {
    Engine::new(b.store.clone(), b.clock.clone(), EngineConfig::default())
}

pub async fn an_act_says_who_what_when_and_from_where(b: Bench) {
    enqueue(&b, &key(&b), 1).await;
    let page =
        b.store.audit_entries(&b.ann(), &AuditFilter::default(), PageRequest::default()).await.unwrap();
    let entry = &page.items[0];
    assert_eq!((entry.actor.as_str(), entry.action.as_str()), ("key ci (lh_p1)", "job.create"));
    assert_eq!((entry.tenant_id, entry.created_at), (Some(b.a), NOW));
    assert_eq!(entry.origin.as_deref(), Some("203.0.113.7, request abc"));
}

pub async fn one_call_with_many_jobs_is_one_row(b: Bench) {
    let jobs = (0..200).map(|nth| b.job(if nth % 4 == 0 { b.b } else { b.a })).collect();
    let both = Scope { reach: Reach::All, ..key(&b) };
    let made = b.store.create_jobs(&both, jobs).await.unwrap();
    let page =
        b.store.audit_entries(&b.ann(), &AuditFilter::default(), PageRequest::default()).await.unwrap();
    assert_eq!(page.items.len(), 1, "{:?}", page.items);
    let entry = &page.items[0];
    assert_eq!((entry.action.as_str(), entry.object_type.as_str()), ("job.create", "jobs"));
    assert_eq!(entry.reason.as_deref(), Some("150 jobs in one call"));
    let (first, last) = (made[1].as_ref().unwrap().number, made[199].as_ref().unwrap().number);
    assert_eq!(entry.object_id, format!("{first}–{last}"));
    let theirs =
        b.store.audit_entries(&b.bob(), &AuditFilter::default(), PageRequest::default()).await.unwrap();
    assert_eq!(theirs.items.len(), 1);
}

pub async fn signing_in_and_being_refused_are_in_the_log(b: Bench) {
    let (system, filter) = (Scope::system("test"), AuditFilter::default());
    let entry = NewAuditEntry::new(None, "user.sign_in", "user", "ann@example.org");
    let themselves = Scope { reach: Reach::All, ..key(&b) };
    b.store.record(&themselves, entry).await.unwrap();
    let refusal = |tenant, address: Option<&str>| Refusal {
        tenant,
        actor: "key ci (lh_p1)".into(),
        action: "key.refused",
        object_type: "key",
        object_id: "p1".into(),
        why: "revoked".into(),
        address: address.map(Into::into),
    };
    let row = |refusal: Refusal| Refused { reason: format!("{}, 7 times", refusal.why), refusal, at: NOW };
    let rows = vec![row(refusal(Some(b.a), Some("10.0.0.1"))), row(refusal(None, None))];
    b.store.record_refusals(rows).await.unwrap();
    let all = b.store.audit_entries(&system, &filter, PageRequest::default()).await.unwrap().items;
    assert_eq!(
        all.iter().map(|e| e.action.as_str()).collect::<Vec<_>>(),
        ["key.refused", "key.refused", "user.sign_in"]
    );
    let own = b.store.audit_entries(&b.ann(), &filter, PageRequest::default()).await.unwrap().items;
    assert_eq!(own.len(), 1, "their key, not who signed in");
    assert_eq!(
        (own[0].reason.as_deref(), own[0].origin.as_deref()),
        (Some("revoked, 7 times"), Some("10.0.0.1"))
    );
    b.store.chain_audit(10).await.unwrap();
    assert_eq!(engine(&b).verify_audit(&system).await.unwrap().broken, None);
}

pub async fn every_kind_of_steering_keeps_its_origin(b: Bench) {
    let scope = key(&b);
    enqueue(&b, &scope, 1).await;
    let job = b.store.list(&scope, &Default::default(), PageRequest::default()).await.unwrap().rows.remove(0);
    let named = leasehold_types::JobRef::Number(job.number);
    b.store.cancel(&scope, named, Some("enough")).await.unwrap();
    let page =
        b.store.audit_entries(&b.ann(), &AuditFilter::default(), PageRequest::default()).await.unwrap();
    assert_eq!(page.items.len(), 2);
    assert!(page.items.iter().all(|entry| entry.origin == scope.origin), "{:?}", page.items);
}

pub async fn the_log_is_narrowed_and_paged(b: Bench) {
    enqueue(&b, &b.ann(), 3).await;
    enqueue(&b, &key(&b), 2).await;
    enqueue(&b, &b.bob(), 1).await;
    let read = async |scope: &Scope, actor: Option<&str>, action: Option<&str>, before, limit| {
        let filter = AuditFilter { actor: actor.map(Into::into), action: action.map(Into::into) };
        b.store.audit_entries(scope, &filter, PageRequest { before, limit }).await.unwrap()
    };
    let system = Scope::system("test");
    assert_eq!(read(&system, None, None, None, 50).await.items.len(), 6);
    assert_eq!(read(&b.ann(), None, None, None, 50).await.items.len(), 5);
    assert_eq!(read(&b.ann(), Some("ANN@"), Some("job."), None, 50).await.items.len(), 3);
    assert_eq!(read(&b.ann(), Some("%"), None, None, 50).await.items.len(), 0, "wildcards are plain text");
    assert_eq!(read(&b.ann(), None, Some("key."), None, 50).await.items.len(), 0);
    let first = read(&b.ann(), None, None, None, 3).await;
    let rest = read(&b.ann(), None, None, first.next, 3).await;
    assert_eq!((first.items.len(), rest.items.len(), rest.next), (3, 2, None));
    assert!(first.items[2].id > rest.items[0].id);
}

pub async fn rows_are_chained_once_and_in_order(b: Bench) {
    enqueue(&b, &b.ann(), 5).await;
    let (engine, system) = (engine(&b), Scope::system("test"));
    assert_eq!(engine.verify_audit(&system).await.unwrap().waiting, 5);
    assert_eq!(b.store.chain_audit(3).await.unwrap(), 3);
    assert_eq!(b.store.chain_audit(3).await.unwrap(), 2);
    assert_eq!(b.store.chain_audit(3).await.unwrap(), 0);
    enqueue(&b, &b.bob(), 1).await;
    b.store.chain_audit(10).await.unwrap();
    let links = b.store.audit_links(0, 100).await.unwrap();
    assert_eq!(links.iter().map(|row| row.position.unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    let state = engine.verify_audit(&system).await.unwrap();
    assert_eq!((state.intact_up_to, state.waiting, state.broken), (6, 0, None));
    let viewer = Scope { permission: Permission::Operate, ..b.ann() };
    assert!(engine.verify_audit(&viewer).await.is_err());
}

pub async fn many_writers_and_chainers_make_one_chain(b: Bench) {
    let writers: Vec<_> = (0..8)
        .map(|_| {
            let (store, scope) = (b.store.clone(), key(&b));
            let jobs: Vec<_> = (0..20).map(|_| b.job(b.a)).collect();
            tokio::spawn(async move {
                for job in jobs {
                    store.create_jobs(&scope, vec![job]).await.unwrap();
                }
            })
        })
        .collect();
    let chainers: Vec<_> = (0..3)
        .map(|_| {
            let store = b.store.clone();
            tokio::spawn(async move {
                for _ in 0..30 {
                    store.chain_audit(7).await.unwrap();
                }
            })
        })
        .collect();
    for task in writers.into_iter().chain(chainers) {
        task.await.unwrap();
    }
    while b.store.chain_audit(100).await.unwrap() > 0 {}
    let state = engine(&b).verify_audit(&Scope::system("test")).await.unwrap();
    assert_eq!((state.intact_up_to, state.waiting, state.broken), (160, 0, None));
    assert_ne!(b.store.audit_extent().await.unwrap().head, ChainHead::default());
}
