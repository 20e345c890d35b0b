//! One request to the API, and who sends it.

use super::Target;
use leasehold_types::{Problem, ProblemCode};
use serde_json::Value;
use std::time::Duration;

pub const KEY: &str = "LEASEHOLD_API_KEY";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Sweeps take their time.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

#[derive(Clone, Debug)]
pub struct Call {
    pub method: &'static str,
    /// Below `/api/v1`.
    pub path: String,
    pub query: Vec<(&'static str, String)>,
    pub body: Option<Value>,
    pub confirmed: bool,
}

impl Call {
    pub fn get(path: impl Into<String>) -> Self {
        Self { method: "GET", path: path.into(), query: Vec::new(), body: None, confirmed: false }
    }

    pub fn post(path: impl Into<String>, body: Value) -> Self {
        Self { method: "POST", body: Some(body), ..Self::get(path) }
    }

    #[must_use]
    pub fn with(mut self, name: &'static str, value: Option<impl ToString>) -> Self {
        self.query.extend(value.map(|value| (name, value.to_string())));
        self
    }

    #[must_use]
    pub fn confirmed(self, confirmed: bool) -> Self {
        Self { confirmed, ..self }
    }

    pub fn url(&self, base: &str) -> String {
        let pairs: Vec<_> =
            self.query.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let query = if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) };
        format!("{}/api/v1{}{query}", base.trim_end_matches('/'), self.path)
    }
}

/// A part of a path or a query, with everything escaped that could end it.
pub fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
            _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

pub struct Server {
    http: reqwest::Client,
    target: Target,
    key: String,
}

impl Server {
    pub fn new(target: &Target) -> Result<Self, Problem> {
        let key = std::env::var(KEY).ok().filter(|key| !key.trim().is_empty()).ok_or_else(|| {
            Problem::invalid(KEY, format!("Please put an API key into {KEY}; `leasehold key add` makes one."))
        })?;
        // Another part of the process may have chosen a provider already; any will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| super::failed("speak HTTP", error))?;
        Ok(Self { http, target: target.clone(), key: key.trim().to_owned() })
    }

    /// The answer, or the problem the server named.
    pub async fn send(&self, call: &Call) -> Result<Value, Problem> {
        let answer = self.open(call, &[], Some(ANSWER_TIMEOUT)).await?;
        let text = answer.bytes().await.map_err(|error| self.unreachable(error))?;
        serde_json::from_slice(&text).map_err(|_| strange("Its answer is not JSON."))
    }

    /// An answer that has begun, whose body can be read as it comes.
    pub async fn open(
        &self,
        call: &Call,
        headers: &[(&'static str, String)],
        patience: Option<Duration>,
    ) -> Result<reqwest::Response, Problem> {
        let url = call.url(&self.target.url);
        let mut request = match call.method {
            "GET" => self.http.get(url),
            _ => self.http.post(url),
        };
        request = request.header("x-api-key", &self.key);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        if let Some(tenant) = &self.target.tenant {
            request = request.header("x-tenant", tenant);
        }
        if call.confirmed {
            request = request.header("x-confirm", "true");
        }
        if let Some(body) = &call.body {
            request = request.json(body);
        }
        if let Some(patience) = patience {
            request = request.timeout(patience);
        }
        let answer = request.send().await.map_err(|error| self.unreachable(error))?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status();
        let text = answer.bytes().await.map_err(|error| self.unreachable(error))?;
        Err(serde_json::from_slice(&text)
            .unwrap_or_else(|_| strange(&format!("It answered {status} without saying why."))))
    }

    fn unreachable(&self, error: reqwest::Error) -> Problem {
        let mut why = error.without_url().to_string();
        why.truncate(300);
        let detail = format!("{} cannot be reached: {why}. Is the server running there?", self.target.url);
        Problem::new(ProblemCode::Unavailable, detail)
    }
}

fn strange(what: &str) -> Problem {
    let detail = format!("This does not seem to be a Leasehold server. {what}");
    Problem::new(ProblemCode::Unavailable, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_escaped() {
        let call = Call::get("/jobs/list").with("q", Some("a&b=c d/ü")).with("queue", None::<String>);
        assert_eq!(call.url("http://h/"), "http://h/api/v1/jobs/list?q=a%26b%3Dc%20d%2F%C3%BC");
    }
}
