//! Who may enter a tenant, and as what.

use crate::{
    PostgresStore,
    audit::{self, Act},
    convert::{stamp, stamp_if, word},
    error::database,
    invitations,
    users::{UserRecord, insert_user},
};
use leasehold_queue::{
    Scope, StoreResult,
    params::NewUser,
    people::{NO_PASSWORD, NewMember, local_part},
};
use leasehold_types::{
    Problem, ProblemCode, Role, TenantId, UserId,
    people::{AccountMade, Invitation, Member},
    view::User,
};
use sqlx::PgConnection;

pub async fn of_tenant(store: &PostgresStore, scope: &Scope, tenant: TenantId) -> StoreResult<Vec<Member>> {
    if !scope.reaches(tenant) {
        return Err(Problem::not_found("This tenant").into());
    }
    let rows = sqlx::query!(
        "SELECT u.id, u.email, u.name, u.super_admin, u.created_at, u.created_by, u.disabled_at, m.role,
                m.created_at AS joined_at
         FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.tenant_id = $1 ORDER BY u.email",
        tenant.0
    )
    .fetch_all(&store.work)
    .await
    .map_err(database)?;
    let members = rows
        .into_iter()
        .map(|r| {
            Ok(Member {
                role: word("memberships", "role", &r.role)?,
                joined_at: stamp(r.joined_at),
                invited: false,
                disabled_at: stamp_if(r.disabled_at),
                made_by: r.created_by,
                user: User {
                    id: UserId(r.id),
                    email: r.email,
                    name: r.name,
                    super_admin: r.super_admin,
                    created_at: stamp(r.created_at),
                },
            })
        })
        .collect::<StoreResult<Vec<_>>>()?;
    let mut all = invitations::of_tenant(store, tenant).await?;
    all.extend(members);
    all.sort_by(|a, b| a.user.email.cmp(&b.user.email));
    Ok(all)
}

pub async fn invite(store: &PostgresStore, scope: &Scope, new: NewMember) -> StoreResult<Invitation> {
    let now = store.now();
    let mut tx = store.work.begin().await.map_err(database)?;
    lock(&mut tx, scope, new.tenant).await?;
    let known = sqlx::query_as!(
        UserRecord,
        "SELECT id, email, name, password_hash, super_admin, created_at, created_by FROM users WHERE email = $1
         FOR UPDATE",
        new.email
    )
    .fetch_optional(&mut *tx)
    .await
    .map_err(database)?;
    let invitation = match known {
        Some(record) => {
            let by = record.created_by.clone();
            let (user, _) = <(User, String)>::from(record);
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
    record(&mut tx, scope, now, new.tenant, "member.invite", &invitation.user.email, &reason).await?;
    tx.commit().await.map_err(database)?;
    Ok(invitation)
}

async fn check_no_member(connection: &mut PgConnection, tenant: TenantId, user: UserId) -> StoreResult<()> {
    let is_member = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM memberships WHERE user_id = $1 AND tenant_id = $2) AS "found!""#,
        user.0,
        tenant.0
    )
    .fetch_one(connection)
    .await
    .map_err(database)?;
    if is_member {
        return Err(already_member().into());
    }
    Ok(())
}

pub async fn insert(
    connection: &mut PgConnection,
    tenant: TenantId,
    user: UserId,
    role: &str,
    now: time::OffsetDateTime,
) -> StoreResult<()> {
    let done = sqlx::query!(
        "INSERT INTO memberships (tenant_id, user_id, role, created_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING",
        tenant.0,
        user.0,
        role,
        now
    )
    .execute(connection)
    .await
    .map_err(database)?;
    if done.rows_affected() == 0 {
        return Err(already_member().into());
    }
    Ok(())
}

fn already_member() -> Problem {
    let detail = "They are a member already. Nothing was changed; their role can be changed in the list.";
    Problem::new(ProblemCode::AlreadyExists, detail).with_field("email", detail)
}

/// Changes the role, or ends the membership.
pub async fn change(
    store: &PostgresStore,
    scope: &Scope,
    tenant: TenantId,
    user: UserId,
    role: Option<Role>,
    even_the_last: bool,
) -> StoreResult<()> {
    let now = store.now();
    let mut tx = store.work.begin().await.map_err(database)?;
    lock(&mut tx, scope, tenant).await?;
    let found = sqlx::query!(
        r#"SELECT m.role, u.email,
                  EXISTS (SELECT FROM memberships o JOIN users ou ON ou.id = o.user_id
                          WHERE o.tenant_id = $1 AND o.user_id <> $2 AND o.role = 'admin' AND ou.disabled_at IS NULL)
                    AS "others!"
           FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.tenant_id = $1 AND m.user_id = $2"#,
        tenant.0,
        user.0
    )
    .fetch_optional(&mut *tx)
    .await
    .map_err(database)?;
    let Some(found) = found else {
        let asked = invitations::change(&mut tx, tenant, user, role).await?;
        let (email, before) = asked.ok_or_else(|| Problem::not_found("This member"))?;
        let (action, reason) = match role {
            Some(role) => ("member.role", format!("{before} → {}, invited", role.as_str())),
            None => ("member.remove", format!("was invited as {before}")),
        };
        record(&mut tx, scope, now, tenant, action, &email, &reason).await?;
        return tx.commit().await.map_err(database);
    };
    let steps_down = found.role == Role::Admin.as_str() && role != Some(Role::Admin);
    if steps_down && !found.others && !even_the_last {
        return Err(last_admin().into());
    }
    match role {
        Some(role) => {
            sqlx::query!(
                "UPDATE memberships SET role = $3 WHERE tenant_id = $1 AND user_id = $2",
                tenant.0,
                user.0,
                role.as_str()
            )
            .execute(&mut *tx)
            .await
            .map_err(database)?;
            let reason = format!("{} → {}", found.role, role.as_str());
            record(&mut tx, scope, now, tenant, "member.role", &found.email, &reason).await?;
        }
        None => {
            sqlx::query!("DELETE FROM memberships WHERE tenant_id = $1 AND user_id = $2", tenant.0, user.0)
                .execute(&mut *tx)
                .await
                .map_err(database)?;
            let reason = format!("was {}", found.role);
            record(&mut tx, scope, now, tenant, "member.remove", &found.email, &reason).await?;
        }
    }
    tx.commit().await.map_err(database)
}

fn last_admin() -> Problem {
    let detail = "This is the tenant's last admin. Say that you mean it, or make somebody else an admin first. \
                  Nothing was changed.";
    Problem::new(ProblemCode::ConfirmationRequired, detail)
}

/// Changes of one tenant's members come one after the other, so that two last admins cannot both leave.
async fn lock(connection: &mut PgConnection, scope: &Scope, tenant: TenantId) -> StoreResult<()> {
    let found = sqlx::query_scalar!("SELECT id FROM tenants WHERE id = $1 FOR UPDATE", tenant.0)
        .fetch_optional(connection)
        .await
        .map_err(database)?;
    if found.is_none() || !scope.reaches(tenant) {
        return Err(Problem::not_found("This tenant").into());
    }
    Ok(())
}

async fn record(
    connection: &mut PgConnection,
    scope: &Scope,
    now: time::OffsetDateTime,
    tenant: TenantId,
    action: &str,
    email: &str,
    reason: &str,
) -> StoreResult<()> {
    let act =
        Act { tenant: Some(tenant.0), action, object_type: "user", object_id: email, reason: Some(reason) };
    audit::record(connection, scope, now, act).await
}
