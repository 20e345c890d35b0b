//! A program that uses the API, and its ear for server-sent events.

use super::{Answer, House, PASSWORD, Serving, remote::new_key};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read},
    net::TcpStream,
};

/// A house with two tenants, a kind of job that nobody runs, and a server.
pub struct Programs {
    pub house: House,
    pub server: Serving,
    /// Of tenant Acme, with the scope `write`.
    pub key: String,
}

impl Programs {
    pub fn new(house: House) -> Self {
        Self::with(house, &[])
    }

    /// With these settings.
    pub fn with(house: House, env: &[(&str, &str)]) -> Self {
        house.json(&["tenant", "add", "Acme"], "");
        house.json(&["tenant", "add", "Other"], "");
        house
            .json(&["user", "add", "ann@example.org", "--role", "super_admin", "--password-stdin"], PASSWORD);
        house.json(&["definition", "add", "steps", "--domain", "media", "--max-attempts", "5"], "");
        let key = new_key(&house, "acme", "write");
        let server = house.serve(env);
        Self { house, server, key }
    }

    pub fn get(&self, path: &str) -> (u16, Value) {
        self.get_as(&self.key, path)
    }

    pub fn get_as(&self, key: &str, path: &str) -> (u16, Value) {
        parsed(self.server.get(&format!("/api/v1{path}"), &[("x-api-key", key)]))
    }

    pub fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.post_as(&self.key, path, body)
    }

    pub fn post_as(&self, key: &str, path: &str, body: &Value) -> (u16, Value) {
        self.post_with(&[("x-api-key", key)], path, body)
    }

    pub fn post_with(&self, headers: &[(&str, &str)], path: &str, body: &Value) -> (u16, Value) {
        parsed(self.server.request("POST", &format!("/api/v1{path}"), headers, &body.to_string()))
    }

    /// The number of a new job of the kind nobody runs.
    pub fn enqueue(&self, payload: Value) -> i64 {
        let (status, made) = self.post("/jobs", &json!({"definition_key": "steps", "payload": payload}));
        assert_eq!(status, 201, "{made}");
        made["number"].as_i64().unwrap()
    }

    pub fn hear(&self, path: &str, more: &[(&str, &str)]) -> Ear {
        hear(&self.server, &self.key, path, more)
    }
}

fn parsed(answer: Answer) -> (u16, Value) {
    (answer.status, serde_json::from_str(&answer.body).unwrap_or_default())
}

/// One event, told completely.
#[derive(Debug)]
pub struct Told {
    pub event: String,
    pub id: Option<i64>,
    pub data: Value,
}

pub struct Ear {
    stream: BufReader<TcpStream>,
}

/// Opens a stream; the answer must be one.
pub fn hear(server: &Serving, key: &str, path: &str, more: &[(&str, &str)]) -> Ear {
    let own = [("x-api-key", key), ("accept", "text/event-stream")];
    let mut stream = server.stream(&format!("/api/v1{path}"), &[&own, more].concat());
    let mut status = String::new();
    stream.read_line(&mut status).unwrap();
    assert!(status.starts_with("HTTP/1.1 200"), "{status}");
    Ear { stream }
}

impl Ear {
    /// The next event; none when the stream has ended. What was cut off was never told.
    pub fn next(&mut self) -> Option<Told> {
        let (mut event, mut id, mut data) = (String::new(), None, None);
        loop {
            let mut line = String::new();
            // A server that was killed may leave an error instead of an end.
            if self.stream.read_line(&mut line).is_err() || !line.ends_with('\n') {
                return None;
            }
            if let Some(name) = line.strip_prefix("event: ") {
                event = name.trim().to_owned();
            } else if let Some(number) = line.strip_prefix("id: ") {
                id = number.trim().parse().ok();
            } else if let Some(json) = line.strip_prefix("data: ") {
                data = Some(serde_json::from_str(json).unwrap());
            } else if line == "\n"
                && let Some(data) = data.take()
            {
                return Some(Told { event, id, data });
            }
        }
    }

    /// The server ends the stream by itself, and before the first sign of life would be due.
    pub fn ends_soon(mut self) {
        let mut rest = String::new();
        self.stream.read_to_string(&mut rest).expect("the stream ends");
        assert!(!rest.lines().any(|line| line.starts_with(':')), "the stream went on: {rest}");
    }

    /// Everything to the end of the stream.
    pub fn rest(mut self) -> Vec<Told> {
        std::iter::from_fn(|| self.next()).collect()
    }
}
