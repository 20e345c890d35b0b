//! Bulk operations over the API: planned, applied in the background, listed, aborted.

use crate::{
    common::{House, until},
    office::{Office, code},
    on_both_databases,
};
use serde_json::{Value, json};

on_both_databases!(
    an_operation_is_planned_applied_and_told,
    a_dry_run_can_be_applied_by_its_id,
    an_aborted_operation_changes_nothing_more,
    the_command_line_does_the_same,
);

/// The operation once it is over.
fn over(office: &Office, id: &str) -> Value {
    until("the operation is over", || {
        let (_, told) = office.get(&office.admin, &format!("/operations/{id}"));
        matches!(told["state"].as_str(), Some("done" | "aborted")).then_some(told)
    })
}

fn an_operation_is_planned_applied_and_told(house: House) {
    let office = Office::new(house);
    office.enqueue("export", 3);
    office.enqueue("evaluate", 1);
    let body = json!({"action": "cancel", "filter": {"domain": "chatbooks"}, "reason": "superseded"});
    let (status, plan) = office.post(&office.admin, "/operations", &body);
    assert_eq!((status, &plan["state"], &plan["planned"]), (201, &json!("planned"), &json!(3)), "{plan}");
    assert_eq!((&plan["groups"][0]["count"], &plan["sample"]), (&json!(3), &json!([1, 2, 3])));
    let id = plan["id"].as_str().unwrap();
    let apply = format!("/operations/{id}/apply");
    let (status, refused) = office.post(&office.admin, &apply, &json!({}));
    assert_eq!((status, code(&refused)), (400, "CONFIRMATION_REQUIRED"));
    let (status, begun) = office.confirm(&office.admin, &apply, &json!({}));
    assert_eq!((status, &begun["state"]), (202, &json!("applying")), "{begun}");
    let done = over(&office, id);
    assert_eq!((&done["changed"], &done["skipped"]), (&json!(3), &json!(0)), "{done}");
    assert_eq!(done["applied_by"], done["planned_by"]);
    let (_, job) = office.get(&office.admin, "/jobs/1");
    assert_eq!(job["status"], "cancelled");
    let (status, late) = office.confirm(&office.admin, &apply, &json!({}));
    assert_eq!((status, code(&late)), (409, "WRONG_STATE"));
    let (status, all) = office.get(&office.admin, "/operations?limit=1");
    assert_eq!((status, &all["operations"][0]["id"]), (200, &json!(id)), "{all}");
    assert_eq!(office.get(&office.admin, "/operations/none").0, 404);
    let (status, wrong) =
        office.post(&office.admin, "/operations", &json!({"action": "cancel", "archive": true}));
    assert_eq!((status, &wrong["errors"][0]["field"]), (422, &json!("archive")), "{wrong}");
}

fn a_dry_run_can_be_applied_by_its_id(house: House) {
    let office = Office::new(house);
    office.enqueue("export", 2);
    let body = json!({"domain": "chatbooks", "dry_run": true});
    let (_, dry) = office.post(&office.admin, "/jobs/batch/cancel", &body);
    let id = dry["plan_id"].as_str().unwrap();
    assert_eq!(office.confirm(&office.admin, &format!("/operations/{id}/apply"), &json!({})).0, 202);
    assert_eq!(over(&office, id)["changed"], 2);
}

fn an_aborted_operation_changes_nothing_more(house: House) {
    let office = Office::new(house);
    office.enqueue("export", 1);
    let (_, plan) = office.post(&office.admin, "/operations", &json!({"action": "cancel"}));
    let id = plan["id"].as_str().unwrap();
    let (status, aborted) = office.post(&office.admin, &format!("/operations/{id}/abort"), &json!({}));
    assert_eq!((status, &aborted["state"]), (200, &json!("aborted")), "{aborted}");
    let (status, late) = office.confirm(&office.admin, &format!("/operations/{id}/apply"), &json!({}));
    assert_eq!((status, code(&late)), (409, "WRONG_STATE"));
    assert_eq!(office.get(&office.admin, "/jobs/1").1["status"], "queued");
}

fn the_command_line_does_the_same(house: House) {
    let office = Office::new(house);
    office.enqueue("export", 2);
    let url = format!("http://{}", office.server.addr);
    let run = |args: &[&str]| {
        let args = [&["operations"], args, &["--json"]].concat();
        let mut command = office.house.command(&args);
        let output =
            command.env("LEASEHOLD_URL", &url).env("LEASEHOLD_API_KEY", &office.admin).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let plan = run(&["plan", "cancel", "--domain", "chatbooks", "--reason", "superseded"]);
    assert_eq!(plan["planned"], 2, "{plan}");
    let id = plan["id"].as_str().unwrap();
    assert_eq!(run(&["apply", id, "--yes"])["state"], "applying");
    over(&office, id);
    assert_eq!(run(&["show", id])["changed"], 2);
    assert_eq!(run(&["list"])["operations"].as_array().unwrap().len(), 1);
}
