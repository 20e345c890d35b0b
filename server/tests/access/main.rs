//! Who may use what: every route of the API, every page and every server function, tried by everyone.
//!
//! The lists here say who may use an address; what the server answers at is asked of the server itself. An address that
//! is missing in a list fails the test, and so does one that answers differently from what its list says.

#[path = "../common/mod.rs"]
mod common;

mod cast;
mod document;
mod functions;
mod pages;
mod rest;

use cast::Cast;
use common::House;
use std::collections::BTreeSet;

on_both_databases! {
    every_route_of_the_api_opens_to_its_roles_only,
    every_page_opens_to_its_roles_only,
    every_server_function_obeys_its_roles_only,
}

fn every_route_of_the_api_opens_to_its_roles_only(house: House) {
    let cast = Cast::new(house);
    let wrong = rest::try_all(&cast);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn every_page_opens_to_its_roles_only(house: House) {
    let cast = Cast::new(house);
    let wrong = pages::try_all(&cast);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn every_server_function_obeys_its_roles_only(house: House) {
    let cast = Cast::new(house);
    let wrong = functions::try_all(&cast);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is served and not in a list, or in a list and not served.
fn differences(what: &str, served: BTreeSet<String>, listed: BTreeSet<String>) -> Vec<String> {
    let missing = served.difference(&listed).map(|path| format!("{what} {path}: nobody said who may use it"));
    let gone = listed.difference(&served).map(|path| format!("{what} {path}: listed, but not served"));
    missing.chain(gone).collect()
}

/// Nothing is routed in the server that the lists above cannot see.
#[test]
fn routes_are_made_in_one_place() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let house = House::new();
    let fixed = house.json(&["routes"], "")["fixed"].clone();
    let fixed: Vec<String> = serde_json::from_value(fixed).unwrap();
    let mut files = vec![source];
    let mut seen = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        for call in text.split(".route(").skip(1) {
            let literal = call.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next());
            let literal = literal.unwrap_or_else(|| panic!("{}: routes something unnamed", path.display()));
            assert!(
                fixed.iter().any(|known| known == literal),
                "{literal} is routed but not in router::FIXED"
            );
            seen += 1;
        }
    }
    assert!(seen >= 5, "the search for routes found {seen}: it looks in the wrong place");
}
