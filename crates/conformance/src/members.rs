//! Members, the links they choose a password with, accounts and sessions.

use super::bench::{Bench, NOW, code_of};
use leasehold_queue::{
    StoreError,
    params::{NewUser, SessionRow},
    people::{EndSessions, NewMember, PasswordLink},
    scope::Scope,
};
use leasehold_types::{
    JobStatus, Role, TenantId, UserId,
    people::{AccountMade, Invitation},
};
use serde_json::json;

fn link(token: &str) -> PasswordLink {
    PasswordLink { token_hash: token.into(), expires_at: NOW.plus_secs(3_600) }
}

fn member(tenant: TenantId, email: &str, role: Role, token: &str) -> NewMember {
    NewMember { tenant, email: email.into(), role, link: link(token) }
}

async fn invite(b: &Bench, scope: &Scope, tenant: TenantId, email: &str, role: Role) -> Invitation {
    let token = format!("link of {email}");
    b.store.invite(scope, member(tenant, email, role, &token)).await.unwrap()
}

async fn user(b: &Bench, email: &str, super_admin: bool, membership: Option<(TenantId, Role)>) -> UserId {
    let new = NewUser {
        email: email.into(),
        name: "Someone".into(),
        password_hash: "hash".into(),
        super_admin,
        membership,
    };
    b.store.create_user(&Scope::system("test"), new).await.unwrap().id
}

async fn session(b: &Bench, id: &str, user: UserId) {
    let expires_at = NOW.plus_secs(3_600);
    let row =
        SessionRow { id_hash: id.into(), user_id: Some(user), data: json!({"agent": "Lynx"}), expires_at };
    b.store.save_session(row).await.unwrap();
}

pub async fn somebody_new_is_invited(b: Bench) {
    let invited = invite(&b, &b.ann(), b.a, "eve@example.org", Role::Viewer).await;
    assert_eq!(invited.account, None, "the invitation made the account");
    let id = invited.user.id;
    let members = b.store.members(&b.ann(), b.a).await.unwrap();
    assert_eq!(members.len(), 1);
    assert_eq!((members[0].role, members[0].invited, members[0].joined_at), (Role::Viewer, true, NOW));
    assert_eq!(members[0].made_by.as_deref(), Some("ann@example.org"));
    assert!(b.store.memberships(id).await.unwrap().is_empty(), "not yet a member");
    let owner = b.store.link_owner("link of eve@example.org").await.unwrap().unwrap();
    assert!(owner.invited && owner.user == invited.user);
    assert_eq!(owner.joins.unwrap().tenant_name, "Acme");
    let unproved = b.store.join(&b.ann(), id, "link of eve@example.org").await;
    assert_eq!(code_of(unproved), "SETUP_LINK_INVALID", "first a password");
    b.wait(720);
    let made = b.store.choose_password("link of eve@example.org", Some("Eve"), "fresh", None).await.unwrap();
    assert_eq!(made.name, "Eve");
    let (_, hash) = b.store.credentials("eve@example.org").await.unwrap().unwrap();
    assert_eq!(hash, "fresh");
    let joined = b.store.members(&b.ann(), b.a).await.unwrap().remove(0);
    assert_eq!(
        (joined.invited, joined.joined_at),
        (false, NOW.plus_secs(720)),
        "from joining, not from inviting"
    );
    let again = b.store.choose_password("link of eve@example.org", None, "other", None).await;
    assert_eq!(code_of(again), "SETUP_LINK_INVALID");
}

pub async fn somebody_with_an_account_joins_by_the_link(b: Bench) {
    let eve = user(&b, "eve@example.org", false, Some((b.b, Role::Admin))).await;
    let invited = invite(&b, &b.ann(), b.a, "eve@example.org", Role::Viewer).await;
    assert_eq!(invited.user.id, eve);
    assert_eq!(invited.account, Some(AccountMade { by: Some("test".into()), at: NOW }));
    assert_eq!(b.store.memberships(eve).await.unwrap().len(), 1, "asked, not taken");
    let listed = b.store.members(&b.ann(), b.a).await.unwrap();
    assert_eq!((listed.len(), listed[0].role, listed[0].invited), (1, Role::Viewer, true));
    let owner = b.store.link_owner("link of eve@example.org").await.unwrap().unwrap();
    assert_eq!(owner.made_by.as_deref(), Some("test"));
    let joins = owner.joins.unwrap();
    assert_eq!((joins.tenant_name.as_str(), joins.role, owner.invited), ("Acme", Role::Viewer, false));

    let other = user(&b, "joe@example.org", false, None).await;
    let token = "link of eve@example.org";
    assert_eq!(code_of(b.store.join(&b.bob(), other, token).await), "SETUP_LINK_INVALID", "not theirs");
    let password = b.store.choose_password(token, None, "taken", None).await;
    assert_eq!(code_of(password), "SETUP_LINK_INVALID", "it opens no account");
    assert_eq!(b.store.join(&b.bob(), eve, token).await.unwrap(), b.a);
    assert_eq!(b.store.memberships(eve).await.unwrap().len(), 2);
    assert!(!b.store.members(&b.ann(), b.a).await.unwrap()[0].invited);
    assert_eq!(code_of(b.store.join(&b.bob(), eve, token).await), "SETUP_LINK_INVALID", "used up");
    let again = member(b.a, "eve@example.org", Role::Viewer, "x");
    assert_eq!(code_of(b.store.invite(&b.ann(), again).await), "ALREADY_EXISTS");
}

