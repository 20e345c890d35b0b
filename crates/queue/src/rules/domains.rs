//! Keeping people and keys to some domains, inside what their tenant lets them reach.
//!
//! Off unless `JOBS_DOMAIN_SCOPED_RBAC` is on. Then whoever has no list (`JOBS_DOMAIN_ALLOWLIST_<ID>`, by the user's
//! id or the key's prefix) sees no domain at all. Who governs the whole installation is exempt unless
//! `JOBS_RBAC_FORCE` is on. A key that can only work is confined when it has a list, and to what it can run when it
//! has none: switching the setting on must not stop an installation's workers. A job that reads files of other jobs
//! finds only those of its own domain. The list is put into the [`Scope`] at the door; the engine and the stores look
//! only there.

use crate::{
    quota::upper,
    scope::{Actor, Permission, Scope},
};
use leasehold_types::{JobFilter, Problem, ProblemCode};
use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

/// What the installation says about domains.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DomainPolicy {
    /// `JOBS_DOMAIN_SCOPED_RBAC`
    pub scoped: bool,
    /// `JOBS_REQUIRE_DOMAIN_FILTER`: programs must name the domain they mean.
    pub filter_required: bool,
    /// `JOBS_RBAC_FORCE`: also for those who govern.
    pub forced: bool,
    /// `JOBS_DOMAIN_ALLOWLIST_<ID>`, by the id in upper case.
    pub lists: BTreeMap<String, Vec<String>>,
}

/// The domains one actor is confined to; none at all when the list is empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DomainReach {
    pub allowed: Vec<String>,
    pub filter_required: bool,
}

impl DomainPolicy {
    /// The same scope, kept to its actor's domains.
    #[must_use]
    pub fn confine(&self, scope: Scope) -> Scope {
        let governs = scope.permission == Permission::Govern && !self.forced;
        let id = match &scope.actor {
            Actor::User { id, .. } => id.to_string(),
            Actor::Key { prefix, .. } => prefix.clone(),
            Actor::Terminal(_) | Actor::System(_) => return scope,
        };
        let list = self.lists.get(&upper(&id));
        let works_anywhere = scope.permission == Permission::Work && list.is_none();
        if !self.scoped || governs || works_anywhere {
            return scope;
        }
        // A page shows what there is; only a program can be told to name its domain.
        let filter_required = self.filter_required && matches!(scope.actor, Actor::Key { .. });
        let allowed = list.cloned().unwrap_or_default();
        Scope { domains: Some(Arc::new(DomainReach { allowed, filter_required })), ..scope }
    }

    /// The scope in which a job looks things up. What its payload names was chosen by somebody who may be kept to its
    /// domain, at once or by a trigger much later: so the job is kept to it, too.
    #[must_use]
    pub fn confine_job(&self, scope: Scope, domain: &str) -> Scope {
        if !self.scoped {
            return scope;
        }
        let allowed = vec![domain.to_owned()];
        Scope { domains: Some(Arc::new(DomainReach { allowed, filter_required: false })), ..scope }
    }
}

impl Scope {
    pub fn sees_domain(&self, domain: &str) -> bool {
        self.domains.as_ref().is_none_or(|reach| reach.allowed.iter().any(|own| own == domain))
    }

    pub fn check_domain(&self, domain: &str) -> Result<(), Problem> {
        if self.sees_domain(domain) {
            return Ok(());
        }
        let detail = format!("The domain “{domain}” is not on your list of domains. Nothing was changed.");
        Err(Problem::new(ProblemCode::Forbidden, detail))
    }

    /// Somebody without a single domain is told so, instead of finding nothing for ever.
    pub fn check_any_domain(&self) -> Result<(), Problem> {
        if self.domains.as_ref().is_none_or(|reach| !reach.allowed.is_empty()) {
            return Ok(());
        }
        let detail = "No domains are listed for you here. Nothing was changed; ask whoever runs this \
                      installation for a JOBS_DOMAIN_ALLOWLIST entry.";
        Err(Problem::new(ProblemCode::Forbidden, detail))
    }

