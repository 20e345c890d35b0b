//! The installation's quotas (`JOBS_QUOTA_*`): the most specific one that is set decides, and it also says
//! what is counted.
//!
//! Precedence: domain and user, then user, then domain, then global. A value found for a user counts that
//! user's jobs, a value found for a domain counts that domain's, and so on; the first value found decides even
//! when a later one is smaller. An owner is whatever a caller says, so a user's jobs are counted within each tenant.
//! Jobs without an owner have no user, so only domain and global apply to them.
//! Names are built from what is asked about and looked up; they are never taken apart, because `USER_1` might
//! as well be a domain. 0 means "no limit".

use std::collections::{BTreeMap, BTreeSet};

/// What a quota limits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Quota {
    /// `JOBS_QUOTA_MAX_QUEUED`
    Queued,
    /// `JOBS_QUOTA_SUBMITS_PER_MIN`
    SubmitsPerMinute,
    /// `JOBS_QUOTA_MAX_INFLIGHT`
    InFlight,
}

impl Quota {
    pub const ALL: [Self; 3] = [Self::Queued, Self::SubmitsPerMinute, Self::InFlight];

    pub const fn setting(self) -> &'static str {
        match self {
            Self::Queued => "JOBS_QUOTA_MAX_QUEUED",
            Self::SubmitsPerMinute => "JOBS_QUOTA_SUBMITS_PER_MIN",
            Self::InFlight => "JOBS_QUOTA_MAX_INFLIGHT",
        }
    }
}

/// A quota that applies, and whose jobs it counts: of that domain, of that owner, of both, or all.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ceiling {
    pub max: i64,
    pub domain: Option<String>,
    pub owner: Option<String>,
}

/// All `JOBS_QUOTA_*` settings, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Quotas(BTreeMap<String, i64>);

impl Quotas {
    /// Names that do not begin like a quota's are left out.
    pub fn new(settings: impl IntoIterator<Item = (String, i64)>) -> Self {
        let known = |name: &str| Quota::ALL.iter().any(|q| name.starts_with(q.setting()));
        Self(settings.into_iter().filter(|(name, _)| known(name)).collect())
    }

    /// Whether any quota of this kind is set.
    pub fn limits(&self, quota: Quota) -> bool {
        let (name, begin) = (quota.setting(), format!("{}_", quota.setting()));
        self.0.iter().any(|(n, max)| *max > 0 && (n == name || n.starts_with(&begin)))
    }

    pub fn ceiling(&self, quota: Quota, domain: &str, owner: Option<&str>) -> Option<Ceiling> {
        let base = quota.setting();
        let in_domain = upper(domain);
        let of_user = owner.map(upper);
        let rungs = [
            of_user.as_ref().map(|u| (format!("{base}_{in_domain}_USER_{u}"), true, true)),
            of_user.as_ref().map(|u| (format!("{base}_USER_{u}"), false, true)),
            Some((format!("{base}_{in_domain}"), true, false)),
            Some((base.to_owned(), false, false)),
        ];
        let (max, by_domain, by_owner) = rungs
            .into_iter()
            .flatten()
            .find_map(|(name, by_domain, by_owner)| Some((*self.0.get(&name)?, by_domain, by_owner)))?;
        (max > 0).then(|| Ceiling {
            max,
            domain: by_domain.then(|| domain.to_owned()),
            owner: owner.filter(|_| by_owner).map(str::to_owned),
        })
    }

    /// Patterns for a case-insensitive LIKE that match every owner for whom a quota of this kind is set, in any
    /// domain and also when it is 0. They may match more: where a name's user begins is not known for certain.
    pub fn user_patterns(&self, quota: Quota) -> Vec<String> {
        let begins = |name: &str| {
            let places: Vec<_> =
                name.char_indices().filter(|(i, _)| name[*i..].starts_with("_USER_")).collect();
            places.into_iter().map(|(i, _)| name[i + "_USER_".len()..].to_owned()).collect::<Vec<_>>()
        };
        let names = self.0.keys().filter_map(|name| name.strip_prefix(quota.setting()));
        names.flat_map(begins).collect()
    }
}

/// As it stands in a setting's name: upper case, everything but letters and digits an underscore.
pub fn upper(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}

/// Names that become the same in settings, so that a quota or list for one is one for all of them.
pub fn collisions<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<BTreeSet<&'a str>> {
    let mut same: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for name in names {
        same.entry(upper(name)).or_default().insert(name);
    }
    same.into_values().filter(|names| names.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quotas(settings: &[(&str, i64)]) -> Quotas {
        Quotas::new(settings.iter().map(|(n, v)| ((*n).to_owned(), *v)))
    }

    fn found(q: &Quotas, domain: &str, owner: Option<&str>) -> Option<(i64, bool, bool)> {
        let c = q.ceiling(Quota::Queued, domain, owner)?;
        Some((c.max, c.domain.is_some(), c.owner.is_some()))
    }

    #[test]
    fn the_most_specific_value_decides_even_when_it_is_larger() {
        let all = quotas(&[
            ("JOBS_QUOTA_MAX_QUEUED", 1),
            ("JOBS_QUOTA_MAX_QUEUED_DECKS", 2),
            ("JOBS_QUOTA_MAX_QUEUED_USER_U_1", 3),
            ("JOBS_QUOTA_MAX_QUEUED_DECKS_USER_U_1", 4),
        ]);
        assert_eq!(found(&all, "decks", Some("u-1")), Some((4, true, true)));
        assert_eq!(found(&all, "books", Some("u-1")), Some((3, false, true)));
        assert_eq!(found(&all, "decks", None), Some((2, true, false)));
        assert_eq!(found(&all, "books", Some("u-2")), Some((1, false, false)));
    }

    #[test]
    fn zero_lifts_a_limit_and_ends_the_search() {
        let lifted = quotas(&[("JOBS_QUOTA_MAX_QUEUED", 1), ("JOBS_QUOTA_MAX_QUEUED_DECKS", 0)]);
        assert_eq!(found(&lifted, "decks", None), None);
        assert_eq!(found(&lifted, "books", None), Some((1, false, false)));
    }

    #[test]
    fn names_that_cannot_be_told_apart_in_settings_are_found() {
        let found = collisions(["prompt-studio", "decks", "prompt_studio", "decks"]);
        assert_eq!(found, [BTreeSet::from(["prompt-studio", "prompt_studio"])]);
    }

    #[test]
    fn patterns_let_every_user_with_a_quota_through() {
        let q = quotas(&[
            ("JOBS_QUOTA_MAX_INFLIGHT", 1),
            ("JOBS_QUOTA_MAX_INFLIGHT_USER_U_1", 2),
            ("JOBS_QUOTA_MAX_INFLIGHT_USER_USER_7", 0),
            ("JOBS_QUOTA_MAX_QUEUED_USER_OTHER", 3),
        ]);
        let mut patterns = q.user_patterns(Quota::InFlight);
        patterns.sort();
        assert_eq!(patterns, ["7", "USER_7", "U_1"], "“USER” may be a domain, or the beginning of a user");
    }

    #[test]
    fn only_the_kind_that_is_set_limits() {
        let q = quotas(&[("JOBS_QUOTA_MAX_INFLIGHT_DECKS", 2), ("JOBS_ADDR", 3)]);
        assert!(q.limits(Quota::InFlight));
        assert!(!q.limits(Quota::Queued) && !q.limits(Quota::SubmitsPerMinute));
    }
}
