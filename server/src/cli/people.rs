//! `leasehold tenant add`, `leasehold tenant limit` and `leasehold user add`.

use super::{
    Out, failed, terminal,
    text::{Style, Table},
};
use crate::{
    auth::{new_secrets, password},
    config::Config,
    store,
};
use clap::{Args, Subcommand, ValueEnum};
use leasehold_queue::{Engine, Scope, engine::normalise_email};
use leasehold_types::{Problem, Role, TenantId, TenantLimits, UserId, people::Account};
use serde_json::json;
use std::io::BufRead;

#[derive(Subcommand)]
pub enum Tenant {
    /// Create a tenant.
    Add {
        name: String,
        /// Its URL slug; made from the name when left out.
        #[arg(long)]
        slug: Option<String>,
    },
    /// Show a tenant's limits, or change those that are given.
    Limit {
        slug: String,
        #[command(flatten)]
        limits: Limits,
    },
}

#[derive(Args)]
pub struct Limits {
    /// Jobs that may wait.
    #[arg(long, value_name = "N")]
    max_queued: Option<i64>,
    /// Jobs that may come in per minute.
    #[arg(long, value_name = "N")]
    submits_per_minute: Option<i64>,
    /// Jobs that may run at a time.
    #[arg(long, value_name = "N")]
    max_in_flight: Option<i64>,
    /// Lift every limit that is not given.
    #[arg(long)]
    none: bool,
}

impl Limits {
    /// What is to stand there; none when nothing was asked to change.
    fn onto(self, now: &TenantLimits) -> Option<TenantLimits> {
        let given = [self.max_queued, self.submits_per_minute, self.max_in_flight];
        if !self.none && given.iter().all(Option::is_none) {
            return None;
        }
        let kept = if self.none { TenantLimits::default() } else { now.clone() };
        Some(TenantLimits {
            max_queued: self.max_queued.or(kept.max_queued),
            submits_per_minute: self.submits_per_minute.or(kept.submits_per_minute),
            max_in_flight: self.max_in_flight.or(kept.max_in_flight),
        })
    }
}

impl Tenant {
    pub async fn run(self, config: Config, out: Out) -> Result<(), Problem> {
        let engine = store::engine(&config).await?;
        let scope = terminal();
        match self {
            Self::Add { name, slug } => {
                let tenant = engine.create_tenant(&scope, &name, slug.as_deref()).await?;
                out.say(&format!("Tenant “{}” is there, as {}.", tenant.name, tenant.slug), &json!(tenant));
            }
            Self::Limit { slug, limits } => {
                let mut tenant = engine.tenant(&scope, &slug).await?;
                if let Some(limits) = limits.onto(&tenant.limits) {
                    engine.set_tenant_limits(&scope, tenant.id, limits.clone()).await?;
                    tenant.limits = limits;
                }
                out.say(&in_words(&tenant.slug, &tenant.limits), &json!(tenant));
            }
        }
        Ok(())
    }
}