    /// The domains a request means that asked for this one, or for none; nothing means "any domain".
    pub fn choose_domains(&self, asked: Option<&str>) -> Result<Option<Vec<String>>, Problem> {
        let Some(reach) = &self.domains else { return Ok(asked.map(|domain| vec![domain.to_owned()])) };
        if let Some(domain) = asked {
            self.check_domain(domain)?;
            return Ok(Some(vec![domain.to_owned()]));
        }
        self.check_any_domain()?;
        if reach.filter_required {
            let detail = "Please say which domain you mean (`domain`); it may not be left out here.";
            return Err(Problem::new(ProblemCode::DomainRequired, detail).with_field("domain", detail));
        }
        Ok(Some(reach.allowed.clone()))
    }

    /// The filter, kept to this scope's domains.
    pub fn narrowed<'a>(&self, filter: &'a JobFilter) -> Result<Cow<'a, JobFilter>, Problem> {
        if self.domains.is_none() {
            return Ok(Cow::Borrowed(filter));
        }
        let domains = self.choose_domains(filter.domain.as_deref())?.unwrap_or_default();
        Ok(Cow::Owned(JobFilter { domains, ..filter.clone() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Reach;
    use leasehold_types::KeyId;
    use uuid::Uuid;

    fn key(permission: Permission) -> Scope {
        let actor = Actor::Key { id: KeyId(Uuid::nil()), name: "ci".into(), prefix: "ab12".into() };
        Scope::new(Reach::All, actor, permission)
    }

    fn policy(list: &[&str]) -> DomainPolicy {
        let list: Vec<_> = list.iter().map(|domain| (*domain).to_owned()).collect();
        DomainPolicy { scoped: true, lists: [("AB12".to_owned(), list)].into(), ..DomainPolicy::default() }
    }

    #[test]
    fn without_the_switch_nobody_is_confined() {
        let scope = DomainPolicy::default().confine(key(Permission::Operate));
        assert_eq!(scope.domains, None);
        assert_eq!(scope.choose_domains(None).unwrap(), None);
    }

    #[test]
    fn a_list_confines_and_no_list_denies() {
        let scope = policy(&["decks", "books"]).confine(key(Permission::Operate));
        assert!(scope.sees_domain("decks") && !scope.sees_domain("media"));
        assert_eq!(scope.choose_domains(None).unwrap().unwrap(), ["decks", "books"]);
        assert_eq!(scope.choose_domains(Some("books")).unwrap().unwrap(), ["books"]);
        assert_eq!(scope.choose_domains(Some("media")).unwrap_err().code, ProblemCode::Forbidden);
        let nobody = DomainPolicy { lists: BTreeMap::new(), ..policy(&[]) }.confine(key(Permission::View));
        assert_eq!(nobody.choose_domains(None).unwrap_err().code, ProblemCode::Forbidden);
    }

    #[test]
    fn a_domain_may_have_to_be_named() {
        let policy = DomainPolicy { filter_required: true, ..policy(&["decks"]) };
        let scope = policy.confine(key(Permission::View));
        assert_eq!(scope.choose_domains(None).unwrap_err().code, ProblemCode::DomainRequired);
        assert!(scope.choose_domains(Some("decks")).is_ok());
    }

    #[test]
    fn who_governs_is_exempt_unless_it_is_forced() {
        assert_eq!(policy(&["decks"]).confine(key(Permission::Govern)).domains, None);
        let forced = DomainPolicy { forced: true, ..policy(&["decks"]) };
        assert!(forced.confine(key(Permission::Govern)).domains.is_some());
    }

    #[test]
    fn a_worker_is_confined_by_a_list_and_not_by_its_absence() {
        let scope = policy(&["decks"]).confine(key(Permission::Work));
        assert!(scope.sees_domain("decks") && !scope.sees_domain("media"));
        let nobody = DomainPolicy { lists: BTreeMap::new(), ..policy(&[]) };
        assert_eq!(nobody.confine(key(Permission::Work)).domains, None);
    }

    #[test]
    fn a_filter_is_kept_to_the_list() {
        let scope = policy(&["decks"]).confine(key(Permission::View));
        assert_eq!(scope.narrowed(&JobFilter::default()).unwrap().domains, ["decks"]);
        let foreign = JobFilter { domain: Some("media".into()), ..JobFilter::default() };
        assert!(scope.narrowed(&foreign).is_err());
    }
}
