//! Triggers under real concurrency: many processes, each time and each event once.

use super::{bench::Bench, trigger_events::kept};
use leasehold_queue::{
    Clock, Engine,
    engine::{EngineConfig, TriggerDraft},
    scope::Scope,
    triggers::Received,
};
use leasehold_types::{CatchUp, FiringOutcome, TriggerKind};
use serde_json::json;
use std::{collections::HashSet, sync::Arc};
use tokio::{sync::Barrier, task::JoinSet};

const CALLERS: usize = 20;

/// Everybody starts at the same moment.
async fn together<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    call: impl Fn(usize) -> F,
) -> Vec<T> {
    let start = Arc::new(Barrier::new(CALLERS));
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let (start, call) = (start.clone(), call(caller));
        callers.spawn(async move {
            start.wait().await;
            call.await
        });
    }
    callers.join_all().await
}

pub async fn many_schedulers_fire_each_time_once(b: Bench) {
    let b = Arc::new(b);
    let mut due = Vec::new();
    for n in 0..30 {
        let tenant = if n % 2 == 0 { b.a } else { b.b };
        due.push(b.due(&b.trigger(b.scheduled(tenant, b.clock.now())).await));
    }
    let views = together(|caller| {
        let (b, mut due) = (b.clone(), due.clone());
        if caller % 2 == 1 {
            due.reverse();
        }
        async move { b.store.fire_due(&Scope::system("test"), due).await.unwrap() }
    });
    let views: Vec<_> = views.await.into_iter().flatten().collect();
    let triggers: HashSet<_> = views.iter().map(|view| view.trigger_id).collect();
    // Who came second may have left some to the one it met there, which has written them by now.
    assert_eq!((views.len(), triggers.len(), b.all_jobs().await), (30, 30, 30));
    assert!(b.store.due_triggers().await.unwrap().is_empty());
    assert_eq!(b.store.recount().await.unwrap(), 0);
}

pub async fn many_posts_of_one_event_make_one_job(b: Bench) {
    let b = Arc::new(b);
    let trigger = b.trigger(b.listening(b.a, "folder.updated")).await;
    let answers = together(|_| {
        let (b, trigger) = (b.clone(), trigger.clone());
        async move { b.receive(b.event("e1"), &trigger, "p").await }
    });
    let answers = answers.await;
    let fresh = answers.iter().filter(|answer| matches!(answer, Received::Kept(..))).count();
    let replayed = answers.iter().filter(|answer| matches!(answer, Received::Replayed(..))).count();
    assert_eq!((fresh, replayed, b.all_jobs().await), (1, CALLERS - 1, 1));
}

pub async fn many_events_of_one_payload_make_one_job(b: Bench) {
    let b = Arc::new(b);
    let trigger = b.trigger(b.listening(b.a, "folder.updated")).await;
    let answers = together(|caller| {
        let (b, trigger) = (b.clone(), trigger.clone());
        async move { kept(b.receive(b.event(&format!("e{caller}")), &trigger, "p").await) }
    });
    let answers = answers.await;
    let made = answers.iter().filter(|outcome| **outcome == FiringOutcome::Enqueued).count();
    assert_eq!((made, b.all_jobs().await), (1, 1), "{answers:?}");
}

/// Two processes look again and again while the clock leaps and falls back: each minute fires once for each
/// trigger, none is left out.
pub async fn two_schedulers_and_a_jumping_clock_lose_nothing(b: Bench) {
    let engine =
        |clock: &Clock| Arc::new(Engine::new(b.store.clone(), clock.clone(), EngineConfig::default()));
    let engines = [engine(&b.clock), engine(&b.clock)];
    let mut ids = Vec::new();
    for n in 0..10 {
        let draft = TriggerDraft {
            label: Some(format!("t{n}")),
            trigger_type: Some(TriggerKind::Schedule),
            cron_expr: Some("* * * * *".into()),
            catch_up: Some(CatchUp::All),
            definition_key: Some("import".into()),
            payload_template: Some(json!({"due": "{{schedule.due_at}}"})),
            ..TriggerDraft::default()
        };
        ids.push(engines[0].create_trigger(&b.ann(), b.a, draft).await.unwrap().id);
    }
    let began = b.clock.now();
    let jumps = [30, 60, 1, 240, -180, 90, 200, -3_000, 3_000, 59, 61];
    for jump in jumps {
        b.clock.freeze(b.clock.now().plus_secs(jump));
        let looks = engines.each_ref().map(|engine| {
            let engine = engine.clone();
            tokio::spawn(async move {
                let holder = format!("{:p}", Arc::as_ptr(&engine));
                for _ in 0..3 {
                    engine.fire_due_triggers(&holder).await.unwrap();
                }
            })
        });
        for look in looks {
            look.await.unwrap();
        }
    }
    b.wait(6);
    // The one that leads catches up with what both left to each other.
    for engine in &engines {
        engine.fire_due_triggers("last").await.unwrap();
    }
    // The furthest the clock has been: minutes that began up to then.
    let (mut at, mut furthest) = (began, began);
    for jump in jumps.into_iter().chain([6]) {
        at = at.plus_secs(jump);
        furthest = furthest.max(at);
    }
    let minutes = furthest.secs().div_euclid(60) - began.secs().div_euclid(60);
    for id in ids {
        let firings = b.store.firings(&b.ann(), id, 1_000).await.unwrap();
        let times: HashSet<_> = firings.iter().map(|firing| firing.due_at).collect();
        assert!(firings.iter().all(|firing| firing.outcome == FiringOutcome::Enqueued));
        assert_eq!((firings.len(), times.len()), (minutes as usize, minutes as usize));
    }
    assert_eq!(b.all_jobs().await, 10 * minutes);
}