pub async fn who_governs_lets_nobody_in_without_the_link(b: Bench) {
    let eve = user(&b, "eve@example.org", false, None).await;
    invite(&b, &b.ann(), b.a, "eve@example.org", Role::Viewer).await;
    let newer = member(b.a, "eve@example.org", Role::Admin, "newer");
    b.store.invite(&Scope::system("test"), newer).await.unwrap();
    assert!(b.store.memberships(eve).await.unwrap().is_empty(), "asked, not taken");
    let old = b.store.join(&b.ann(), eve, "link of eve@example.org").await;
    assert_eq!(code_of(old), "SETUP_LINK_INVALID", "the newest invitation counts");
    b.store.join(&b.ann(), eve, "newer").await.unwrap();
    let members = b.store.members(&b.ann(), b.a).await.unwrap();
    assert_eq!((members.len(), members[0].role, members[0].invited), (1, Role::Admin, false));
}

/// Two tenants invite the same new address: each link leads to its own tenant, and the second needs the password.
pub async fn each_invitation_leads_to_its_own_tenant(b: Bench) {
    let eve = invite(&b, &b.bob(), b.b, "eve@example.org", Role::Admin).await.user.id;
    let theirs =
        b.store.invite(&b.ann(), member(b.a, "eve@example.org", Role::Viewer, "acme")).await.unwrap();
    assert_eq!(theirs.account.unwrap().by.as_deref(), Some("bob@example.org"), "the inviter can notice");
    b.store.choose_password("link of eve@example.org", None, "squatted", None).await.unwrap();
    let places = b.store.memberships(eve).await.unwrap();
    assert_eq!(places.iter().map(|m| m.tenant.id).collect::<Vec<_>>(), [b.b]);
    let taken = b.store.choose_password("acme", None, "other", None).await;
    assert_eq!(code_of(taken), "SETUP_LINK_INVALID", "there is a password now");
    assert!(!b.store.link_owner("acme").await.unwrap().unwrap().invited);
    b.store.join(&b.ann(), eve, "acme").await.unwrap();
    assert_eq!(b.store.memberships(eve).await.unwrap().len(), 2);
}

pub async fn an_invitation_is_renewed_changed_and_taken_back(b: Bench) {
    let eve = user(&b, "eve@example.org", false, Some((b.b, Role::Admin))).await;
    invite(&b, &b.ann(), b.a, "eve@example.org", Role::Viewer).await;
    assert_eq!(code_of(b.store.offer_password_link(&b.bob(), eve, link("y")).await), "NOT_FOUND");
    b.store.offer_password_link(&b.ann(), eve, link("newer")).await.unwrap();
    assert!(b.store.link_owner("link of eve@example.org").await.unwrap().is_none(), "replaced");
    assert!(b.store.link_owner("newer").await.unwrap().unwrap().joins.is_some(), "never for a password");
    b.store.set_role(&b.ann(), b.a, eve, Role::Admin, false).await.unwrap();
    assert_eq!(b.store.members(&b.ann(), b.a).await.unwrap()[0].role, Role::Admin);
    b.wait(3_600);
    assert_eq!(code_of(b.store.join(&b.ann(), eve, "newer").await), "SETUP_LINK_INVALID", "expired");
    b.store.remove_member(&b.ann(), b.a, eve, false).await.unwrap();
    assert!(b.store.members(&b.ann(), b.a).await.unwrap().is_empty());
    assert_eq!(code_of(b.store.remove_member(&b.ann(), b.a, eve, false).await), "NOT_FOUND");
}

