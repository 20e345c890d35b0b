//! Who may enter a tenant, and as what.

use crate::{
    SqliteStore,
    audit::{Deed, audit},
    convert::Table,
    error::Outcome,
    invitations,
    users::{UserRecord, insert_user},
};
use leasehold_queue::{
    Scope,
    params::NewUser,
    people::{NO_PASSWORD, NewMember, local_part},
};
use leasehold_types::{
    Problem, ProblemCode, Role, TenantId, Timestamp, UserId,
    people::{AccountMade, Invitation, Member},
    view::User,
};
use sqlx::SqliteConnection;

const USERS: Table = Table("users");
const MEMBERSHIPS: Table = Table("memberships");

pub(crate) async fn of_tenant(store: &SqliteStore, scope: &Scope, tenant: TenantId) -> Outcome<Vec<Member>> {
    if !scope.reaches(tenant) {
        return Err(Problem::not_found("This tenant").into());
    }
    let tenant = tenant.to_string();
    let rows = sqlx::query!(
        "SELECT u.id, u.email, u.name, u.super_admin, u.created_at, u.created_by, u.disabled_at, m.role,
                m.created_at AS joined_at
         FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.tenant_id = ?1 ORDER BY u.email",
        tenant
    )
    .fetch_all(&store.read)
    .await?;
    let members = rows
        .into_iter()
        .map(|row| {
            Ok(Member {
                role: MEMBERSHIPS.parse("role", &row.role)?,
                joined_at: MEMBERSHIPS.time("created_at", &row.joined_at)?,
                invited: false,
                disabled_at: USERS.time_opt("disabled_at", row.disabled_at.as_deref())?,
                made_by: row.created_by,
                user: User {
                    id: USERS.parse("id", &row.id)?,
                    created_at: USERS.time("created_at", &row.created_at)?,
                    super_admin: row.super_admin != 0,
                    email: row.email,
                    name: row.name,
                },
            })
        })
        .collect::<Outcome<Vec<_>>>()?;
    let mut all = invitations::of_tenant(store, &tenant).await?;
    all.extend(members);
    all.sort_by(|a, b| a.user.email.cmp(&b.user.email));
    Ok(all)
}

pub(crate) async fn invite(store: &SqliteStore, scope: &Scope, new: NewMember) -> Outcome<Invitation> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    check_tenant(&mut tx, scope, new.tenant).await?;
    let known = sqlx::query_as!(
        UserRecord,
        "SELECT id, email, name, password_hash, super_admin, created_at, created_by FROM users WHERE email = ?1",
        new.email
    )
    .fetch_optional(&mut *tx)
    .await?;
    let invitation = match known {
        Some(record) => {
            let by = record.created_by.clone();
            let (user, _) = <(User, String)>::try_from(record)?;
            check_no_member(&mut tx, new.tenant, user.id).await?;
            Invitation { account: Some(AccountMade { by, at: user.created_at }), user }
        }
        None => {
            let made = NewUser {
                name: local_part(&new.email).to_owned(),
                email: new.email.clone(),
                password_hash: NO_PASSWORD.into(),
                super_admin: false,
                membership: None,
            };
            let user = insert_user(&mut tx, made, &scope.actor.to_string(), now).await?;
            Invitation { user, account: None }
        }
    };
    invitations::replace(&mut tx, &new, invitation.user.id, now).await?;
    let reason = format!("as {}", new.role.as_str());
    let deed =
        Deed::new(Some(new.tenant), "member.invite", "user", &invitation.user.email).because(Some(&reason));
    audit(&mut tx, scope, &[deed], now).await?;
    tx.commit().await?;
    Ok(invitation)
}

async fn check_no_member(connection: &mut SqliteConnection, tenant: TenantId, user: UserId) -> Outcome<()> {
    let (tenant, user) = (tenant.to_string(), user.to_string());
    let is_member = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT 1 FROM memberships WHERE user_id = ?1 AND tenant_id = ?2) AS "found!: i64""#,
        user,
        tenant
    )
    .fetch_one(connection)
    .await?;
    if is_member != 0 {
        return Err(already_member().into());
    }
    Ok(())
}

pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    tenant: TenantId,
    user: UserId,
    role: &str,
    now: Timestamp,
) -> Outcome<()> {
    let (tenant, user, now) = (tenant.to_string(), user.to_string(), now.to_string());
    let done = sqlx::query!(
        "INSERT INTO memberships (tenant_id, user_id, role, created_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO NOTHING",
        tenant,
        user,
        role,
        now
    )
    .execute(connection)
    .await?;
    if done.rows_affected() == 0 {
        return Err(already_member().into());
    }
    Ok(())
}

fn already_member() -> Problem {
    let detail = "They are a member already. Nothing was changed; their role can be changed in the list.";
    Problem::new(ProblemCode::AlreadyExists, detail).with_field("email", detail)
}

/// Changes the role, or ends the membership. The writer's lock lets no two last admins both leave.
pub(crate) async fn change(
    store: &SqliteStore,
    scope: &Scope,
    tenant: TenantId,
    user: UserId,
    role: Option<Role>,
    even_the_last: bool,
) -> Outcome<()> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    check_tenant(&mut tx, scope, tenant).await?;
    let (tenant_text, user_text) = (tenant.to_string(), user.to_string());
    let found = sqlx::query!(
        r#"SELECT m.role, u.email,
                  EXISTS (SELECT 1 FROM memberships o JOIN users ou ON ou.id = o.user_id
                          WHERE o.tenant_id = ?1 AND o.user_id <> ?2 AND o.role = 'admin' AND ou.disabled_at IS NULL)
                    AS "others!: i64"
           FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.tenant_id = ?1 AND m.user_id = ?2"#,
        tenant_text,
        user_text
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(found) = found else {
        let asked = invitations::change(&mut tx, tenant, user, role).await?;
        let (email, before) = asked.ok_or_else(|| Problem::not_found("This member"))?;
        let (action, reason) = match role {
            Some(role) => ("member.role", format!("{before} → {}, invited", role.as_str())),
            None => ("member.remove", format!("was invited as {before}")),
        };
        let deed = Deed::new(Some(tenant), action, "user", &email).because(Some(&reason));
        audit(&mut tx, scope, &[deed], now).await?;
        return Ok(tx.commit().await?);
    };
    let steps_down = found.role == Role::Admin.as_str() && role != Some(Role::Admin);
    if steps_down && found.others == 0 && !even_the_last {
        return Err(last_admin().into());
    }
    let deed = match role.map(|role| role.as_str()) {
        Some(role) => {
            sqlx::query!(
                "UPDATE memberships SET role = ?3 WHERE tenant_id = ?1 AND user_id = ?2",
                tenant_text,
                user_text,
                role
            )
            .execute(&mut *tx)
            .await?;
            let reason = format!("{} → {role}", found.role);
            Deed::new(Some(tenant), "member.role", "user", &found.email).because(Some(&reason))
        }
        None => {
            sqlx::query!(
                "DELETE FROM memberships WHERE tenant_id = ?1 AND user_id = ?2",
                tenant_text,
                user_text
            )
            .execute(&mut *tx)
            .await?;
            let reason = format!("was {}", found.role);
            Deed::new(Some(tenant), "member.remove", "user", &found.email).because(Some(&reason))
        }
    };
    audit(&mut tx, scope, &[deed], now).await?;
    Ok(tx.commit().await?)
}

fn last_admin() -> Problem {
    let detail = "This is the tenant's last admin. Say that you mean it, or make somebody else an admin first. \
                  Nothing was changed.";
    Problem::new(ProblemCode::ConfirmationRequired, detail)
}

async fn check_tenant(connection: &mut SqliteConnection, scope: &Scope, tenant: TenantId) -> Outcome<()> {
    let id = tenant.to_string();
    let found =
        sqlx::query_scalar!("SELECT id FROM tenants WHERE id = ?1", id).fetch_optional(connection).await?;
    if found.is_none() || !scope.reaches(tenant) {
        return Err(Problem::not_found("This tenant").into());
    }
    Ok(())
}
