//! Tenants, users and the first-run setup. Passwords arrive here already hashed.

use super::{Engine, accounts::administers};
use crate::{
    params::{NewTenant, NewUser, TenantChange},
    rules::members::local_part,
    scope::{Permission, Scope},
    secrets::SecretPolicy,
    triggers::schedule::zone_name,
};
use leasehold_types::{
    Problem, ProblemCode, Role, TenantId,
    view::{Tenant, User},
};

/// What the setup page asks for.
#[derive(Clone, Debug)]
pub struct SetupRequest {
    pub token_hash: String,
    pub email: String,
    pub name: String,
    pub password_hash: String,
    pub tenant_name: String,
    /// From where it was asked.
    pub origin: Option<String>,
}

impl Engine {
    pub async fn create_tenant(
        &self,
        scope: &Scope,
        name: &str,
        slug: Option<&str>,
        timezone: Option<&str>,
    ) -> Result<Tenant, Problem> {
        scope.require(Permission::Govern)?;
        let tenant = new_tenant(name, slug, timezone)?;
        Ok(self.store.create_tenant(scope, tenant).await?)
    }

    /// Its admins may: name and time zone are theirs.
    pub async fn update_tenant(
        &self,
        scope: &Scope,
        tenant: TenantId,
        change: TenantChange,
    ) -> Result<Tenant, Problem> {
        administers(scope)?;
        let change = TenantChange {
            name: change.name.map(|name| text("name", &name)).transpose()?,
            timezone: change.timezone.map(|zone| zone_name(zone.trim())).transpose()?,
        };
        Ok(self.store.update_tenant(scope, tenant, change).await?)
    }

    pub async fn create_user(
        &self,
        scope: &Scope,
        email: &str,
        password_hash: String,
        super_admin: bool,
        membership: Option<(TenantId, Role)>,
    ) -> Result<User, Problem> {
        scope.require(Permission::Govern)?;
        let email = normalise_email(email)?;
        let name = local_part(&email).to_owned();
        let user = NewUser { email, name, password_hash, super_admin, membership };
        Ok(self.store.create_user(scope, user).await?)
    }

    /// The first super-admin and the first tenant, by the one-time link.
    pub async fn set_up(&self, request: SetupRequest) -> Result<(User, Option<Tenant>), Problem> {
        let user = NewUser {
            email: normalise_email(&request.email)?,
            name: text("name", &request.name)?,
            password_hash: request.password_hash,
            super_admin: true,
            membership: None,
        };
        let tenant = new_tenant(&request.tenant_name, None, None)
            .map_err(|p| Problem::invalid("tenant_name", p.detail))?;
        Ok(self.store.create_first_admin(&request.token_hash, user, Some(tenant), request.origin).await?)
    }

    pub async fn tenant(&self, scope: &Scope, slug: &str) -> Result<Tenant, Problem> {
        let found = self.store.tenant_by_slug(scope, slug).await?;
        found.ok_or_else(|| Problem::not_found("This tenant"))
    }
}

/// Lower-cased and trimmed; only grossly wrong addresses are refused, mail servers know better.
pub fn normalise_email(email: &str) -> Result<String, Problem> {
    let email = email.trim().to_lowercase();
    let plausible = email
        .split_once('@')
        .is_some_and(|(user, host)| !user.is_empty() && !host.is_empty() && !host.contains('@'));
    if !plausible || email.len() > 254 || email.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(Problem::invalid("email", "This does not look like an e-mail address."));
    }
    Ok(email)
}

fn new_tenant(name: &str, slug: Option<&str>, timezone: Option<&str>) -> Result<NewTenant, Problem> {
    let name = text("name", name)?;
    let slug = slug.map_or_else(|| slugify(&name), str::to_owned);
    let well_formed = !slug.is_empty()
        && slug.len() <= 63
        && !slug.starts_with('-')
        && slug.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !well_formed {
        let message = "The name needs a letter or digit from a to z or 0 to 9, for its address.";
        return Err(Problem::invalid("name", message));
    }
    let timezone = zone_name(timezone.map_or("UTC", str::trim))?;
    Ok(NewTenant { slug, name, timezone })
}

fn slugify(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        match c {
            'a'..='z' | '0'..='9' => slug.push(c),
            _ if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
    }
    slug.truncate(63);
    slug.trim_end_matches('-').to_owned()
}

/// One line of plain text.
pub fn text(field: &str, value: &str) -> Result<String, Problem> {
    let value = value.trim();
    if value.is_empty() {
        return Err(Problem::invalid(field, "Please fill this in."));
    }
    if value.chars().count() > 100 || value.chars().any(char::is_control) {
        return Err(Problem::new(ProblemCode::InvalidInput, "Please keep it under 100 plain characters.")
            .with_field(field, "Please keep it under 100 plain characters."));
    }
    SecretPolicy::default().name(field, value)?;
    Ok(value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_addresses() {
        assert_eq!(slugify("Acme Photos, Inc."), "acme-photos-inc");
        assert_eq!(slugify("  Über 9000 "), "ber-9000");
        assert!(new_tenant("日本", None, None).is_err());
        assert!(new_tenant("x", Some("Not Good"), None).is_err());
        assert!(new_tenant("x", None, Some("Mars/Olympus")).is_err());
        assert_eq!(new_tenant("x", None, Some(" europe/berlin")).unwrap().timezone, "Europe/Berlin");
    }

    #[test]
    fn e_mail_addresses_are_compared_in_lower_case() {
        assert_eq!(normalise_email(" Ann@Example.ORG ").unwrap(), "ann@example.org");
        for wrong in ["", "ann", "@x", "a@", "a b@c", "a@b@c"] {
            assert!(normalise_email(wrong).is_err(), "{wrong}");
        }
    }
}
