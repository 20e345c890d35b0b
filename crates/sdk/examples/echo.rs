//! A worker that answers with what it was given. Set `LEASEHOLD_URL` and `LEASEHOLD_API_KEY`, then
//! `cargo run -p leasehold-sdk --example echo`.

use leasehold_sdk::{Error, Worker, WorkerConfig};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let worker = Worker::new(WorkerConfig::from_env()?)?;
    let stop = worker.stop_token();
    tokio::spawn(async move {
        let _ = tokio::signal::ctrl_c().await;
        stop.cancel();
    });
    worker
        .run(|job| async move {
            job.log(format!("attempt {} of job #{}", job.claimed().attempt, job.claimed().number));
            job.progress(None, Some(50.0), Some("half way")).await?;
            Ok(json!({ "echo": job.payload() }))
        })
        .await
}
