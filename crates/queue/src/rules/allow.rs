//! Names that are allowed everywhere, and more of them in single domains: `JOBS_ALLOWED_QUEUES` and
//! `JOBS_ALLOWED_QUEUES_<DOMAIN>` unite. Like quotas, a domain's list is found by building its name.

use crate::quota::upper;
use std::collections::BTreeMap;

/// One family of lists, by what follows the family's name: nothing, or a domain in upper case.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AllowList(BTreeMap<String, Vec<String>>);

impl AllowList {
    /// `("", names)` is the list for all domains, `("DECKS", names)` that of the domain `decks`.
    pub fn new(lists: impl IntoIterator<Item = (String, Vec<String>)>) -> Self {
        Self(lists.into_iter().filter(|(_, names)| !names.is_empty()).collect())
    }

    /// One list for all domains.
    pub fn everywhere(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::new([(String::new(), names.into_iter().map(Into::into).collect())])
    }

    /// Whether there is any list that speaks of this domain.
    pub fn is_set(&self, domain: &str) -> bool {
        self.of(domain).next().is_some()
    }

    pub fn names(&self, domain: &str, name: &str) -> bool {
        self.of(domain).any(|known| known == name)
    }

    fn of(&self, domain: &str) -> impl Iterator<Item = &String> {
        let own = self.0.get(&upper(domain)).filter(|_| !domain.is_empty());
        self.0.get("").into_iter().chain(own).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_of_everywhere_and_of_the_domain_unite() {
        let list = AllowList::new([
            (String::new(), vec!["bulk".into()]),
            ("PROMPT_STUDIO".into(), vec!["gpu".into()]),
        ]);
        assert!(list.names("decks", "bulk") && list.names("prompt-studio", "bulk"));
        assert!(list.names("prompt-studio", "gpu") && !list.names("decks", "gpu"));
    }

    #[test]
    fn an_empty_list_is_none() {
        let list = AllowList::new([(String::new(), vec![]), ("DECKS".into(), vec!["convert".into()])]);
        assert!(list.is_set("decks") && !list.is_set("books"));
    }
}
