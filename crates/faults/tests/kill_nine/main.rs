//! Kills claimers, finishers and enqueuers with -9 (and Postgres with `-m immediate`) under load, then holds the
//! database to what the clients were told.

mod fleet;
mod follower;
mod verdict;

use fleet::Fleet;
use follower::Follower;
use leasehold_faults::open;
use leasehold_queue::{Scope, params::NewTenant};
use scratch_postgres::{ScratchPostgres, StartOptions};
use std::time::{Duration, Instant};

const KILLS: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_done_twice_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("faults.db").display());
    ordeal(&url, folder.path(), None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_done_twice_on_postgres() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = ScratchPostgres::start(StartOptions { fsync: true }).unwrap();
    let url = server.url();
    ordeal(&url, folder.path(), Some(&mut server)).await;
}

async fn ordeal(url: &str, folder: &std::path::Path, mut server: Option<&mut ScratchPostgres>) {
    let store = open(url).await.unwrap();
    store.migrate().await.unwrap();
    let tenant = NewTenant { slug: "faults".into(), name: "Faults".into(), timezone: "UTC".into() };
    let tenant = store.create_tenant(&Scope::system("faults"), tenant).await.unwrap().id;
    let follower = Follower::start(store.clone());
    let mut fleet = Fleet::launch(url, folder, tenant);
    for kill in 1..=KILLS {
        tokio::time::sleep(Duration::from_millis(90)).await;
        fleet.kill_one_and_replace();
        if kill % 10 == 0 {
            fleet.freeze_one_beyond_its_lease();
        }
        if let Some(server) = server.as_deref_mut().filter(|_| kill % 25 == 0) {
            server.restart_immediate().unwrap();
        }
    }
    fleet.stop_enqueueing();
    verdict::until_drained(store.as_ref(), tenant, Instant::now() + Duration::from_secs(60)).await;
    fleet.stop();
    verdict::holds(store.as_ref(), folder, tenant, follower).await;
}
