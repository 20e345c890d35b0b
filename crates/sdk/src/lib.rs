//! A worker for Leasehold that reaches it over HTTP, with a worker key and nothing else.
//!
//! ```no_run
//! use leasehold_sdk::{JobError, Worker, WorkerConfig};
//! use serde_json::json;
//!
//! # async fn example() -> Result<(), leasehold_sdk::Error> {
//! let config = WorkerConfig::new("http://127.0.0.1:3000", "lh_…");
//! let worker = Worker::new(config)?;
//! let stop = worker.stop_token();
//! tokio::spawn(async move {
//!     let _ = tokio::signal::ctrl_c().await;
//!     stop.cancel();
//! });
//! worker
//!     .run(|job| async move {
//!         job.log("on it");
//!         let name = job.payload()["name"].as_str().ok_or_else(|| JobError::new("no_name", "Whom to greet?"))?;
//!         Ok(json!({ "greeting": format!("Hello, {name}!") }))
//!     })
//!     .await
//! # }
//! ```
//!
//! The lease is renewed in a task of its own, so a busy handler does not lose it. When it is lost all the same, the
//! handler is dropped where it stands and its result with it: another worker has the job by then. Results are sent
//! again, with the same token, until the server has answered.

mod attempt;
mod client;
mod config;
mod error;
mod job;
mod worker;

pub use config::WorkerConfig;
pub use error::{Error, JobError};
pub use job::{Attachment, ClaimedJob, Job};
pub use tokio_util::sync::CancellationToken;
pub use worker::Worker;
