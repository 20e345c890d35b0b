//! Who may enter a tenant, and as what.

use crate::{
    SqliteStore,
    audit::{Deed, audit},
    convert::Table,
    error::Outcome,
    invitations, password_links,
    users::{UserRecord, insert_user},
};
use leasehold_queue::{
    Permission, Scope,
    params::NewUser,
    people::{Joined, NO_PASSWORD, NewMember},
};
use leasehold_types::{Problem, ProblemCode, Role, TenantId, Timestamp, UserId, people::Member, view::User};
use sqlx::SqliteConnection;

const USERS: Table = Table("users");
const MEMBERSHIPS: Table = Table("memberships");

pub(crate) async fn of_tenant(store: &SqliteStore, scope: &Scope, tenant: TenantId) -> Outcome<Vec<Member>> {
    if !scope.reaches(tenant) {
        return Err(Problem::not_found("This tenant").into());
    }
    let tenant = tenant.to_string();
    let rows = sqlx::query!(
        "SELECT u.id, u.email, u.name, u.password_hash, u.super_admin, u.created_at, u.disabled_at, m.role,
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
                invited: row.password_hash == NO_PASSWORD,
                disabled_at: USERS.time_opt("disabled_at", row.disabled_at.as_deref())?,
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

pub(crate) async fn add(store: &SqliteStore, scope: &Scope, new: NewMember) -> Outcome<Joined> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    check_tenant(&mut tx, scope, new.tenant).await?;
    let known = sqlx::query_as!(
        UserRecord,
        "SELECT id, email, name, password_hash, super_admin, created_at FROM users WHERE email = ?1",
        new.email
    )
    .fetch_optional(&mut *tx)
    .await?;
    let joined = match known {
        Some(record) => {
            let (user, hash) = <(User, String)>::try_from(record)?;
            let needs_link = hash == NO_PASSWORD;
            if needs_link && scope.tenant().is_some() && is_elsewhere(&mut tx, user.id, new.tenant).await? {
                return Err(still_invited().into());
            }
            if !needs_link && scope.permission < Permission::Govern {
                ask(&mut tx, scope, &new, &user, now).await?;
                tx.commit().await?;
                return Ok(Joined { user, needs_link: true });
            }
            insert(&mut tx, new.tenant, user.id, new.role.as_str(), now).await?;
            invitations::change(&mut tx, new.tenant, user.id, None).await?;
            Joined { user, needs_link }
        }
        None => {
            let user = NewUser {
                name: new.email.split('@').next().unwrap_or_default().to_owned(),
                email: new.email.clone(),
                password_hash: NO_PASSWORD.into(),
                super_admin: false,
                membership: Some((new.tenant, new.role)),
            };
            Joined { user: insert_user(&mut tx, user, now).await?, needs_link: true }
        }
    };
    if joined.needs_link {
        password_links::replace(&mut tx, joined.user.id, &new.link, now).await?;
    }
    let reason = format!("as {}", new.role.as_str());
    let deed = Deed::new(Some(new.tenant), "member.add", "user", &joined.user.email).because(Some(&reason));
    audit(&mut tx, scope, &[deed], now).await?;
    tx.commit().await?;
    Ok(joined)
}

/// Who has an account is asked, not taken: see [`invitations`].
async fn ask(
    connection: &mut SqliteConnection,
    scope: &Scope,
    new: &NewMember,
    user: &User,
    now: Timestamp,
) -> Outcome<()> {
    let (id, tenant) = (user.id.to_string(), new.tenant.to_string());
    let is_member = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT 1 FROM memberships WHERE user_id = ?1 AND tenant_id = ?2) AS "found!: i64""#,
        id,
        tenant
    )
    .fetch_one(&mut *connection)
    .await?;
    if is_member != 0 {
        return Err(already_member().into());
    }
    invitations::replace(connection, new, user.id, now).await?;
    let reason = format!("as {}", new.role.as_str());
    let deed = Deed::new(Some(new.tenant), "member.invite", "user", &user.email).because(Some(&reason));
    audit(connection, scope, &[deed], now).await
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

pub(crate) async fn is_elsewhere(
    connection: &mut SqliteConnection,
    user: UserId,
    tenant: TenantId,
) -> Outcome<bool> {
    let (user, tenant) = (user.to_string(), tenant.to_string());
    let found = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT 1 FROM memberships WHERE user_id = ?1 AND tenant_id <> ?2) AS "found!: i64""#,
        user,
        tenant
    )
    .fetch_one(connection)
    .await?;
    Ok(found != 0)
}

fn still_invited() -> Problem {
    let detail = "They have not chosen a password yet since somebody else invited them. Ask them to do that first; \
                  nothing was changed.";
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
        r#"SELECT m.role, u.email, u.password_hash,
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
            if found.password_hash == NO_PASSWORD {
                password_links::remove(&mut tx, user).await?;
            }
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
