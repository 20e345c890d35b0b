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
    /// Who steers everything.
    Govern,
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

/// An address nobody has had yet.
fn somebody() -> String {
    format!("{}@acme.example", uuid::Uuid::new_v4().simple())
}

/// Somebody who was just invited to Acme, with everything a form about them says.
fn of_member(cast: &Cast) -> Fields {
    let email = somebody();
    let invited = cast.house.json(&["user", "invite", &email, "--role", "viewer", "--tenant", "acme"], "");
    let id = invited["user"]["id"].as_str().unwrap().to_owned();
    vec![("slug", "acme".into()), ("user", id), ("role", "admin".into()), ("disabled", "yes".into())]
}

fn prefix_of_a_key(cast: &Cast, whose: &[&str]) -> String {
    let line = [&["key", "add", "--name", "x", "--scope", "read"], whose].concat();
    cast.house.json(&line, "")["prefix"].as_str().unwrap().to_owned()
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
    Case { path: "/do/choose_password", need: Need::Nothing, fields: |_| Vec::new() },
    Case {
        path: "/do/invite_member",
        need: Need::Operate,
        fields: |_| vec![("slug", "acme".into()), ("email", somebody()), ("role", "viewer".into())],
    },
    Case { path: "/do/renew_invitation", need: Need::Operate, fields: |cast| of_member(cast) },
    Case { path: "/do/change_role", need: Need::Operate, fields: |cast| of_member(cast) },
    Case { path: "/do/remove_member", need: Need::Operate, fields: |cast| of_member(cast) },
    Case {
        path: "/do/create_key",
        need: Need::Operate,
        fields: |_| vec![("slug", "acme".into()), ("key_name", "x".into()), ("key_scope", "read".into())],
    },
    Case {
        path: "/do/revoke_key",
        need: Need::Operate,
        fields: |cast| {
            vec![("slug", "acme".into()), ("prefix", prefix_of_a_key(cast, &["--tenant", "acme"]))]
        },
    },
    Case {
        path: "/do/create_installation_key",
        need: Need::Govern,
        fields: |_| vec![("key_name", "x".into()), ("key_scope", "read".into())],
    },
    Case {
        path: "/do/revoke_installation_key",
        need: Need::Govern,
        fields: |cast| vec![("prefix", prefix_of_a_key(cast, &["--installation"]))],
    },
    Case { path: "/do/add_tenant", need: Need::Govern, fields: |_| vec![("name", somebody())] },
    Case {
        path: "/do/limit_tenant",
        need: Need::Govern,
        fields: |_| vec![("slug", "acme".into()), ("max_queued", "100000".into())],
    },
    Case { path: "/do/set_disabled", need: Need::Govern, fields: |cast| of_member(cast) },
    Case { path: "/do/reset_password", need: Need::Govern, fields: |cast| of_member(cast) },
];

/// The first one's target cannot be made without a worker; the stores' own tests hold it to the same scope. The others
/// change nothing but one's own account.
const TRIED_ELSEWHERE: &[&str] =
    &["/do/requeue", "/do/rename_me", "/do/change_password", "/do/end_session", "/do/sign_out_everywhere"];

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
        Need::Govern => role == Role::SuperAdmin,
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