pub async fn one_tenants_link_opens_no_other_tenant(b: Bench) {
    let eve = invite(&b, &b.ann(), b.a, "eve@example.org", Role::Viewer).await.user.id;
    assert_eq!(code_of(b.store.offer_password_link(&b.bob(), eve, link("b")).await), "NOT_FOUND");
    b.store.invite(&b.bob(), member(b.b, "eve@example.org", Role::Viewer, "b")).await.unwrap();
    b.store.offer_password_link(&b.ann(), eve, link("c")).await.unwrap();
    assert!(b.store.link_owner("link of eve@example.org").await.unwrap().is_none(), "replaced");
    assert_eq!(b.store.link_owner("c").await.unwrap().unwrap().joins.unwrap().tenant_name, "Acme");
    assert_eq!(b.store.link_owner("b").await.unwrap().unwrap().joins.unwrap().tenant_name, "Birch");
}

pub async fn an_admin_cannot_reset_a_password(b: Bench) {
    let eve = user(&b, "eve@example.org", false, Some((b.a, Role::Viewer))).await;
    assert_eq!(code_of(b.store.offer_password_link(&b.ann(), eve, link("x")).await), "NOT_FOUND");
    b.store.offer_password_link(&Scope::system("test"), eve, link("x")).await.unwrap();
    assert!(!b.store.link_owner("x").await.unwrap().unwrap().invited);
    b.wait(3_600);
    assert!(b.store.link_owner("x").await.unwrap().is_none(), "expired");
    assert_eq!(code_of(b.store.choose_password("x", None, "h", None).await), "SETUP_LINK_INVALID");
}

pub async fn foreign_members_are_not_found(b: Bench) {
    let eve = user(&b, "eve@example.org", false, Some((b.a, Role::Viewer))).await;
    assert_eq!(code_of(b.store.members(&b.bob(), b.a).await), "NOT_FOUND");
    assert_eq!(code_of(b.store.set_role(&b.bob(), b.a, eve, Role::Admin, true).await), "NOT_FOUND");
    assert_eq!(code_of(b.store.remove_member(&b.bob(), b.a, eve, true).await), "NOT_FOUND");
    assert_eq!(code_of(b.store.set_role(&b.bob(), b.b, eve, Role::Admin, true).await), "NOT_FOUND");
    let theirs = member(b.a, "x@example.org", Role::Admin, "x");
    assert_eq!(code_of(b.store.invite(&b.bob(), theirs).await), "NOT_FOUND");
    assert!(b.store.credentials("x@example.org").await.unwrap().is_none(), "nothing half-written");
}

pub async fn the_last_admin_does_not_leave_by_accident(b: Bench) {
    let eve = user(&b, "eve@example.org", false, Some((b.a, Role::Admin))).await;
    let step_down = async || b.store.set_role(&b.ann(), b.a, eve, Role::Viewer, false).await;
    assert_eq!(code_of(step_down().await), "CONFIRMATION_REQUIRED");
    assert_eq!(code_of(b.store.remove_member(&b.ann(), b.a, eve, false).await), "CONFIRMATION_REQUIRED");
    let other = user(&b, "joe@example.org", false, Some((b.a, Role::Admin))).await;
    b.store.set_disabled(&Scope::system("test"), other, true).await.unwrap();
    assert_eq!(code_of(step_down().await), "CONFIRMATION_REQUIRED", "a disabled admin is none");
    b.store.set_disabled(&Scope::system("test"), other, false).await.unwrap();
    step_down().await.unwrap();
    b.store.remove_member(&b.ann(), b.a, other, true).await.unwrap();
    let members = b.store.members(&b.ann(), b.a).await.unwrap();
    assert_eq!(members.iter().map(|m| m.role).collect::<Vec<_>>(), [Role::Viewer]);
}

pub async fn two_last_admins_cannot_both_leave(b: Bench) {
    let eve = user(&b, "eve@example.org", false, Some((b.a, Role::Admin))).await;
    let joe = user(&b, "joe@example.org", false, Some((b.a, Role::Admin))).await;
    let scope = b.ann();
    let (one, other) = tokio::join!(
        b.store.remove_member(&scope, b.a, eve, false),
        b.store.remove_member(&scope, b.a, joe, false),
    );
    assert_eq!(usize::from(one.is_ok()) + usize::from(other.is_ok()), 1, "{one:?} {other:?}");
    assert_eq!(b.store.members(&scope, b.a).await.unwrap().len(), 1);
}

pub async fn who_is_disabled_is_out_at_once(b: Bench) {
    let eve = user(&b, "eve@example.org", false, Some((b.a, Role::Viewer))).await;
    session(&b, "s", eve).await;
    b.store.offer_password_link(&Scope::system("test"), eve, link("x")).await.unwrap();
    b.store.set_disabled(&Scope::system("test"), eve, true).await.unwrap();
    assert!(b.store.session("s").await.unwrap().is_none());
    assert!(b.store.user(eve).await.unwrap().is_none());
    assert!(b.store.credentials("eve@example.org").await.unwrap().is_none());
    assert!(b.store.link_owner("x").await.unwrap().is_none());
    let account = b.store.accounts().await.unwrap().remove(0);
    assert_eq!((account.disabled_at, account.tenants), (Some(NOW), vec!["acme".to_owned()]));
    b.store.set_disabled(&Scope::system("test"), eve, false).await.unwrap();
    assert!(b.store.user(eve).await.unwrap().is_some());
}

