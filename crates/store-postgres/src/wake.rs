//! Wake-ups between processes: LISTEN and NOTIFY on one channel.
//!
//! Receivers in this process hear at once. Other processes hear through NOTIFY, sent by a task of its own after
//! the commit (a notifying commit takes a global lock, so it must not be the commit of the work) and at most
//! once per [`PAUSE`]: the first change goes out immediately, those that come during the pause follow as one.
//! A wake-up may be lost with a connection; whoever waits polls as well.

use leasehold_queue::params::{LaneName, MOST_LANES, Wake};
use serde::{Deserialize, Serialize};
use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};
use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
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
/// Postgres takes no payload of 8000 bytes.
const LONGEST_PAYLOAD: usize = 7_500;

/// What other processes are told, in JSON.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct News {
    from: String,
    /// Jobs may be ready anywhere.
    jobs: bool,
    /// Jobs may be ready here.
    lanes: Vec<LaneName>,
    events: bool,
    cancel: bool,
}

impl News {
    /// For whoever may have missed some.
    fn of_everything() -> Self {
        Self { jobs: true, events: true, cancel: true, ..Self::default() }
    }

    fn is_empty(&self) -> bool {
        !self.jobs && self.lanes.is_empty() && !self.events && !self.cancel
    }

    fn add(&mut self, wake: &Wake) {
        match wake {
            Wake::Jobs => self.jobs = true,
            Wake::JobsIn(lanes) => {
                for lane in lanes.iter().filter(|lane| !self.lanes.contains(lane)).collect::<Vec<_>>() {
                    self.lanes.push(lane.clone());
                }
            }
            Wake::Events => self.events = true,
            Wake::Cancel => self.cancel = true,
        }
        if self.jobs || self.lanes.len() > MOST_LANES {
            self.jobs = true;
            self.lanes.clear();
        }
    }

    fn wakes(self) -> impl Iterator<Item = Wake> {
        let lanes = (!self.lanes.is_empty()).then(|| Wake::JobsIn(self.lanes.into()));
        let jobs = if self.jobs { Some(Wake::Jobs) } else { lanes };
        jobs.into_iter().chain(self.events.then_some(Wake::Events)).chain(self.cancel.then_some(Wake::Cancel))
    }

    fn payload(self) -> Result<String, serde_json::Error> {
        let text = serde_json::to_string(&self)?;
        if text.len() <= LONGEST_PAYLOAD {
            return Ok(text);
        }
        serde_json::to_string(&Self { jobs: true, lanes: Vec::new(), ..self })
    }
}

/// What has not been told to other processes yet.
#[derive(Default)]
struct Untold {
    news: Mutex<News>,
    some: Notify,
}

impl Untold {
    fn add(&self, wakes: &[Wake]) {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        wakes.iter().for_each(|wake| news.add(wake));
        drop(news);
        self.some.notify_one();
    }

    fn take(&self) -> News {
        mem::take(&mut *self.news.lock().unwrap_or_else(PoisonError::into_inner))
    }
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
    pub fn tell(&self, wakes: &[Wake]) {
        for wake in wakes {
            // Nobody listening is fine.
            let _ = self.here.send(wake.clone());
        }
        self.untold.add(wakes);
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
        let news = untold.take();
        if news.is_empty() {
            continue;
        }
        if let Err(error) = tell(&pool, News { from: origin.clone(), ..news }).await {
            tracing::debug!(%error, "other processes were not woken; they will find out by polling");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn tell(pool: &PgPool, news: News) -> Result<(), sqlx::Error> {
    let payload = news.payload().map_err(|error| sqlx::Error::Encode(error.into()))?;
    sqlx::query!("SELECT pg_notify($1, $2)", CHANNEL, payload).execute(pool).await?;
    Ok(())
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
        // None: the connection was lost and may have taken wake-ups with it, so everybody looks again. So they do
        // after words of another version.
        let heard = listener.try_recv().await?;
        let news: Option<News> = heard.and_then(|n| serde_json::from_str(n.payload()).ok());
        let news = news.unwrap_or_else(News::of_everything);
        if news.from == origin {
            continue;
        }
        for wake in news.wakes() {
            let _ = here.send(wake);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_types::TenantId;
    use uuid::Uuid;

    fn lane(job_type: String) -> Wake {
        let tenant = TenantId(Uuid::nil());
        Wake::JobsIn([LaneName { tenant, domain: "d".into(), queue: "q".into(), job_type }].into())
    }

    #[test]
    fn lanes_are_gathered_until_they_are_too_many() {
        let mut news = News::default();
        assert!(news.is_empty());
        for n in 0..MOST_LANES {
            news.add(&lane(n.to_string()));
            news.add(&lane("0".into()));
        }
        let told: News = serde_json::from_str(&news.clone().payload().unwrap()).unwrap();
        assert_eq!((told.lanes.len(), told.jobs), (MOST_LANES, false));
        news.add(&lane("one more".into()));
        assert_eq!(news.wakes().collect::<Vec<_>>(), [Wake::Jobs]);
    }

    #[test]
    fn a_payload_stays_below_what_postgres_takes() {
        let mut news = News::default();
        news.add(&lane("x".repeat(8_000)));
        news.add(&Wake::Events);
        let told: News = serde_json::from_str(&news.payload().unwrap()).unwrap();
        assert_eq!(told.wakes().collect::<Vec<_>>(), [Wake::Jobs, Wake::Events]);
    }
}
