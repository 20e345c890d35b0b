//! A client that a generator makes of the description, used against the server it came from.

use crate::common::{House, program::Programs, python};
use serde_json::{Value, json};
use std::path::Path;

crate::on_both_databases! {
    a_generated_client_works,
}

fn a_generated_client_works(house: House) {
    let programs = Programs::new(house);
    let url = format!("http://{}", programs.server.addr);
    let folder = programs.house.dir.path().join("generated");
    std::fs::create_dir(&folder).unwrap();
    let mut generate = python::tool("openapi-python-client");
    generate
        .args(["generate", "--meta", "none", "--fail-on-warning", "--url"])
        .arg(format!("{url}/api/openapi.json"));
    python::said(generate.arg("--output-path").arg(folder.join("leasehold_client")));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api_description/client.py");
    let mut client = python::tool("python");
    client.arg(script).env("PYTHONPATH", &folder).env("LEASEHOLD_URL", &url);
    let said: Value =
        serde_json::from_str(&python::said(client.env("LEASEHOLD_API_KEY", &programs.key))).unwrap();
    let number = said["number"].as_i64().unwrap();
    assert_eq!(programs.get(&format!("/jobs/{number}")).1["status"], "cancelled");
    let expected = json!({
        "number": number, "created": true, "listed": [number], "outcome": "cancelled", "attempts": 0,
        "definition": "media", "refused": ["INVALID_INPUT", "priority"], "missing": "NOT_FOUND"
    });
    assert_eq!(said, expected);
}