fn in_words(slug: &str, limits: &TenantLimits) -> String {
    let parts = [
        (limits.max_queued, "waiting"),
        (limits.submits_per_minute, "coming in per minute"),
        (limits.max_in_flight, "running at a time"),
    ];
    let parts: Vec<_> = parts.iter().filter_map(|(max, what)| Some(format!("{} {what}", (*max)?))).collect();
    if parts.is_empty() {
        return format!("{slug} has no limits.");
    }
    format!("{slug} may have at most this many jobs: {}.", parts.join(", "))
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum UserRole {
    /// Everything, in every tenant.
    SuperAdmin,
    /// Everything in one tenant.
    Admin,
    /// Looks at one tenant.
    Viewer,
}

#[derive(Subcommand)]
pub enum User {
    /// Make a user.
    Add {
        email: String,
        #[arg(long)]
        role: UserRole,
        /// The tenant's slug; needed unless the role is super_admin.
        #[arg(long, value_name = "SLUG", required_if_eq_any([("role", "admin"), ("role", "viewer")]))]
        tenant: Option<String>,
        /// Read the password from standard input: its first line. Without this it is asked for on the terminal.
        /// (A password among the arguments could be seen by everyone on this machine.)
        #[arg(long)]
        password_stdin: bool,
    },
    /// Let somebody into a tenant; who has no account yet gets a link to choose a password.
    Invite {
        email: String,
        #[arg(long)]
        role: MemberRole,
        /// The tenant's slug.
        #[arg(long, value_name = "SLUG")]
        tenant: String,
    },
    /// Make a link with which somebody chooses a new password. It works once, for three days.
    ResetPassword { email: String },
    /// Sign somebody out everywhere and let them in no more.
    Disable { email: String },
    /// Let somebody in again who was disabled.
    Enable { email: String },
    /// Everybody with an account.
    List,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MemberRole {
    /// Everything in the tenant.
    Admin,
    /// Looks, with secrets masked.
    Viewer,
}

impl User {
    pub async fn run(self, config: Config, out: Out) -> Result<(), Problem> {
        let scope = terminal();
        let engine = store::engine(&config).await?;
        match self {
            Self::Add { email, role, tenant, password_stdin } => {
                let membership = membership(&engine, &scope, role, tenant.as_deref()).await?;
                let chosen = if password_stdin { first_line()? } else { typed_twice()? };
                let password_hash = password::hash(&chosen).await?;
                let super_admin = role == UserRole::SuperAdmin;
                let user = engine.create_user(&scope, &email, password_hash, super_admin, membership).await?;
                out.say(&format!("{} may sign in now.", user.email), &json!(user));
            }
            Self::Invite { email, role, tenant } => {
                let role = if role == MemberRole::Admin { Role::Admin } else { Role::Viewer };
                let tenant = engine.tenant(&scope, &tenant).await?;
                let (link, path) = new_secrets::link(&engine)?;
                let joined = engine.add_member(&scope, tenant.id, &email, role, link).await?;
                say_link(out, &joined.user, joined.needs_link.then_some(path));
            }
            Self::ResetPassword { email } => {
                let (link, path) = new_secrets::link(&engine)?;
                let user = engine.offer_password_link(&scope, account(&engine, &scope, &email).await?, link);
                say_link(out, &user.await?, Some(path));
            }
            Self::Disable { email } => {
                engine.set_disabled(&scope, account(&engine, &scope, &email).await?, true).await?;
                out.say(&format!("{email} is signed out and cannot sign in."), &json!({"disabled": true}));
            }
            Self::Enable { email } => {
                engine.set_disabled(&scope, account(&engine, &scope, &email).await?, false).await?;
                out.say(&format!("{email} may sign in again."), &json!({"disabled": false}));
            }
            Self::List => {
                let accounts = engine.accounts(&scope).await?;
                out.say(&accounts_in_words(&accounts, Style::of_stdout()), &json!(accounts));
            }
        }
        Ok(())
    }
}

/// The path only: which address this server is reached under, its people know.
fn say_link(out: Out, user: &leasehold_types::view::User, path: Option<String>) {
    let text = match &path {
        Some(path) => format!("{} chooses a password at this server's {path}", user.email),
        None => format!("{} has a password and may come in at once.", user.email),
    };
    out.say(&text, &json!({"user": user, "path": path}));
}

async fn account(engine: &Engine, scope: &Scope, email: &str) -> Result<UserId, Problem> {
    let email = normalise_email(email)?;
    let found = engine.accounts(scope).await?.into_iter().find(|account| account.user.email == email);
    found.map(|account| account.user.id).ok_or_else(|| Problem::not_found("This user"))
}

fn accounts_in_words(accounts: &[Account], style: Style) -> String {
    let mut table = Table::new(["E-mail", "State", "Role", "Tenants"]);
    for account in accounts {
        let state = match (account.disabled_at, account.invited) {
            (Some(at), _) => format!("disabled {}", style.ago(at)),
            (None, true) => "invited".to_owned(),
            (None, false) => "active".to_owned(),
        };
        let role = if account.user.super_admin { "super-admin" } else { "" };
        table.row([
            (&account.user.email).into(),
            state.into(),
            role.into(),
            account.tenants.join(", ").into(),
        ]);
    }
    table.text(style.paint, "Nobody has an account yet.")
}

async fn membership(
    engine: &Engine,
    scope: &Scope,
    role: UserRole,
    tenant: Option<&str>,
) -> Result<Option<(TenantId, Role)>, Problem> {
    let role = match role {
        UserRole::SuperAdmin if tenant.is_some() => {
            return Err(Problem::invalid("tenant", "A super-admin is in every tenant; leave --tenant out."));
        }
        UserRole::SuperAdmin => return Ok(None),
        UserRole::Admin => Role::Admin,
        UserRole::Viewer => Role::Viewer,
    };
    let tenant = engine.tenant(scope, tenant.unwrap_or_default()).await?;
    Ok(Some((tenant.id, role)))
}

/// Not shown while it is typed.
fn typed_twice() -> Result<String, Problem> {
    let ask = |what: &str| {
        rpassword::prompt_password(what).map_err(|_| {
            let message = "There is no terminal to ask for the password on; use --password-stdin.";
            Problem::invalid("password", message)
        })
    };
    let chosen = ask("Password: ")?;
    password::check(&chosen)?;
    if ask("The same again: ")? != chosen {
        return Err(Problem::invalid("password", "The two are not the same. Nothing was changed."));
    }
    Ok(chosen)
}

fn first_line() -> Result<String, Problem> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(|error| failed("read the password", error))?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
