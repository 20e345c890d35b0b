//! Keeping keys to the domains listed for them.

use crate::{
    common::House,
    office::{DAY, Office, code},
    on_both_databases,
};
use serde_json::json;

on_both_databases!(
    a_key_stays_within_its_domains,
    a_key_without_a_list_sees_nothing,
    a_worker_with_a_list_gets_jobs_of_its_domains_only,
    a_domain_may_have_to_be_named,
    a_forced_sweep_without_confirmation_does_nothing,
    pages_keep_to_the_domains_too,
    triggers_and_figures_keep_to_the_domains_too,
);

const SCOPED: (&str, &str) = ("JOBS_DOMAIN_SCOPED_RBAC", "true");

/// The part of a key that may be known.
fn prefix(key: &str) -> &str {
    key.split('_').nth(1).unwrap()
}

fn list_of(key: &str) -> String {
    format!("JOBS_DOMAIN_ALLOWLIST_{}", prefix(key).to_uppercase())
}

fn a_key_stays_within_its_domains(house: House) {
    let office = Office::new(house);
    office.enqueue("export", 2);
    let foreign_jobs = office.enqueue("evaluate", 3);
    let list = list_of(&office.admin);
    let office = office.moved(&[SCOPED, (&list, "chatbooks")]);
    let foreign = json!({"domain": "prompt_studio", "dry_run": true});
    let (status, refused) = office.post(&office.admin, "/jobs/batch/cancel", &foreign);
    assert_eq!((status, code(&refused)), (403, "FORBIDDEN"));
    let everywhere = json!({"dry_run": true});
    assert_eq!(office.post(&office.admin, "/jobs/batch/cancel", &everywhere).1["affected"], 2);
    assert_eq!(office.post(&office.governor, "/jobs/batch/cancel", &everywhere).1["affected"], 5);
    assert_eq!(office.get(&office.admin, "/jobs/queue/status?domain=prompt_studio&queue=default").0, 403);
    for path in ["/jobs/list", "/jobs/stats", "/jobs/events", "/jobs/definitions"] {
        assert_eq!(office.get(&office.admin, &format!("{path}?domain=prompt_studio")).0, 403, "{path}");
    }
    assert_eq!(office.get(&office.admin, "/jobs/list").1["total"], 2);
    assert_eq!(office.get(&office.governor, "/jobs/list").1["total"], 5);
    assert_eq!(office.get(&office.admin, "/jobs/summary").1["ready"], 2);
    let stats = office.get(&office.admin, "/jobs/stats").1["stats"].clone();
    assert!(stats.as_array().unwrap().iter().all(|kind| kind["domain"] == "chatbooks"), "{stats}");
    let definitions = office.get(&office.admin, "/jobs/definitions").1["definitions"].clone();
    let keys: Vec<_> = definitions.as_array().unwrap().iter().map(|known| &known["key"]).collect();
    assert_eq!(keys, ["export"], "{definitions}");
    assert_eq!(office.get(&office.admin, "/jobs/definitions/export").1["arg_schema"]["type"], "object");
    assert_eq!(office.get(&office.admin, "/jobs/definitions/evaluate").0, 403);
    assert_eq!(office.get(&office.governor, "/jobs/definitions/evaluate").0, 200);
    let token = json!({"domain": "prompt_studio"});
    assert_eq!(office.post(&office.admin, "/jobs/events/token", &token).0, 403);
    let token = json!({"job_id": foreign_jobs[0].to_string()});
    assert_eq!(office.post(&office.admin, "/jobs/events/token", &token).0, 403);
    let events = office.get(&office.admin, "/jobs/events").1["events"].clone();
    let events = events.as_array().unwrap();
    assert!(!events.is_empty() && events.iter().all(|event| event["domain"] == "chatbooks"), "{events:?}");
    for rest in ["", "/attempts", "/logs", "/diagnosis", "/attachments", "/units", "/events"] {
        let status = office.get(&office.admin, &format!("/jobs/{}{rest}", foreign_jobs[0])).0;
        assert_eq!(status, 403, "{rest}");
    }
    for what in ["cancel", "retry"] {
        assert_eq!(
            office.post(&office.admin, &format!("/jobs/{}/{what}", foreign_jobs[0]), &json!({})).0,
            403
        );
    }
    let note = json!({"name": "a.txt", "text": "hello"});
    assert_eq!(office.post(&office.admin, &format!("/jobs/{}/attachments", foreign_jobs[0]), &note).0, 403);
    let new = json!({"definition_key": "evaluate", "payload": {}});
    assert_eq!(office.post(&office.admin, "/jobs", &new).0, 403);
    assert_eq!(office.claim().len(), 5, "a worker says itself what it runs");

    let office = office.later(600, &[SCOPED, (&list, "chatbooks")]);
    let ttl = json!({"runtime_seconds": 60});
    let foreign = json!({"runtime_seconds": 60, "domain": "prompt_studio"});
    assert_eq!(office.confirm(&office.admin, "/jobs/ttl/sweep", &foreign).0, 403);
    assert_eq!(office.confirm(&office.admin, "/jobs/ttl/sweep", &ttl).1["affected"], 2);

    let office = office.later(DAY * 3, &[SCOPED, (&list, "chatbooks")]);
    let prune = json!({"statuses": ["cancelled"], "older_than_days": 1, "domain": "prompt_studio"});
    assert_eq!(office.confirm(&office.admin, "/jobs/prune", &prune).0, 403);
}

