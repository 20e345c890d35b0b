//! Which kinds of job, in which queues, a worker takes: what it can run, narrowed to what it was told to serve.

use super::PoolConfig;
use std::collections::BTreeSet;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Served {
    /// `(domain, job type)`
    pub kinds: Vec<(String, String)>,
    /// `(domain, queue)`; empty = all.
    pub queues: Vec<(String, String)>,
}

impl Served {
    /// None: nothing at all. An empty selector would mean "anything".
    pub fn of(kinds: Vec<(String, String)>, config: &PoolConfig) -> Option<Self> {
        let is_wanted =
            |domain: &str| config.domains.is_empty() || config.domains.iter().any(|d| d == domain);
        let kinds: Vec<_> = kinds.into_iter().filter(|(domain, _)| is_wanted(domain)).collect();
        let domains: BTreeSet<&str> = kinds.iter().map(|(domain, _)| domain.as_str()).collect();
        let mut queues = BTreeSet::new();
        for name in &config.queues {
            let (only, queue) = match name.split_once('/') {
                Some((domain, queue)) => (Some(domain), queue),
                None => (None, name.as_str()),
            };
            let meant = domains.iter().filter(|domain| only.is_none_or(|only| only == **domain));
            queues.extend(meant.map(|domain| ((*domain).to_owned(), queue.to_owned())));
        }
        let nothing = kinds.is_empty() || (queues.is_empty() && !config.queues.is_empty());
        (!nothing).then(|| Self { queues: queues.into_iter().collect(), kinds })
    }

    /// As the page of workers shows it.
    pub fn names(&self) -> Vec<String> {
        let names: BTreeSet<String> = if self.queues.is_empty() {
            self.kinds.iter().map(|(domain, _)| format!("{domain}/*")).collect()
        } else {
            self.queues.iter().map(|(domain, queue)| format!("{domain}/{queue}")).collect()
        };
        names.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(queues: &[&str], domains: &[&str]) -> Option<Vec<String>> {
        let text = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let config = PoolConfig { queues: text(queues), domains: text(domains), ..PoolConfig::default() };
        let kinds = [("commands", "import"), ("commands", "export"), ("decks", "convert")];
        let kinds = kinds.map(|(domain, job_type)| (domain.to_owned(), job_type.to_owned())).to_vec();
        Served::of(kinds, &config).map(|served| served.names())
    }

    #[test]
    fn it_is_what_can_be_run_and_was_asked_for() {
        assert_eq!(served(&[], &[]).unwrap(), ["commands/*", "decks/*"]);
        assert_eq!(served(&[], &["decks"]).unwrap(), ["decks/*"]);
        assert_eq!(served(&["high"], &[]).unwrap(), ["commands/high", "decks/high"]);
        assert_eq!(served(&["high", "low"], &["decks"]).unwrap(), ["decks/high", "decks/low"]);
        assert_eq!(served(&["decks/high", "commands/low"], &[]).unwrap(), ["commands/low", "decks/high"]);
    }

    #[test]
    fn nothing_is_never_mistaken_for_everything() {
        assert_eq!(served(&[], &["other"]), None);
        assert_eq!(served(&["other/high"], &[]), None);
        assert_eq!(served(&["commands/high"], &["decks"]), None);
        assert_eq!(Served::of(Vec::new(), &PoolConfig::default()), None);
    }
}
