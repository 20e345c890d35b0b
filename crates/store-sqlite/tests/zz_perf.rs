mod common;
use leasehold_queue::{Clock, Scope, Store, params::*, transition::*};
use leasehold_types::*;
use serde_json::json;
use std::time::{Duration, Instant};
use uuid::Uuid;
fn job(t: TenantId, d: &view::Definition, p: i32) -> NewJob {
    NewJob {
        id: JobId(Uuid::now_v7()),
        tenant_id: t,
        domain: d.domain.clone(),
        queue: d.queue.clone(),
        job_type: d.job_type.clone(),
        definition_id: Some(d.id),
        owner_user_id: None,
        project_id: None,
        source: Source::Api,
        source_ref: None,
        priority: p,
        payload: json!({"n":1}),
        metadata: json!({}),
        dedupe_key: None,
        idempotency: None,
        concurrency_key: None,
        correlation_id: None,
        request_id: None,
        trace_id: "t".into(),
        requested_by: "x".into(),
        parent: None,
        max_attempts: 3,
        available_at: None,
    }
}
#[tokio::test(flavor = "multi_thread")]
async fn perf() {
    let (s, _g) = common::fresh_store(Clock::system()).await;
    let sc = Scope::system("t");
    let mut ts = vec![];
    for n in 0..20 {
        ts.push(
            s.create_tenant(
                &sc,
                NewTenant { slug: format!("t{n}"), name: format!("t{n}"), timezone: "UTC".into() },
            )
            .await
            .unwrap()
            .id,
        );
    }
    let d = s
        .ensure_definition(leasehold_queue::params::NewDefinition {
            key: "i".into(),
            description: "".into(),
            domain: "c".into(),
            job_type: "i".into(),
            queue: "default".into(),
            executor: "command".into(),
            arg_schema: json!({}),
            timeout_seconds: 60,
            max_attempts: 3,
            retry: Default::default(),
            stages: vec![],
        })
        .await
        .unwrap();
    let t = Instant::now();
    for _ in 0..50 {
        s.create_jobs(&sc, (0..1000).map(|_| job(ts[0], &d, 100)).collect()).await.unwrap();
    }
    println!("bulk create 50k: {:?} -> {:.0}/s", t.elapsed(), 50_000.0 / t.elapsed().as_secs_f64());
    for x in &ts[1..] {
        s.create_jobs(&sc, (0..10).map(|n| job(*x, &d, 100 + n % 3)).collect()).await.unwrap();
    }
    let t = Instant::now();
    for _ in 0..500 {
        s.create_jobs(&sc, vec![job(ts[0], &d, 100)]).await.unwrap();
    }
    println!("single create: {:.0}/s", 500.0 / t.elapsed().as_secs_f64());
    let w = WorkerId("w".into());
    let t = Instant::now();
    let mut claims = Duration::ZERO;
    let mut n = 0;
    for i in 0..100 {
        let c0 = Instant::now();
        let jobs = s.claim(&w, &Selector::default(), 100, Duration::from_secs(60)).await.unwrap();
        claims += c0.elapsed();
        if i == 0 {
            let mut c: Vec<_> = jobs.iter().map(|j| j.tenant_slug.clone()).collect();
            c.sort();
            c.dedup();
            println!("first claim tenants {} jobs {}", c.len(), jobs.len());
        }
        n += jobs.len();
        let fs = jobs
            .into_iter()
            .map(|j| Finish {
                lease: j.lease,
                ending: Ending::Completed,
                result: None,
                facts: Default::default(),
                token: None,
                policy: None,
            })
            .collect();
        s.finish(&Rules::default(), fs).await.unwrap();
    }
    println!("drain {n}: {:.0}/s, claim avg {:?}", n as f64 / t.elapsed().as_secs_f64(), claims / 100);
    for _ in 0..3 {
        let t = Instant::now();
        s.overview(&sc, ts[0]).await.unwrap();
        println!("overview {:?}", t.elapsed());
        let t = Instant::now();
        s.list(&sc.within(ts[0]), &JobFilter::default(), PageRequest::default()).await.unwrap();
        println!("list {:?}", t.elapsed());
        let t = Instant::now();
        s.list(&sc, &JobFilter::default(), PageRequest::default()).await.unwrap();
        println!("list all {:?}", t.elapsed());
    }
    let t = Instant::now();
    s.recount().await.unwrap();
    println!("recount {:?}", t.elapsed());
}
