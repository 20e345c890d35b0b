//! `leasehold tenant add` and `leasehold user add`.

use super::{Out, failed};
use crate::{auth::password, config::Config, store};
use clap::{Subcommand, ValueEnum};
use leasehold_queue::{Engine, Scope};
use leasehold_types::{Problem, Role, TenantId};
use serde_json::json;
use std::io::BufRead;

#[derive(Subcommand)]
pub enum Tenant {
    /// Make a tenant.
    Add {
        name: String,
        /// Its part of web addresses; made from the name when left out.
        #[arg(long)]
        slug: Option<String>,
    },
}

impl Tenant {
    pub async fn run(self, config: Config, out: Out) -> Result<(), Problem> {
        let Self::Add { name, slug } = self;
        let engine = store::engine(&config).await?;
        let tenant = engine.create_tenant(&Scope::system("cli"), &name, slug.as_deref()).await?;
        out.say(&format!("Tenant “{}” is there, as {}.", tenant.name, tenant.slug), &json!(tenant));
        Ok(())
    }
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
        /// Read the password from standard input: its first line. (A password among the arguments could be
        /// seen by everyone on this machine.)
        #[arg(long, required = true)]
        password_stdin: bool,
    },
}

impl User {
    pub async fn run(self, config: Config, out: Out) -> Result<(), Problem> {
        let Self::Add { email, role, tenant, password_stdin: _ } = self;
        let scope = Scope::system("cli");
        let engine = store::engine(&config).await?;
        let membership = membership(&engine, &scope, role, tenant.as_deref()).await?;
        let password_hash = password::hash(&first_line()?).await?;
        let super_admin = role == UserRole::SuperAdmin;
        let user = engine.create_user(&scope, &email, password_hash, super_admin, membership).await?;
        out.say(&format!("{} may sign in now.", user.email), &json!(user));
        Ok(())
    }
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

fn first_line() -> Result<String, Problem> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(|error| failed("read the password", error))?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
