//! The requests, one function each. Whether to ask again is decided by who asks.

use crate::{Attachment, ClaimedJob, Error, JobError, WorkerConfig};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Beside what the server was asked to wait.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);
const FILE_TIMEOUT: Duration = Duration::from_secs(120);

pub struct Client {
    http: reqwest::Client,
    server: String,
    base: String,
    key: String,
}

/// What every request after the claim shows.
#[derive(Clone, Debug, Serialize)]
pub struct Lease {
    pub worker_id: String,
    pub lease_id: String,
}

#[derive(Deserialize)]
pub struct Claimed {
    pub jobs: Vec<ClaimedJob>,
}

#[derive(Deserialize)]
pub struct StillHeld {
    pub cancel_requested: bool,
}

#[derive(Deserialize)]
struct Refusal {
    code: String,
    detail: String,
}

impl Client {
    pub fn new(config: &WorkerConfig) -> Result<Self, Error> {
        // Another part of the process may have chosen a provider already; any will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| Error::Config(error.to_string()))?;
        let server = config.base_url.trim_end_matches('/').to_owned();
        let base = format!("{server}/api/v1/worker/jobs");
        Ok(Self { http, server, base, key: config.api_key.clone() })
    }

    pub async fn claim(&self, worker: &str, config: &WorkerConfig, limit: usize) -> Result<Claimed, Error> {
        let body = json!({
            "worker_id": worker,
            "kinds": config.kinds(),
            "queues": config.queues(),
            "limit": limit,
            "lease_seconds": config.lease_seconds,
            "wait_seconds": config.wait_seconds,
        });
        let patience = ANSWER_TIMEOUT + Duration::from_secs(u64::from(config.wait_seconds));
        self.post(&format!("{}/claim", self.base), &body, patience).await
    }

    pub async fn heartbeat(&self, job: i64, lease: &Lease, seconds: u64) -> Result<StillHeld, Error> {
        self.tell(job, "heartbeat", lease, json!({"lease_seconds": seconds})).await
    }

    pub async fn progress(&self, job: i64, lease: &Lease, report: Value) -> Result<StillHeld, Error> {
        self.tell(job, "progress", lease, report).await
    }

    pub async fn logs(&self, job: i64, lease: &Lease, lines: &[(i64, String)]) -> Result<Value, Error> {
        let lines: Vec<_> = lines.iter().map(|(seq, text)| json!({"seq": seq, "text": text})).collect();
        self.tell(job, "logs", lease, json!({ "lines": lines })).await
    }

    pub async fn complete(&self, job: i64, lease: &Lease, result: &Value) -> Result<Value, Error> {
        let body = json!({"result": result, "completion_token": lease.lease_id});
        self.tell(job, "complete", lease, body).await
    }

    pub async fn fail(&self, job: i64, lease: &Lease, error: &JobError) -> Result<Value, Error> {
        let body = json!({
            "error_code": error.code,
            "error_class": error.class,
            "message": error.message,
            "stack": error.stack,
            "retryable": error.retryable,
            "retry_after": error.retry_after.map(|wait| wait.as_secs_f64()),
            "completion_token": lease.lease_id,
        });
        self.tell(job, "fail", lease, body).await
    }

    /// It was asked to stop, and did.
    pub async fn cancelled(&self, job: i64, lease: &Lease) -> Result<Value, Error> {
        self.tell(job, "cancelled", lease, json!({"completion_token": lease.lease_id})).await
    }

    pub async fn checkpoint(&self, job: i64, lease: &Lease, checkpoint: Value) -> Result<StillHeld, Error> {
        self.tell(job, "checkpoint", lease, json!({ "checkpoint": checkpoint })).await
    }

    pub async fn attach(
        &self,
        job: i64,
        lease: &Lease,
        name: &str,
        content_type: &str,
        bytes: &[u8],
    ) -> Result<Attachment, Error> {
        let encoded = BASE64_STANDARD.encode(bytes);
        let body = json!({"name": name, "content_type": content_type, "base64": encoded});
        self.tell(job, "attachments", lease, body).await
    }

    pub async fn attachments(&self, job: i64, lease: &Lease) -> Result<Vec<Attachment>, Error> {
        #[derive(Deserialize)]
        struct Listed {
            attachments: Vec<Attachment>,
        }
        let shown = [("worker_id", &lease.worker_id), ("lease_id", &lease.lease_id)];
        let url = reqwest::Url::parse_with_params(&format!("{}/{job}/attachments", self.base), shown)
            .map_err(|error| Error::Config(error.to_string()))?;
        let listed: Listed = self.send(self.http.get(url), ANSWER_TIMEOUT).await?;
        Ok(listed.attachments)
    }

    /// The bytes of a file; its address needs no key.
    pub async fn fetch(&self, file: &Attachment) -> Result<Vec<u8>, Error> {
        let request = self.http.get(format!("{}{}", self.server, file.url)).timeout(FILE_TIMEOUT);
        let answer = request.send().await.map_err(unreachable)?;
        let status = answer.status();
        let bytes = answer.bytes().await.map_err(unreachable)?;
        if status.is_success() { Ok(bytes.to_vec()) } else { Err(refusal(status.as_u16(), &bytes)) }
    }

    pub async fn release(&self, job: i64, lease: &Lease) -> Result<Value, Error> {
        self.tell(job, "release", lease, json!({})).await
    }

    async fn tell<T: DeserializeOwned>(
        &self,
        job: i64,
        what: &str,
        lease: &Lease,
        mut body: Value,
    ) -> Result<T, Error> {
        body["worker_id"] = json!(lease.worker_id);
        body["lease_id"] = json!(lease.lease_id);
        self.post(&format!("{}/{job}/{what}", self.base), &body, ANSWER_TIMEOUT).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        url: &str,
        body: &Value,
        patience: Duration,
    ) -> Result<T, Error> {
        self.send(self.http.post(url).json(body), patience).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        request: reqwest::RequestBuilder,
        patience: Duration,
    ) -> Result<T, Error> {
        let request = request.header("x-api-key", &self.key).timeout(patience);
        let answer = request.send().await.map_err(unreachable)?;
        let status = answer.status();
        let text = answer.bytes().await.map_err(unreachable)?;
        if status.is_success() {
            return serde_json::from_slice(&text)
                .map_err(|error| Error::Unreachable(format!("its answer cannot be read: {error}")));
        }
        Err(refusal(status.as_u16(), &text))
    }
}

fn unreachable(error: reqwest::Error) -> Error {
    Error::Unreachable(error.without_url().to_string())
}

fn refusal(status: u16, body: &[u8]) -> Error {
    let said = serde_json::from_slice::<Refusal>(body)
        .unwrap_or_else(|_| Refusal { code: "UNKNOWN".into(), detail: "It did not say why.".into() });
    Error::Refused { status, code: said.code, detail: said.detail }
}
