//! Sessions: a fresh id at sign-in, a list of one's own, and the two limits of their life.

use crate::{ADA, SUE, common::House, page, settled, submit};

crate::on_both_databases! {
    signing_in_changes_the_sessions_id,
    own_sessions_are_listed_and_ended,
    a_session_ends_after_twelve_idle_hours,
    a_session_ends_after_seven_days_whatever_happens,
}

const START: u64 = 1_900_000_000;
const HOUR: u64 = 3_600;

fn signing_in_changes_the_sessions_id(house: House) {
    settled(&house);
    let server = house.serve(&[]);
    let failed = server.post("/do/sign_in", &[("email", ADA), ("password", "wrong one")], &[]);
    let planted = failed.cookie().expect("the message waits in a session");
    let form = [("email", ADA), ("password", crate::common::PASSWORD), ("next", "/account")];
    let signed_in = server.post("/do/sign_in", &form, &[("cookie", &planted)]);
    let fresh = signed_in.cookie().expect("a new id");
    assert_ne!(fresh, planted);
    assert_eq!(page(&server, "/account", &fresh).status, 200);
    assert_eq!(page(&server, "/account", &planted).status, 303, "the planted one opens nothing");
}

fn own_sessions_are_listed_and_ended(house: House) {
    settled(&house);
    let server = house.serve(&[]);
    let form = [("email", ADA), ("password", crate::common::PASSWORD), ("next", "/")];
    let away = server.post("/do/sign_in", &form, &[("user-agent", "Lynx/2.9")]).cookie().unwrap();
    let (here, sue) = (server.sign_in(ADA), server.sign_in(SUE));
    let account = page(&server, "/account", &here).body;
    assert!(
        account.contains("Lynx/2.9") && account.contains("127.0.0.1") && account.contains("this browser")
    );
    let id = account.split("name=\"id\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let foreign = submit(&server, "end_session", &[("id", id)], &sue).body;
    assert!(foreign.contains("Not found"), "only one's own");
    assert_eq!(page(&server, "/account", &away).status, 200);
    submit(&server, "end_session", &[("id", id)], &here);
    assert_eq!(page(&server, "/account", &away).status, 303);
    let again = server.sign_in(ADA);
    server.post("/do/sign_out_everywhere", &[], &[("cookie", &here)]);
    for cookie in [&here, &again] {
        assert_eq!(page(&server, "/account", cookie).status, 303);
    }
    assert_eq!(page(&server, "/account", &sue).status, 200);
}

/// The status of the account page at this hour; using it keeps the session alive.
fn at(house: &House, hours: u64, cookie: &str) -> u16 {
    let now = (START + hours * HOUR).to_string();
    let server = house.serve(&[("JOBS_TEST_NOW_EPOCH", &now), ("JOBS_MAX_CONCURRENCY", "0")]);
    page(&server, "/account", cookie).status
}

fn signed_in_at_the_start(house: &House) -> String {
    settled(house);
    let server = house.serve(&[("JOBS_TEST_NOW_EPOCH", &START.to_string()), ("JOBS_MAX_CONCURRENCY", "0")]);
    server.sign_in(ADA)
}

fn a_session_ends_after_twelve_idle_hours(house: House) {
    let cookie = signed_in_at_the_start(&house);
    for (hours, status) in [(11, 200), (22, 200), (35, 303)] {
        assert_eq!(at(&house, hours, &cookie), status, "after {hours} hours");
    }
}

fn a_session_ends_after_seven_days_whatever_happens(house: House) {
    let cookie = signed_in_at_the_start(&house);
    for hours in (11..168).step_by(11) {
        assert_eq!(at(&house, hours, &cookie), 200, "after {hours} hours");
    }
    assert_eq!(at(&house, 169, &cookie), 303, "although it was used four hours ago");
}
