//! Server functions. Whether one took effect is read off the audit log, not off its answer: a refusal and a success
//! both lead back to a page.

use crate::{
    cast::{Cast, Role},
    differences,
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    /// Signing in and out, setting up: whoever asks; no deed in anyone's tenant.
    Nothing,
    /// Whoever may change things in Acme.
    Operate,
}

type Fields = Vec<(&'static str, String)>;

struct Case {
    path: &'static str,
    need: Need,
    /// Made anew for each try, as the try may use it up.
    fields: fn(&Cast) -> Fields,
}

fn of_job(number: i64) -> Fields {
    vec![("slug", "acme".into()), ("number", number.to_string()), ("reason", "because".into())]
}

const CASES: &[Case] = &[
    Case { path: "/do/sign_in", need: Need::Nothing, fields: |_| Vec::new() },
    Case { path: "/do/sign_out", need: Need::Nothing, fields: |_| Vec::new() },
    Case { path: "/do/set_up", need: Need::Nothing, fields: |_| Vec::new() },
    Case {
        path: "/do/enqueue",
        need: Need::Operate,
        fields: |_| {
            let payload = "{}".to_owned();
            vec![("slug", "acme".into()), ("definition_key", "steps".into()), ("payload_json", payload)]
        },
    },
    Case { path: "/do/cancel", need: Need::Operate, fields: |cast| of_job(cast.waiting_job()) },
    Case { path: "/do/retry", need: Need::Operate, fields: |cast| of_job(cast.cancelled_job()) },
];

/// Their targets cannot be made without a worker; the stores' own tests hold them to the same scope.
const TRIED_ELSEWHERE: &[&str] = &["/do/requeue"];

pub fn try_all(cast: &Cast) -> Vec<String> {
    let routes = cast.house.json(&["routes"], "");
    let served = routes["functions"].as_array().unwrap().iter().map(|p| p.as_str().unwrap().to_owned());
    let listed = CASES.iter().map(|case| case.path).chain(TRIED_ELSEWHERE.iter().copied());
    let mut wrong = differences("the function", served.collect(), listed.map(str::to_owned).collect());
    for case in CASES.iter().filter(|case| case.need != Need::Nothing) {
        for role in Role::ALL {
            wrong.extend(try_one(cast, case, role));
        }
    }
    for path in CASES.iter().map(|case| case.path).chain(TRIED_ELSEWHERE.iter().copied()) {
        wrong.extend(from_another_site(cast, path));
    }
    wrong
}

fn may(need: Need, role: Role) -> bool {
    match need {
        Need::Nothing => true,
        Need::Operate => matches!(role, Role::Admin | Role::SuperAdmin),
    }
}

fn try_one(cast: &Cast, case: &Case, role: Role) -> Option<String> {
    let fields = (case.fields)(cast);
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let before = cast.deeds_of(role);
    let answer = cast.server.post(case.path, &fields, &cast.session(role));
    let did = cast.deeds_of(role) > before;
    let (allowed, status) = (may(case.need, role), answer.status);
    let hidden = role != Role::OtherTenant || status == 404;
    if status >= 500 || did != allowed || !hidden {
        let deed = if did { "acts" } else { "does nothing" };
        return Some(format!("{} {deed} for {} ({status}: {})", case.path, role.title(), answer.body));
    }
    None
}

/// Even a super-admin's browser does nothing that another site asked it for.
fn from_another_site(cast: &Cast, path: &str) -> Option<String> {
    let tells = [
        [("sec-fetch-site", "cross-site"), ("origin", "https://elsewhere.example")],
        [("sec-fetch-site", "same-site"), ("origin", "https://sibling.example")],
        [("origin", "https://elsewhere.example"), ("referer", "https://elsewhere.example/")],
        [("origin", "null"), ("referer", "https://elsewhere.example/")],
    ];
    for tell in tells {
        let headers = [cast.session(Role::SuperAdmin), tell.to_vec()].concat();
        let answer = cast.server.post(path, &[("slug", "acme")], &headers);
        if answer.status != 403 {
            return Some(format!("{path} answers {} to another site ({tell:?})", answer.status));
        }
    }
    None
}
