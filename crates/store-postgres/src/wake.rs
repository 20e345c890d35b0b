//! Wake-ups between processes: LISTEN and NOTIFY on one channel.
//!
//! Receivers in this process hear at once. Other processes hear through NOTIFY, sent by a task of its own after
//! the commit (a notifying commit takes a global lock, so it must not be the commit of the work) and at most
//! once per [`PAUSE`]: the first change goes out immediately, those that come during the pause follow as one.
//! A wake-up may be lost with a connection; whoever waits polls as well.

use leasehold_queue::params::Wake;
use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{Notify, broadcast},
    task::JoinHandle,
};
use uuid::Uuid;

const CHANNEL: &str = "leasehold";
const PAUSE: Duration = Duration::from_millis(20);
const RECONNECT: Duration = Duration::from_millis(500);
const BUFFERED: usize = 256;
const KINDS: [(Wake, char, u8); 3] = [(Wake::Jobs, 'j', 1), (Wake::Events, 'e', 2), (Wake::Cancel, 'c', 4)];

/// What has not been told to other processes yet.
#[derive(Default)]
struct Untold {
    kinds: AtomicU8,
    some: Notify,
}

pub struct Wakes {
    here: broadcast::Sender<Wake>,
    untold: Arc<Untold>,
    tasks: [JoinHandle<()>; 2],
}

impl Wakes {
    pub fn start(target: PgConnectOptions, url: String) -> Self {
        // A connection of its own, whose commits wait for no disk: a wake-up need not survive anything.
        let target = target.options([("synchronous_commit", "off")]);
        let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(target);
        let (here, _) = broadcast::channel(BUFFERED);
        let untold = Arc::new(Untold::default());
        let origin = Uuid::new_v4().simple().to_string();
        let tasks = [
            tokio::spawn(tell_others(pool, untold.clone(), origin.clone())),
            tokio::spawn(hear_others(url, here.clone(), origin)),
        ];
        Self { here, untold, tasks }
    }

    pub fn subscribe(&self) -> broadcast::Receiver<Wake> {
        self.here.subscribe()
    }

    /// Call after the commit.
    pub fn tell(&self, kinds: &[Wake]) {
        for (kind, _, bit) in KINDS.iter().filter(|(kind, ..)| kinds.contains(kind)) {
            // Nobody listening is fine.
            let _ = self.here.send(*kind);
            self.untold.kinds.fetch_or(*bit, Ordering::AcqRel);
        }
        self.untold.some.notify_one();
    }
}

impl Drop for Wakes {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn tell_others(pool: PgPool, untold: Arc<Untold>, origin: String) {
    loop {
        untold.some.notified().await;
        let bits = untold.kinds.swap(0, Ordering::AcqRel);
        if bits == 0 {
            continue;
        }
        let letters: String = KINDS.iter().filter(|k| bits & k.2 != 0).map(|k| k.1).collect();
        let told = sqlx::query!("SELECT pg_notify($1, $2)", CHANNEL, format!("{letters} {origin}"));
        if let Err(error) = told.execute(&pool).await {
            tracing::debug!(%error, "other processes were not woken; they will find out by polling");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn hear_others(url: String, here: broadcast::Sender<Wake>, origin: String) {
    loop {
        if let Err(error) = listen(&url, &here, &origin).await {
            tracing::debug!(%error, "not listening for wake-ups; polling goes on");
        }
        tokio::time::sleep(RECONNECT).await;
    }
}

async fn listen(url: &str, here: &broadcast::Sender<Wake>, origin: &str) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect(url).await?;
    listener.listen(CHANNEL).await?;
    loop {
        // None: the connection was lost and may have taken wake-ups with it, so everybody looks again.
        let heard = listener.try_recv().await?;
        let payload = heard.as_ref().map_or("jec ", |n| n.payload());
        let (letters, from) = payload.split_once(' ').unwrap_or((payload, ""));
        if from == origin {
            continue;
        }
        for (kind, ..) in KINDS.iter().filter(|(_, letter, _)| letters.contains(*letter)) {
            let _ = here.send(*kind);
        }
    }
}
