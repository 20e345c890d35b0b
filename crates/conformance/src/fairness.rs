//! Fair between tenants, strict within one.

use super::bench::{Bench, LEASE};
use leasehold_queue::{
    params::{NewJob, NewTenant, Selector},
    scope::Scope,
};
use leasehold_types::{TenantId, WorkerId};
use std::collections::HashMap;

impl Bench {
    async fn shares(&self, n: u32) -> HashMap<TenantId, usize> {
        let jobs = self.store.claim(&WorkerId("w".into()), &Selector::default(), n, LEASE).await.unwrap();
        let mut shares = HashMap::new();
        for job in jobs {
            *shares.entry(job.tenant_id).or_default() += 1;
        }
        shares
    }
}

pub async fn a_backlog_does_not_delay_another_tenant(b: Bench) {
    b.create_many(b.a, 1_000).await;
    b.wait(1);
    b.create_many(b.b, 10).await;
    assert_eq!(b.shares(20).await.get(&b.b), Some(&10));
}

pub async fn a_lonely_tenant_gets_the_whole_batch(b: Bench) {
    b.create_many(b.a, 100).await;
    assert_eq!(b.shares(64).await.get(&b.a), Some(&64));
}

pub async fn shares_are_even_over_many_tenants(b: Bench) {
    let mut tenants = vec![b.a, b.b];
    for i in 0..6 {
        let tenant = NewTenant { slug: format!("t{i}"), name: format!("T{i}"), timezone: "UTC".into() };
        tenants.push(b.store.create_tenant(&Scope::system("test"), tenant).await.unwrap().id);
    }
    for tenant in &tenants {
        b.create_many(*tenant, 50).await;
    }
    let shares = b.shares(40).await;
    assert!(tenants.iter().all(|t| shares.get(t) == Some(&5)), "{shares:?}");
}

pub async fn leftovers_go_to_who_has_work(b: Bench) {
    b.create_many(b.a, 100).await;
    b.create_many(b.b, 2).await;
    let shares = b.shares(20).await;
    assert_eq!((shares.get(&b.a), shares.get(&b.b)), (Some(&18), Some(&2)));
}

pub async fn priorities_rule_within_a_tenant_only(b: Bench) {
    let jobs = (0..50).map(|_| NewJob { priority: 1, ..b.job(b.a) }).collect();
    b.store.create_jobs(&Scope::system("test"), jobs).await.unwrap();
    let jobs = (0..50).map(|_| NewJob { priority: 1000, ..b.job(b.b) }).collect();
    b.store.create_jobs(&Scope::system("test"), jobs).await.unwrap();
    assert_eq!(b.shares(10).await.get(&b.b), Some(&5), "another tenant's urgency is not ours");
}
