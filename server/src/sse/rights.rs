//! One watch over the rights of all open streams of this process: every two seconds, two queries however many there are.
//! A stream whose right is no longer what it was when it began ends, and its reader comes back through the door.

use super::Who;
use leasehold_queue::{Actor, Engine, StoreResult, rights::SessionRight};
use leasehold_types::{KeyId, Role, TenantId};
use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// The promise is five seconds; the rest is for a database that is busy.
const EVERY: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(10);
/// Streams asked about by one query.
const CHUNK: usize = 1_000;

#[derive(Default)]
pub struct RightsWatch {
    next: AtomicU64,
    open: Mutex<HashMap<u64, Watched>>,
}

#[derive(Clone)]
struct Watched {
    right: Right,
    over: CancellationToken,
}

/// What a stream was let in with.
#[derive(Clone, PartialEq, Debug)]
enum Right {
    Session {
        session: String,
        tenant: TenantId,
        right: SessionRight,
    },
    Key(KeyId),
    /// Neither a session nor a key: it may not read at all.
    None,
}

impl Right {
    fn of(who: &Who) -> Self {
        match who {
            Who::Session { visit, session } => {
                let super_admin = visit.user.super_admin;
                let role = if visit.may_operate() { Role::Admin } else { Role::Viewer };
                let role = Some(role).filter(|_| !super_admin);
                let right = SessionRight { user_id: visit.user.id, super_admin, role };
                Self::Session { session: session.clone(), tenant: visit.tenant.id, right }
            }
            Who::Key { scope } => match &scope.actor {
                Actor::Key { id, .. } => Self::Key(*id),
                _ => Self::None,
            },
        }
    }
}

/// The same person with the same rights. A super-admin's membership does not matter.
fn still_holds(then: &SessionRight, now: Option<&SessionRight>) -> bool {
    now.is_some_and(|now| {
        then.user_id == now.user_id
            && then.super_admin == now.super_admin
            && (now.super_admin || then.role == now.role)
    })
}

impl RightsWatch {
    /// Watches over one stream until the answer is dropped.
    pub fn begin(self: &Arc<Self>, who: &Who) -> Watch {
        let (id, over) = (self.next.fetch_add(1, Ordering::Relaxed), CancellationToken::new());
        self.open().insert(id, Watched { right: Right::of(who), over: over.clone() });
        Watch { id, over, watch: self.clone() }
    }

    /// Until the process ends.
    pub async fn run(self: Arc<Self>, engine: Arc<Engine>, ending: CancellationToken) {
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = ending.cancelled() => return,
                _ = ticks.tick() => {}
            }
            let streams: Vec<Watched> = self.open().values().cloned().collect();
            for chunk in streams.chunks(CHUNK) {
                match tokio::time::timeout(PATIENCE, look_at(&engine, chunk)).await {
                    Ok(Ok(())) => {}
                    // No reason to end streams: nothing new comes out of such a database anyway.
                    Ok(Err(error)) => tracing::debug!(%error, "live streams could not be checked"),
                    Err(_) => tracing::debug!("live streams could not be checked in time"),
                }
            }
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Watched>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn look_at(engine: &Engine, streams: &[Watched]) -> StoreResult<()> {
    let (mut asked, mut keys) = (Vec::new(), HashSet::new());
    for stream in streams {
        match &stream.right {
            Right::Session { session, tenant, .. } => asked.push((session.clone(), *tenant)),
            Right::Key(id) => drop(keys.insert(*id)),
            Right::None => {}
        }
    }
    let rights = if asked.is_empty() { Vec::new() } else { engine.store().session_rights(&asked).await? };
    let keys: Vec<KeyId> = keys.into_iter().collect();
    let live: HashSet<KeyId> = if keys.is_empty() {
        HashSet::new()
    } else {
        engine.store().live_keys(&keys).await?.into_iter().collect()
    };
    let mut rights = rights.iter();
    for stream in streams {
        let holds = match &stream.right {
            Right::Session { right, .. } => still_holds(right, rights.next().and_then(Option::as_ref)),
            Right::Key(id) => live.contains(id),
            Right::None => false,
        };
        if !holds {
            stream.over.cancel();
        }
    }
    Ok(())
}

/// One stream under watch.
pub struct Watch {
    id: u64,
    over: CancellationToken,
    watch: Arc<RightsWatch>,
}

impl Watch {
    /// Returns when the right to read has ended.
    pub async fn refused(&self) {
        self.over.cancelled().await;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.watch.open().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_types::UserId;
    use uuid::Uuid;

    #[test]
    fn a_right_ends_with_any_change_of_role_or_person() {
        let user = |n| UserId(Uuid::from_u128(n));
        let right = |n, super_admin, role| SessionRight { user_id: user(n), super_admin, role };
        let admin = right(1, false, Some(Role::Admin));
        assert!(still_holds(&admin, Some(&admin)));
        for now in [
            None,
            Some(right(1, false, Some(Role::Viewer))),
            Some(right(1, false, None)),
            Some(right(2, false, Some(Role::Admin))),
            Some(right(1, true, Some(Role::Admin))),
        ] {
            assert!(!still_holds(&admin, now.as_ref()), "{now:?}");
        }
        assert!(still_holds(&right(1, true, None), Some(&right(1, true, Some(Role::Viewer)))));
        assert!(!still_holds(&right(1, true, None), Some(&right(1, false, None))));
    }
}
