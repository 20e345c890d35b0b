//! Another site's forms: no server function does anything for them.

use crate::common::{House, PASSWORD};

#[test]
fn no_function_obeys_another_site() {
    let house = House::new();
    house.json(&["tenant", "add", "Acme"], "");
    let user = ["user", "add", "ann@example.org", "--role", "super_admin", "--password-stdin"];
    house.json(&user, PASSWORD);
    let server = house.serve(&[]);
    let cookie = server.sign_in("ann@example.org");
    let routes = house.json(&["routes"], "");
    let functions: Vec<_> =
        routes["functions"].as_array().unwrap().iter().filter_map(|f| f.as_str()).collect();
    assert!(functions.len() > 5, "{functions:?}");
    let strangers: [&[(&str, &str)]; 7] = [
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "cross-site"), ("origin", "null")],
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[("referer", "https://evil.example/form")],
        &[("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")],
    ];
    let kinds = ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x", ""];
    for path in &functions {
        for stranger in strangers {
            for kind in kinds {
                let own = [("cookie", cookie.as_str()), ("content-type", kind)];
                let answer = server.request("POST", path, &[&own, stranger].concat(), "slug=acme&reason=x");
                assert_eq!(answer.status, 403, "{path} {stranger:?} {kind}: {}", answer.body);
                assert!(answer.body.contains("CROSS_SITE"), "{path} {stranger:?}: {}", answer.body);
            }
        }
    }
    // Signed in as before: not even the sign-out was obeyed.
    assert_eq!(server.get("/t/acme", &[("cookie", &cookie)]).status, 200);
}

#[test]
fn text_that_looks_like_a_form_is_not_one() {
    let house = House::new();
    let server = house.serve(&[]);
    let routes = house.json(&["routes"], "");
    for path in routes["functions"].as_array().unwrap().iter().filter_map(|f| f.as_str()) {
        let answer = server.request("POST", path, &[("content-type", "text/plain")], "{\"slug\":\"acme\"}");
        assert!(answer.status < 500, "{path}: {} {}", answer.head, answer.body);
        let got = server.get(path, &[]);
        assert!(!(200..300).contains(&got.status), "GET {path} does something: {}", got.head);
    }
}
