//! Server functions. Whether one took effect is read off the audit log, not off its answer: a refusal and a success
//! both lead back to a page.

use crate::{
    cast::{Cast, Role},
    common::PASSWORD,
    differences,
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    /// A password or a link that only its owner knows; tried here without, by everyone.
    Secret,
    /// Whoever is signed in, for their own account.
    SignIn,
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
    fields: fn(&Cast, Role) -> Fields,
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

/// Another session of this person; of a super-admin for those who have none.
fn another_session(cast: &Cast, role: Role) -> Fields {
    let owner = if may(Need::SignIn, role) { role } else { Role::SuperAdmin };
    cast.server.sign_in(owner.email());
    let account = cast.server.get("/account", &cast.session(owner)).body;
    let id = account.split("name=\"id\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    vec![("id", id.expect("another session is listed").to_owned())]
}

/// The names and words a form about an account asks for, wrong where they are secrets.
fn of_account(_: &Cast, _: Role) -> Fields {
    let (wrong, token) = ("not the password", "0123456789abcdef");
    let own = [("email", Role::SuperAdmin.email()), ("password", wrong), ("token", token), ("name", "Eve")];
    own.map(|(name, value)| (name, value.to_owned())).to_vec()
}

/// The last ones end the session they are tried with.
const CASES: &[Case] = &[
    Case { path: "/do/sign_in", need: Need::Secret, fields: of_account },
    Case { path: "/do/set_up", need: Need::Secret, fields: of_account },
    Case { path: "/do/choose_password", need: Need::Secret, fields: of_account },
    Case { path: "/do/join_tenant", need: Need::Secret, fields: of_account },
    Case { path: "/do/rename_me", need: Need::SignIn, fields: of_account },
    Case {
        path: "/do/change_password",
        need: Need::SignIn,
        fields: |_, _| vec![("old_password", PASSWORD.into()), ("new_password", PASSWORD.into())],
    },
    Case {
        path: "/do/enqueue",
        need: Need::Operate,
        fields: |_, _| {
            let payload = "{}".to_owned();
            vec![("slug", "acme".into()), ("definition_key", "steps".into()), ("payload_json", payload)]
        },
    },
    Case { path: "/do/cancel", need: Need::Operate, fields: |cast, _| of_job(cast.waiting_job()) },
    Case { path: "/do/retry", need: Need::Operate, fields: |cast, _| of_job(cast.cancelled_job()) },
    Case { path: "/do/requeue", need: Need::Operate, fields: |cast, _| of_job(cast.quarantined_job()) },
    Case {
        path: "/do/invite_member",
        need: Need::Operate,
        fields: |_, _| vec![("slug", "acme".into()), ("email", somebody()), ("role", "viewer".into())],
    },
    Case {
        path: "/do/update_tenant",
        need: Need::Operate,
        fields: |_, _| {
            let zone = ("timezone", "Europe/Berlin".into());
            vec![("slug", "acme".into()), ("tenant_name", "Acme".into()), zone]
        },
    },
    Case { path: "/do/renew_invitation", need: Need::Operate, fields: |cast, _| of_member(cast) },
    Case { path: "/do/change_role", need: Need::Operate, fields: |cast, _| of_member(cast) },
    Case { path: "/do/remove_member", need: Need::Operate, fields: |cast, _| of_member(cast) },
    Case {
        path: "/do/create_key",
        need: Need::Operate,
        fields: |_, _| vec![("slug", "acme".into()), ("key_name", "x".into()), ("key_scope", "read".into())],
    },
    Case {
        path: "/do/revoke_key",
        need: Need::Operate,
        fields: |cast, _| {
            vec![("slug", "acme".into()), ("prefix", prefix_of_a_key(cast, &["--tenant", "acme"]))]
        },
    },
    Case {
        path: "/do/create_installation_key",
        need: Need::Govern,
        fields: |_, _| vec![("key_name", "x".into()), ("key_scope", "read".into())],
    },
    Case {
        path: "/do/revoke_installation_key",
        need: Need::Govern,
        fields: |cast, _| vec![("prefix", prefix_of_a_key(cast, &["--installation"]))],
    },
    Case { path: "/do/add_tenant", need: Need::Govern, fields: |_, _| vec![("name", somebody())] },
    Case {
        path: "/do/limit_tenant",
        need: Need::Govern,
        fields: |_, _| vec![("slug", "acme".into()), ("max_queued", "100000".into())],
    },
    Case { path: "/do/set_disabled", need: Need::Govern, fields: |cast, _| of_member(cast) },
    Case { path: "/do/reset_password", need: Need::Govern, fields: |cast, _| of_member(cast) },
    Case { path: "/do/end_session", need: Need::SignIn, fields: another_session },
    Case { path: "/do/sign_out_everywhere", need: Need::SignIn, fields: |_, _| Vec::new() },
];

/// Ends the session and says so to anyone: there is no deed to see. Tried in [`signed_out`].
const SIGN_OUT: &str = "/do/sign_out";

pub fn try_all(cast: &Cast) -> Vec<String> {
    let routes = cast.house.json(&["routes"], "");
    let served = routes["functions"].as_array().unwrap().iter().map(|p| p.as_str().unwrap().to_owned());
    let listed: Vec<_> = CASES.iter().map(|case| case.path).chain([SIGN_OUT]).collect();
    let known = listed.iter().map(|path| (*path).to_owned()).collect();
    let mut wrong = differences("the function", served.collect(), known);
    for path in listed {
        wrong.extend(from_another_site(cast, path));
    }
    for case in CASES {
        for role in Role::ALL {
            wrong.extend(try_one(cast, case, role));
        }
    }
    wrong.extend(signed_out(cast));
    wrong
}

/// Only the session it is asked with ends.
fn signed_out(cast: &Cast) -> Option<String> {
    let [leaving, staying] = [Role::Admin, Role::Viewer].map(|role| cast.server.sign_in(role.email()));
    cast.server.post(SIGN_OUT, &[], &[("cookie", &leaving)]);
    let opens = |cookie: &str| cast.server.get("/account", &[("cookie", cookie)]).status == 200;
    let fine = !opens(&leaving) && opens(&staying);
    (!fine).then(|| format!("{SIGN_OUT} ends another session than the one it was asked with"))
}

fn may(need: Need, role: Role) -> bool {
    match need {
        Need::Secret => false,
        Need::SignIn => {
            matches!(role, Role::OtherTenant | Role::Viewer | Role::Admin | Role::SuperAdmin)
        }
        Need::Operate => matches!(role, Role::Admin | Role::SuperAdmin),
        Need::Govern => role == Role::SuperAdmin,
    }
}

fn try_one(cast: &Cast, case: &Case, role: Role) -> Option<String> {
    let fields = (case.fields)(cast, role);
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let before = cast.deeds_of(role);
    let answer = cast.server.post(case.path, &fields, &cast.session(role));
    let did = cast.deeds_of(role) > before;
    let (allowed, status) = (may(case.need, role), answer.status);
    let of_acme = matches!(case.need, Need::Operate | Need::Govern);
    let hidden = !of_acme || role != Role::OtherTenant || status == 404;
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
