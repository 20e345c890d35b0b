//! Whole workers with real commands, killed with -9 or frozen in the middle of their work.

mod crew;
mod frozen;
mod killed;
mod operations;

use leasehold_faults::open;
use leasehold_queue::{Scope, Store, params::NewTenant};
use leasehold_types::TenantId;
use scratch_postgres::{ScratchPostgres, StartOptions};
use std::{path::PathBuf, sync::Arc};

/// A database with one tenant, and a folder for the ledger.
pub struct Ground {
    pub url: String,
    pub store: Arc<dyn Store>,
    pub tenant: TenantId,
    pub folder: tempfile::TempDir,
    _server: Option<ScratchPostgres>,
}

impl Ground {
    async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("faults.db").display());
        Self::on(url, folder, None).await
    }

    async fn postgres() -> Self {
        let server = ScratchPostgres::start(StartOptions { fsync: false }).unwrap();
        Self::on(server.url(), tempfile::tempdir().unwrap(), Some(server)).await
    }

    async fn on(url: String, folder: tempfile::TempDir, server: Option<ScratchPostgres>) -> Self {
        let store = open(&url).await.unwrap();
        store.migrate().await.unwrap();
        let tenant = NewTenant { slug: "faults".into(), name: "Faults".into(), timezone: "UTC".into() };
        let tenant = store.create_tenant(&scope(), tenant).await.unwrap().id;
        Self { url, store, tenant, folder, _server: server }
    }

    pub fn ledger(&self) -> PathBuf {
        self.folder.path().join("ledger")
    }
}

pub fn scope() -> Scope {
    Scope::system("faults")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_workers_lose_nothing_on_sqlite() {
    killed::ordeal(Ground::sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_workers_lose_nothing_on_postgres() {
    killed::ordeal(Ground::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_worker_comes_back_too_late_on_sqlite() {
    frozen::ordeal(Ground::sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_worker_comes_back_too_late_on_postgres() {
    frozen::ordeal(Ground::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_bulk_operation_is_carried_on_on_sqlite() {
    operations::ordeal(Ground::sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_bulk_operation_is_carried_on_on_postgres() {
    operations::ordeal(Ground::postgres().await).await;
}
