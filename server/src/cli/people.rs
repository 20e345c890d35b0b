//! `leasehold user …`.

use super::{Out, failed, terminal};
use crate::{
    auth::{new_secrets, password},
    config::Config,
    store,
};
use clap::{Subcommand, ValueEnum};
use leasehold_queue::{Engine, Scope, engine::normalise_email, passwords};
use leasehold_types::{Problem, Role, UserId, people::Account, view};
use serde_json::json;
use std::io::BufRead;

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
    /// Make a link by which somebody joins a tenant; who has no account yet chooses a password there.
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
        let links = Links(config.public_url);
        match self {
            Self::Add { email, role, tenant, password_stdin } => {
                let membership = membership(&engine, &scope, role, tenant.as_deref()).await?;
                let about =
                    [Some(email.as_str()), membership.as_ref().map(|(tenant, _)| tenant.name.as_str())];
                let about: Vec<_> = about.into_iter().flatten().collect();
                let chosen = if password_stdin { first_line()? } else { typed_twice(&about)? };
                let password_hash = password::hash(&chosen, &about).await?;
                let membership = membership.map(|(tenant, role)| (tenant.id, role));
                let super_admin = role == UserRole::SuperAdmin;
                let user = engine.create_user(&scope, &email, password_hash, super_admin, membership).await?;
                out.say(&format!("{} may sign in now.", user.email), &json!(user));
            }
            Self::Invite { email, role, tenant } => {
                let role = if role == MemberRole::Admin { Role::Admin } else { Role::Viewer };
                let tenant = engine.tenant(&scope, &tenant).await?;
                let (link, path) = new_secrets::link(&engine)?;
                let invited = engine.invite(&scope, tenant.id, &email, role, link).await?;
                let how = match &invited.account {
                    Some(made) => format!(
                        "They have an account, made by {} at {}: make sure that it is theirs.",
                        made.by.as_deref().unwrap_or("somebody"),
                        made.at
                    ),
                    None => "They choose a password there.".to_owned(),
                };
                let text =
                    format!("{} joins {} at {}\n{how}", invited.user.email, tenant.name, links.to(&path));
                let json = json!({"user": invited.user, "account": invited.account, "path": path, "url": links.url(&path)});
                out.say(&text, &json);
            }
            Self::ResetPassword { email } => {
                let (link, path) = new_secrets::link(&engine)?;
                let user = engine.offer_password_link(&scope, account(&engine, &scope, &email).await?, link);
                let user = user.await?;
                let text = format!("{} chooses a password at {}", user.email, links.to(&path));
                out.say(&text, &json!({"user": user, "path": path, "url": links.url(&path)}));
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
                let lines: Vec<_> = accounts.iter().map(account_in_words).collect();
                out.say(&lines.join("\n"), &json!(accounts));
            }
        }
        Ok(())
    }
}

/// Links as people can open them, if the installation says under which address.
struct Links(Option<url::Url>);

impl Links {
    fn url(&self, path: &str) -> Option<String> {
        Some(format!("{}{path}", self.0.as_ref()?.as_str().trim_end_matches('/')))
    }

    fn to(&self, path: &str) -> String {
        self.url(path).unwrap_or_else(|| format!("this server's {path} (JOBS_PUBLIC_URL says its address)"))
    }
}

async fn account(engine: &Engine, scope: &Scope, email: &str) -> Result<UserId, Problem> {
    let email = normalise_email(email)?;
    let found = engine.accounts(scope).await?.into_iter().find(|account| account.user.email == email);
    found.map(|account| account.user.id).ok_or_else(|| Problem::not_found("This user"))
}

fn account_in_words(account: &Account) -> String {
    let state = match (account.disabled_at, account.invited) {
        (Some(at), _) => format!("disabled {at}"),
        (None, true) => "invited".to_owned(),
        (None, false) => "active".to_owned(),
    };
    let role = if account.user.super_admin { "super-admin" } else { "" };
    format!("{}  {state}  {role}  {}", account.user.email, account.tenants.join(","))
}

async fn membership(
    engine: &Engine,
    scope: &Scope,
    role: UserRole,
    tenant: Option<&str>,
) -> Result<Option<(view::Tenant, Role)>, Problem> {
    let role = match role {
        UserRole::SuperAdmin if tenant.is_some() => {
            return Err(Problem::invalid("tenant", "A super-admin is in every tenant; leave --tenant out."));
        }
        UserRole::SuperAdmin => return Ok(None),
        UserRole::Admin => Role::Admin,
        UserRole::Viewer => Role::Viewer,
    };
    let tenant = engine.tenant(scope, tenant.unwrap_or_default()).await?;
    Ok(Some((tenant, role)))
}

/// Not shown while it is typed.
fn typed_twice(about: &[&str]) -> Result<String, Problem> {
    let ask = |what: &str| {
        rpassword::prompt_password(what).map_err(|_| {
            let message = "There is no terminal to ask for the password on; use --password-stdin.";
            Problem::invalid("password", message)
        })
    };
    let chosen = ask("Password: ")?;
    passwords::check(&chosen, about.iter().copied())?;
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
