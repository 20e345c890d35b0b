//! A chat over HTTP, in the form that OpenAI's API made common: any service or local server that speaks it will do.
//!
//! The answer is streamed, so that a job can say how far it is. The key comes from the environment at the moment of the
//! call, goes into one header, and is taken out of whatever the other side says.

use super::{
    Heard, Provider, http,
    sse::{Answer, LONGEST_ANSWER},
};
use async_trait::async_trait;
use leasehold_queue::units::{UnitError, UnitOutcome};
use leasehold_types::ErrorClass;
use reqwest::{Client, Response, header, redirect};
use serde_json::{Map, Value, json};
use std::{
    sync::Once,
    time::{Duration, Instant},
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// What a request may say beside its messages.
const PASSED_ON: [&str; 3] = ["max_tokens", "temperature", "stop"];

pub struct OpenAi {
    client: Client,
    url: String,
    model: String,
    key_variable: Option<String>,
}

impl OpenAi {
    pub fn new(
        base_url: &str,
        model: String,
        key_variable: Option<String>,
        timeout: Duration,
    ) -> Result<Self, String> {
        choose_cryptography();
        let client = Client::builder()
            .timeout(timeout)
            .connect_timeout(CONNECT_TIMEOUT)
            // A redirect would carry the key somewhere else.
            .redirect(redirect::Policy::none())
            .user_agent(concat!("leasehold/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| error.to_string())?;
        let url = format!("{}/chat/completions", base_url.trim_end_matches('/'));
        Ok(Self { client, url, model, key_variable })
    }

    /// None when none is needed.
    fn key(&self) -> Result<Option<String>, UnitError> {
        let Some(variable) = &self.key_variable else { return Ok(None) };
        let key = std::env::var(variable).ok().filter(|key| !key.is_empty());
        key.map(Some).ok_or_else(|| {
            let message = format!("The worker's environment has no {variable}, where its key should be.");
            UnitError::permanent("provider_key_missing", ErrorClass::DependencyUnavailable, message)
        })
    }

    fn body(&self, request: &Value) -> Value {
        let mut body = Map::new();
        body.insert("model".into(), json!(self.model));
        body.insert("messages".into(), request.get("messages").cloned().unwrap_or_default());
        body.insert("stream".into(), json!(true));
        // Without being asked for, a streamed answer does not say what it used.
        body.insert("stream_options".into(), json!({"include_usage": true}));
        for name in PASSED_ON {
            if let Some(value) = request.get(name) {
                body.insert(name.into(), value.clone());
            }
        }
        Value::Object(body)
    }
}

#[async_trait]
impl Provider for OpenAi {
    async fn call(&self, request: &Value, heard: &Heard) -> UnitOutcome {
        let key = self.key()?;
        let mut call = self.client.post(&self.url).header(header::CONTENT_TYPE, "application/json");
        if let Some(key) = &key {
            call = call.bearer_auth(key);
        }
        let asked = Instant::now();
        let response = call.body(self.body(request).to_string()).send().await;
        let response = response.map_err(|error| http::unreachable(&error))?;
        if !response.status().is_success() {
            return Err(refusal(response, key.as_deref()).await);
        }
        let streamed = response
            .headers()
            .get(header::CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .is_some_and(|kind| kind.starts_with("text/event-stream"));
        if streamed { in_pieces(response, heard, asked).await } else { whole(response, heard).await }
    }
}

/// rustls wants to be told once; another part of the process may have done so.
fn choose_cryptography() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

async fn refusal(response: Response, key: Option<&str>) -> UnitError {
    let status = response.status().as_u16();
    let wish = response.headers().get(header::RETRY_AFTER).and_then(|v| v.to_str().ok()).map(str::to_owned);
    let said = response.text().await.unwrap_or_default();
    let said = serde_json::from_str::<Value>(&said)
        .ok()
        .and_then(|body| body["error"]["message"].as_str().map(str::to_owned))
        .unwrap_or(said);
    let said = key.map_or(said.clone(), |key| said.replace(key, "***"));
    http::refused(status, wish.as_deref(), &said)
}

async fn in_pieces(mut response: Response, heard: &Heard, asked: Instant) -> UnitOutcome {
    let mut answer = Answer::default();
    let mut first_token = None;
    while let Some(piece) = response.chunk().await.map_err(|error| http::unreachable(&error))? {
        if !answer.push(&piece) {
            return Err(too_long());
        }
        if answer.characters > 0 {
            first_token.get_or_insert_with(|| asked.elapsed());
        }
        heard(answer.characters);
    }
    if let Some(said) = answer.error {
        let message = format!("The provider broke off: {said}");
        return Err(UnitError::passing("model_overloaded", ErrorClass::ModelOverloaded, message));
    }
    if !answer.complete {
        let message = "The provider's answer broke off before its end.";
        return Err(UnitError::passing("provider_unreachable", ErrorClass::NetworkTimeout, message));
    }
    let first_token_ms = first_token.map(|wait| wait.as_millis() as u64);
    Ok(json!({
        "text": answer.text, "model": answer.model, "usage": answer.usage, "first_token_ms": first_token_ms,
    }))
}

/// Some servers do not stream, whatever they are asked.
async fn whole(mut response: Response, heard: &Heard) -> UnitOutcome {
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| http::unreachable(&error))? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > LONGEST_ANSWER {
            return Err(too_long());
        }
    }
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let Some(text) = body["choices"][0]["message"]["content"].as_str() else {
        let message = "The provider's answer is not a chat completion.";
        return Err(UnitError::permanent("provider_gibberish", ErrorClass::DependencyUnavailable, message));
    };
    heard(text.chars().count());
    Ok(json!({"text": text, "model": body["model"], "usage": body["usage"]}))
}

fn too_long() -> UnitError {
    let message = format!("The provider's answer is longer than {LONGEST_ANSWER} bytes.");
    UnitError::permanent("answer_too_long", ErrorClass::ResourceExhausted, message)
}