fn a_worker_with_a_list_gets_jobs_of_its_domains_only(house: House) {
    let office = Office::new(house);
    let mut own = office.enqueue("export", 2);
    office.enqueue("evaluate", 3);
    let list = list_of(&office.worker);
    let office = office.moved(&[SCOPED, (&list, "chatbooks")]);
    let mut claimed: Vec<i64> = office.claim().iter().map(|job| job["number"].as_i64().unwrap()).collect();
    claimed.sort_unstable();
    own.sort_unstable();
    assert_eq!(claimed, own);
    let foreign = json!({"worker_id": "w", "kinds": ["prompt_studio/*"]});
    let (status, refused) = office.post(&office.worker, "/worker/jobs/claim", &foreign);
    assert_eq!((status, code(&refused)), (403, "FORBIDDEN"));
    let office = office.moved(&[SCOPED, (&list, "prompt_studio")]);
    assert_eq!(office.claim().len(), 3);
}

fn a_key_without_a_list_sees_nothing(house: House) {
    let office = Office::with(house, &[SCOPED]);
    office.enqueue("export", 1);
    let named = json!({"domain": "chatbooks", "dry_run": true});
    for body in [named, json!({"dry_run": true})] {
        let (status, refused) = office.post(&office.admin, "/jobs/batch/cancel", &body);
        assert_eq!((status, code(&refused)), (403, "FORBIDDEN"), "{body}");
    }
    assert_eq!(office.get(&office.admin, "/jobs/list").0, 403);
    assert_eq!(office.get(&office.admin, "/jobs/definitions").0, 403);
}

fn a_domain_may_have_to_be_named(house: House) {
    let office = Office::new(house);
    let list = list_of(&office.admin);
    let env = [SCOPED, ("JOBS_REQUIRE_DOMAIN_FILTER", "true"), (list.as_str(), "chatbooks")];
    let office = office.moved(&env);
    let (status, refused) = office.post(&office.admin, "/jobs/batch/cancel", &json!({"dry_run": true}));
    assert_eq!((status, code(&refused)), (400, "DOMAIN_REQUIRED"));
    let named = json!({"dry_run": true, "domain": "chatbooks"});
    assert_eq!(office.post(&office.admin, "/jobs/batch/cancel", &named).0, 200);
}

fn a_forced_sweep_without_confirmation_does_nothing(house: House) {
    let office = Office::new(house);
    office.enqueue("export", 1);
    let (admin, governor) = (list_of(&office.admin), list_of(&office.governor));
    let lists = [SCOPED, (admin.as_str(), "chatbooks"), (governor.as_str(), "chatbooks")];
    let body = |domain: &str| json!({"age_seconds": 1, "domain": domain});
    let path = "/jobs/ttl/sweep";
    let office = office.later(600, &lists);
    assert_eq!(office.post(&office.admin, path, &body("chatbooks")).0, 400, "one flag is not enough");
    let office = office.later(600, &[&lists[..], &[("JOBS_RBAC_FORCE", "true")]].concat());
    for key in [&office.admin, &office.governor] {
        assert_eq!(office.post(key, path, &body("prompt_studio")).0, 403, "rights come first");
        let (status, nothing) = office.post(key, path, &body("chatbooks"));
        assert_eq!((status, &nothing["affected"]), (200, &json!(0)));
        assert_eq!(office.post(key, path, &json!({"age_seconds": 1})).0, 400, "without a domain");
    }
    assert_eq!(office.confirm(&office.admin, path, &body("chatbooks")).1["affected"], 1);
}

fn pages_keep_to_the_domains_too(house: House) {
    let office = Office::new(house);
    let number = office.enqueue("export", 1)[0];
    office.house.json(
        &["user", "add", "bob@example.org", "--tenant", "acme", "--role", "admin", "--password-stdin"],
        crate::common::PASSWORD,
    );
    let office = office.moved(&[SCOPED]);
    let page = |email: &str| {
        let cookie = office.server.sign_in(email);
        let path = format!("/t/acme/jobs/{number}");
        office.server.get(&path, &[("cookie", &cookie), ("accept", "text/html")]).status
    };
    assert_eq!(page("ann@example.org"), 200, "who governs is exempt");
    assert_eq!(page("bob@example.org"), 403, "nothing is listed for Bob");
}

fn triggers_and_figures_keep_to_the_domains_too(house: House) {
    let office = Office::new(house);
    let rule = |kind: &str| json!({"label": kind, "trigger_type": "event", "event_name": "x", "definition_key": kind});
    let made = |kind: &str| {
        let (status, made) = office.post(&office.admin, "/jobs/triggers", &rule(kind));
        assert_eq!(status, 201, "{made}");
        made["id"].as_str().unwrap().to_owned()
    };
    let (own, foreign) = (made("export"), made("evaluate"));
    let list = list_of(&office.admin);
    let office = office.moved(&[SCOPED, (&list, "chatbooks")]);
    let listed = office.get(&office.admin, "/jobs/triggers").1["triggers"].clone();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["id"]), (1, &json!(own)), "{listed}");
    let path = format!("/jobs/triggers/{foreign}");
    let off = json!({"is_enabled": false});
    assert_eq!(office.get(&office.admin, &path).0, 403);
    assert_eq!(office.ask(&office.admin, "PATCH", &path, Some(&off), None).0, 403);
    assert_eq!(office.post(&office.admin, &format!("{path}/run"), &json!({})).0, 403);
    assert_eq!(office.ask(&office.admin, "DELETE", &path, None, None).0, 403);
    assert_eq!(office.post(&office.admin, "/jobs/triggers", &rule("evaluate")).0, 403);
    assert_eq!(office.get(&office.governor, &path).1["is_enabled"], true, "nothing was changed");
    assert_eq!(office.server.get("/metrics", &[("x-api-key", &office.admin)]).status, 403);
    assert_eq!(office.server.get("/metrics", &[("x-api-key", &office.governor)]).status, 200);
}
