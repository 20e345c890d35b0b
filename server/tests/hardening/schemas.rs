//! Schemas and payloads made to keep the validator busy: each is refused or answered within bounds of processor time,
//! memory and length of the answer.

use super::{peak_kib, processor_seconds, reset_peak};
use crate::common::{Answer, House, Serving};
use serde_json::{Value, json};

const MOST_SECONDS: f64 = 2.0;
const MOST_GROWN_KIB: u64 = 64 * 1_024;
const LONGEST_ANSWER: usize = 16 * 1_024;

struct Attacked {
    server: Serving,
    house: House,
    admin: String,
    writer: String,
}

fn attacked() -> Attacked {
    let house = House::new();
    house.json(&["tenant", "add", "acme"], "");
    let key =
        |args: &[&str]| house.json(&[&["key", "add"], args].concat(), "")["key"].as_str().unwrap().to_owned();
    let admin = key(&["--installation", "--scope", "admin", "--name", "chief"]);
    let writer = key(&["--tenant", "acme", "--scope", "write", "--name", "caller"]);
    let server = house.serve(&[]);
    Attacked { server, house, admin, writer }
}

impl Attacked {
    fn post(&self, key: &str, path: &str, body: &Value) -> Answer {
        let headers = [("x-api-key", key), ("content-type", "application/json")];
        self.server.request("POST", &format!("/api/v1{path}"), &headers, &body.to_string())
    }

    fn define(&self, key: &str, schema: &Value) -> Answer {
        let body = json!({"key": key, "domain": "attacks", "job_type": key, "executor": "remote", "arg_schema": schema});
        self.post(&self.admin, "/admin/jobs/definitions", &body)
    }

    fn enqueue(&self, key: &str, payload: &Value) -> Answer {
        self.post(&self.writer, "/jobs", &json!({"definition_key": key, "payload": payload}))
    }

    /// As an older version would have saved it.
    fn slip_in(&self, key: &str, schema: &Value) {
        assert_eq!(self.define(key, &json!({"type": "object"})).status, 201);
        self.house.sql(&format!("UPDATE job_definitions SET arg_schema = '{schema}' WHERE key = '{key}'"));
    }

    /// What this costs the server, held to the bounds.
    fn bounded(&self, what: &str, status: u16, act: impl Fn() -> Answer) -> Answer {
        let (before, began) = (reset_peak(&self.server), processor_seconds(&self.server));
        let answer = act();
        let seconds = processor_seconds(&self.server) - began;
        let grown = peak_kib(&self.server).saturating_sub(before);
        println!("{what}: {} in {seconds:.2} s, {grown} KiB, {} bytes", answer.status, answer.body.len());
        assert_eq!(answer.status, status, "{what}: {}", answer.body);
        assert!(seconds < MOST_SECONDS, "{what}: {seconds} s");
        assert!(grown < MOST_GROWN_KIB, "{what}: grew by {grown} KiB");
        assert!(answer.body.len() <= LONGEST_ANSWER, "{what}: {} bytes", answer.body.len());
        answer
    }
}

fn doubled(levels: usize) -> Value {
    let mut defs = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        defs.insert(format!("l{level}"), json!({"allOf": [next, next]}));
    }
    defs.insert(format!("l{levels}"), json!({"type": "object"}));
    json!({"$defs": defs, "$ref": "#/$defs/l0"})
}

fn branches(n: usize) -> Value {
    let all: Vec<_> = (0..n).map(|i| json!({"contains": {"const": i}})).collect();
    json!({"properties": {"rows": {"allOf": all}}})
}

#[test]
fn no_schema_and_no_payload_keeps_the_server_busy() {
    let attacked = attacked();
    // Warm: what every request needs is in memory now.
    attacked.slip_in("warm", &json!({"type": "object", "required": ["a"]}));
    assert_eq!(attacked.enqueue("warm", &json!({})).status, 422);

    let rows =
        |item: Value, bytes: usize| json!({"rows": vec![item.clone(); bytes / (item.to_string().len() + 1)]});
    let forms: Vec<_> = ["integer", "boolean", "null", "object"]
        .map(|kind| json!({"type": "array", "items": {"type": kind}}))
        .into();
    attacked.slip_in("forms", &json!({"properties": {"rows": {"anyOf": forms}}}));
    let too_large = || attacked.enqueue("forms", &rows(json!("wrong"), 1_800_000));
    attacked.bounded("1.8 MB against four forms", 413, too_large);
    let large = || attacked.enqueue("forms", &rows(json!("wrong"), 1_000_000));
    let answer = attacked.bounded("1 MB against four forms", 422, large);
    assert!(answer.body.contains("does not fit") && !answer.body.contains("wrong\""), "{}", answer.body);
    let tiny = || attacked.enqueue("forms", &rows(json!(1.5), 1_000_000));
    attacked.bounded("250,000 numbers against four forms", 422, tiny);
    let long_name = || attacked.enqueue("forms", &json!({"rows": 1, "x".repeat(900_000): 1}));
    attacked.bounded("a name of 900 KB", 422, long_name);

    attacked.bounded("28 doublings, saved", 422, || attacked.define("doubled", &doubled(28)));
    attacked.slip_in("doublings", &doubled(28));
    let answer = attacked.bounded("28 doublings, used", 422, || attacked.enqueue("doublings", &json!({})));
    assert!(answer.body.contains("1000 times"), "{}", answer.body);

    attacked.bounded("2,000 branches, saved", 422, || attacked.define("branched", &branches(2_000)));
    attacked.slip_in("branches", &branches(2_000));
    let used = || attacked.enqueue("branches", &rows(json!("x"), 900_000));
    attacked.bounded("2,000 branches, used", 422, used);
    attacked.slip_in("fewer", &branches(900));
    let used = || attacked.enqueue("fewer", &rows(json!("x"), 900_000));
    let answer = attacked.bounded("900 branches, used", 422, used);
    assert!(answer.body.contains("too long"), "{}", answer.body);

    assert_eq!(attacked.enqueue("warm", &json!({"a": 1})).status, 201);
}
