//! One task per process looks for jobs on behalf of every claim that waits here. A wake-up, or a second gone by, costs
//! one claim per group that it concerns, however many callers wait in it; who waits longest is served first. The task
//! begins with the first claim and ends when nobody waits.

use super::{
    delivery::Delivery,
    presence::{BEAT, Presence},
    waiting::{Group, Reply, Seat, Waiter, WaitingClaims},
};
use crate::auth::api_key;
use leasehold_queue::{Actor, Engine, Scope, engine::RemoteClaim, params::Wake};
use leasehold_types::{KeyId, Problem, ProblemCode};
use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{
        Notify,
        broadcast::{self, error::RecvError},
        oneshot,
    },
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

pub struct Dispatcher {
    engine: Arc<Engine>,
    ending: CancellationToken,
    roll: Arc<Presence>,
    state: Mutex<State>,
    /// Somebody came.
    came: Notify,
}

#[derive(Default)]
struct State {
    room: WaitingClaims,
    running: bool,
}

/// Leaves the room when the caller is gone.
struct Place<'a>(&'a Dispatcher, Seat);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.state().room.leave(&self.1);
    }
}

impl Dispatcher {
    pub fn new(engine: Arc<Engine>, ending: CancellationToken, roll: Arc<Presence>) -> Self {
        Self { engine, ending, roll, state: Mutex::default(), came: Notify::new() }
    }

    /// Waits for jobs, at most as long as the caller has patience.
    pub async fn claim(self: &Arc<Self>, scope: &Scope, claim: RemoteClaim, patience: Duration) -> Reply {
        let (reply, answered) = oneshot::channel();
        let (group, now) = (Group::of(scope, &claim), Instant::now());
        let key = match &scope.actor {
            Actor::Key { id, .. } => Some(*id),
            Actor::User { .. } | Actor::Terminal(_) | Actor::System(_) => None,
        };
        let waiter = Waiter { scope: scope.clone(), claim, key, until: now + patience, reply };
        let seat = self.state().room.enter(group, waiter, &self.engine.config().remote, now)?;
        let _place = Place(self, seat);
        self.start();
        self.came.notify_one();
        answered.await.unwrap_or_else(|_| {
            Err(Problem::new(ProblemCode::Internal, "The claim broke off. The log has the details."))
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(self: &Arc<Self>) {
        let mut state = self.state();
        if state.running {
            return;
        }
        state.running = true;
        // Subscribe, then query, then wait: the other way round loses what happens in between.
        let wakes = self.engine.wakes();
        state.room.hear(&Wake::Jobs);
        let shift = Shift(self.clone());
        tokio::spawn(async move { shift.0.run(wakes).await });
    }

    async fn run(&self, mut wakes: broadcast::Receiver<Wake>) {
        let mut beaten = Instant::now();
        loop {
            self.round().await;
            if self.is_over() {
                return;
            }
            if beaten.elapsed() >= BEAT {
                beaten = Instant::now();
                self.roll.seen(&self.state().room.workers());
            }
            let next = self.state().room.next_moment(Instant::now()).min(beaten + BEAT);
            tokio::select! {
                wake = wakes.recv() => self.hear(wake, &mut wakes),
                () = self.came.notified() => {}
                () = sleep_until(next) => {}
                () = self.ending.cancelled() => answer(self.state().room.take(|_, _, _| true), || Ok(self.nothing())),
            }
        }
    }

    /// With whatever else has come meanwhile, so that a crowd of wake-ups costs one round.
    fn hear(&self, wake: Result<Wake, RecvError>, wakes: &mut broadcast::Receiver<Wake>) {
        let mut state = self.state();
        // Missed some: there may be jobs anywhere.
        state.room.hear(&wake.unwrap_or(Wake::Jobs));
        while let Ok(wake) = wakes.try_recv() {
            state.room.hear(&wake);
        }
    }

    /// Nobody waits any more; the next one starts a new task.
    fn is_over(&self) -> bool {
        let mut state = self.state();
        state.running = !state.room.is_empty();
        !state.running
    }

    async fn round(&self) {
        let (groups, keys) = self.state().room.begin_round(Instant::now());
        if let Err(problem) = self.dismiss_unknown(keys.into_iter().collect()).await {
            self.refuse(&groups, &problem);
        } else {
            // One claim for each in turn, so that a group with many jobs does not keep the others waiting.
            let mut groups = VecDeque::from(groups);
            while let Some(group) = groups.pop_front() {
                if self.serve_one(&group).await {
                    groups.push_back(group);
                }
            }
        }
        answer(self.state().room.take_impatient(Instant::now()), || Ok(self.nothing()));
    }

    /// A key may be revoked, or expire, while its workers wait: one question for all keys of a round.
    async fn dismiss_unknown(&self, keys: Vec<KeyId>) -> Result<(), Problem> {
        if keys.is_empty() {
            return Ok(());
        }
        let live: HashSet<_> = self.engine.store().live_keys(&keys).await?.into_iter().collect();
        let unknown: HashSet<_> = keys.into_iter().filter(|key| !live.contains(key)).collect();
        let gone = |_: &Group, waiter: &Waiter, _| waiter.key.is_some_and(|key| unknown.contains(&key));
        if !unknown.is_empty() {
            answer(self.state().room.take(gone), || Err(api_key::unknown()));
        }
        Ok(())
    }

    /// Takes jobs for the claim of the group that has waited longest; false when there is nothing for it.
    async fn serve_one(&self, group: &Group) -> bool {
        let Some((seat, scope, claim)) = self.state().room.oldest(group) else { return false };
        match self.engine.remote_claim(&scope, &claim).await {
            Ok(jobs) if jobs.is_empty() => false,
            Ok(jobs) => {
                let handed = Delivery::new(&self.engine, jobs);
                let waiter = self.state().room.leave(&seat);
                // Whoever has hung up meanwhile leaves them behind: what is dropped is handed back.
                if let Some(waiter) = waiter {
                    drop(waiter.reply.send(Ok(handed)));
                }
                true
            }
            Err(problem) => {
                self.refuse(std::slice::from_ref(group), &problem);
                false
            }
        }
    }

    fn refuse(&self, groups: &[Group], problem: &Problem) {
        let refused = self.state().room.take(|group, _, fresh| !fresh && groups.contains(group));
        answer(refused, || Err(problem.clone()));
    }

    fn nothing(&self) -> Delivery {
        Delivery::new(&self.engine, Vec::new())
    }
}

fn answer(waiters: Vec<Waiter>, reply: impl Fn() -> Reply) {
    for waiter in waiters {
        drop(waiter.reply.send(reply()));
    }
}

/// Should the task break off, nobody is left waiting for it.
struct Shift(Arc<Dispatcher>);

impl Drop for Shift {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut state = self.0.state();
            state.running = false;
            state.room.take(|_, _, _| true);
        }
    }
}