pub async fn one_super_admin_always_stays(b: Bench) {
    let system = Scope::system("test");
    let eve = user(&b, "eve@example.org", true, None).await;
    assert_eq!(code_of(b.store.set_disabled(&system, eve, true).await), "FORBIDDEN");
    let joe = user(&b, "joe@example.org", true, None).await;
    let (one, other) =
        tokio::join!(b.store.set_disabled(&system, eve, true), b.store.set_disabled(&system, joe, true));
    assert_eq!(usize::from(one.is_ok()) + usize::from(other.is_ok()), 1, "{one:?} {other:?}");
}

pub async fn a_new_password_ends_the_other_sessions(b: Bench) {
    let eve = user(&b, "eve@example.org", false, None).await;
    for id in ["here", "there", "elsewhere"] {
        session(&b, id, eve).await;
    }
    assert_eq!(b.store.sessions_of(eve).await.unwrap().len(), 3);
    let only = EndSessions::Only("there".into());
    assert_eq!(b.store.end_sessions(&b.ann(), eve, only.clone()).await.unwrap(), 1);
    assert_eq!(b.store.end_sessions(&b.ann(), UserId(uuid::Uuid::nil()), only).await.unwrap(), 0);
    b.store.offer_password_link(&Scope::system("test"), eve, link("leaked")).await.unwrap();
    b.store.change_password(&b.ann(), eve, "new", "here").await.unwrap();
    assert!(b.store.link_owner("leaked").await.unwrap().is_none(), "no link undoes it");
    let left = b.store.sessions_of(eve).await.unwrap();
    assert_eq!(left.iter().map(|(s, _)| s.id_hash.as_str()).collect::<Vec<_>>(), ["here"]);
    assert_eq!((&left[0].0.data["agent"], left[0].1), (&json!("Lynx"), NOW));
    assert_eq!(b.store.end_sessions(&b.ann(), eve, EndSessions::AllBut("x".into())).await.unwrap(), 1);
}

pub async fn an_ended_session_is_not_brought_back(b: Bench) {
    let eve = user(&b, "eve@example.org", false, None).await;
    session(&b, "s", eve).await;
    let mut row = b.store.session("s").await.unwrap().unwrap();
    row.data = json!({"seen": "now"});
    assert!(b.store.update_session(row.clone()).await.unwrap());
    assert_eq!(b.store.session("s").await.unwrap().unwrap().data, row.data);
    b.store.delete_session("s").await.unwrap();
    assert!(!b.store.update_session(row.clone()).await.unwrap());
    assert!(b.store.session("s").await.unwrap().is_none());
    session(&b, "s", eve).await;
    b.wait(3_600);
    row.expires_at = NOW.plus_secs(9_000);
    assert!(!b.store.update_session(row).await.unwrap(), "nor is one that ran out");
}

pub async fn a_job_outlives_its_owners_membership(b: Bench) {
    let eve = user(&b, "eve@example.org", false, Some((b.a, Role::Admin))).await;
    let job = b.create(b.job(b.a)).await;
    b.store.remove_member(&b.ann(), b.a, eve, true).await.unwrap();
    let found = b.store.job(&b.ann(), leasehold_types::JobRef::Number(job.number), 0).await.unwrap().unwrap();
    assert_eq!(found.row.status, JobStatus::Queued);
}

/// Each takes several rows; taken in different orders, they would wait for each other for ever.
pub async fn links_are_followed_while_others_change_the_same_people(b: Bench) {
    let system = Scope::system("test");
    for round in 0..20 {
        let (email, token) = (format!("eve{round}@example.org"), format!("reset {round}"));
        let eve = user(&b, &email, false, None).await;
        invite(&b, &b.ann(), b.a, &email, Role::Viewer).await;
        b.store.offer_password_link(&system, eve, link(&token)).await.unwrap();
        let (ann, joining) = (b.ann(), format!("link of {email}"));
        let again = member(b.a, &email, Role::Admin, &format!("again {round}"));
        let (chosen, joined, invited, disabled) = tokio::join!(
            b.store.choose_password(&token, None, "fresh", None),
            b.store.join(&ann, eve, &joining),
            b.store.invite(&ann, again),
            b.store.set_disabled(&system, eve, true),
        );
        disabled.unwrap();
        for refused in [chosen.err(), joined.err(), invited.err()].into_iter().flatten() {
            assert!(matches!(refused, StoreError::Problem(_)), "{refused}");
        }
    }
}
