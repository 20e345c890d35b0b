//! Changing a password, and links for those who lost theirs.

use crate::{
    ADA, SUE,
    common::{House, PASSWORD},
    may_sign_in, page, settled, shown_once, submit, user_id,
};

crate::on_both_databases! {
    a_new_password_needs_the_old_one_and_ends_other_sessions,
    a_lost_password_is_replaced_by_a_link,
    a_password_is_not_guessed_at_an_open_browser,
}

const NEW: &str = "quite another password";

fn a_new_password_needs_the_old_one_and_ends_other_sessions(house: House) {
    settled(&house);
    let server = house.serve(&[]);
    let (here, there) = (server.sign_in(ADA), server.sign_in(ADA));
    let change = |old: &str, new: &str| {
        submit(&server, "change_password", &[("old_password", old), ("new_password", new)], &here).body
    };
    assert!(change("not my password", NEW).contains("not your password"));
    assert!(change(PASSWORD, "short").contains("at least 10"));
    for common in ["1234567890", "Password2024!", "ada@acme.example", "acme acme acme"] {
        assert!(!change(PASSWORD, common).contains("is changed"), "{common}");
    }
    assert!(may_sign_in(&server, ADA, PASSWORD), "nothing was changed");
    assert!(change(PASSWORD, NEW).contains("was changed"));
    assert_eq!(page(&server, "/account", &here).status, 200, "this browser stays");
    assert_eq!(page(&server, "/account", &there).status, 303, "the other does not");
    assert!(may_sign_in(&server, ADA, NEW) && !may_sign_in(&server, ADA, PASSWORD));
}

fn a_lost_password_is_replaced_by_a_link(house: House) {
    settled(&house);
    let server = house.serve(&[]);
    let (sue, ada) = (server.sign_in(SUE), server.sign_in(ADA));
    let id = user_id(&house, ADA);
    let renewed = submit(&server, "renew_invitation", &[("slug", "acme"), ("user", &id)], &ada);
    assert!(shown_once(&renewed).is_none(), "an admin resets nobody's password");
    let first = shown_once(&submit(&server, "reset_password", &[("user", &id)], &sue)).unwrap();
    let path = house.json(&["user", "reset-password", ADA], "")["path"].as_str().unwrap().to_owned();
    let first = first.split_once("/invite").unwrap().1;
    assert_eq!(page(&server, &format!("/invite{first}"), "").status, 403, "a newer link replaces it");
    assert_eq!(page(&server, &path, "").status, 200);
    let token = path.split_once("token=").unwrap().1;
    let chosen = server.post("/do/choose_password", &[("token", token), ("password", NEW)], &[]);
    assert_eq!(chosen.header("location"), Some("/"), "{}", chosen.body);
    assert_eq!(page(&server, "/account", &ada).status, 303, "every session ended");
    assert!(may_sign_in(&server, ADA, NEW) && !may_sign_in(&server, ADA, PASSWORD));
}

fn a_password_is_not_guessed_at_an_open_browser(house: House) {
    settled(&house);
    let server = house.serve(&[]);
    let ada = server.sign_in(ADA);
    let guess = |old: &str| {
        submit(&server, "change_password", &[("old_password", old), ("new_password", NEW)], &ada).body
    };
    for nth in 0..5 {
        assert!(guess(&format!("guess number {nth}")).contains("not your password"), "{nth}");
    }
    assert!(guess(PASSWORD).contains("Too many attempts"));
}
