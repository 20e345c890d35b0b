//! Whether the calls a job waits with can be made by anybody who is there.

use super::assign::Wish;
use crate::params::PROVIDERS;
use leasehold_types::unit::UnitKind;
use serde_json::Value;

/// A live worker that could run the job: the providers it knows, or none when it does not say.
pub type Offer = Option<Vec<String>>;

/// From what the worker says about itself.
pub fn offer_of(metadata: &Value) -> Offer {
    let names = metadata[PROVIDERS].as_array()?;
    Some(names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect())
}

/// The wishes that no such worker can fulfil, in words. Without any worker there is nothing to say: that nobody runs
/// the job is another finding.
pub fn out_of_reach(wishes: &[Wish], known: &[(String, UnitKind)], workers: &[Offer]) -> Vec<String> {
    if workers.is_empty() {
        return Vec::new();
    }
    let within_reach = |wish: &Wish| {
        let fits = |(name, kind): &&(String, UnitKind)| {
            *kind == wish.kind && (wish.provider.is_empty() || *name == wish.provider)
        };
        let called = |name: &String| workers.iter().any(|worker| knows(worker, name));
        known.iter().filter(fits).any(|(name, _)| called(name))
    };
    let mut missing: Vec<String> = wishes.iter().filter(|wish| !within_reach(wish)).map(in_words).collect();
    missing.sort();
    missing.dedup();
    missing
}

fn knows(worker: &Offer, provider: &String) -> bool {
    worker.as_ref().is_none_or(|names| names.contains(provider))
}

fn in_words(wish: &Wish) -> String {
    match wish.provider.as_str() {
        "" => format!("any provider of type {}", wish.kind),
        name => format!("the provider “{name}”"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(wish: &str, workers: &[Option<&[&str]>]) -> Vec<String> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let workers: Vec<Offer> = workers.iter().map(|names| names.map(owned)).collect();
        let known = [("near".to_owned(), UnitKind::Llm), ("far".to_owned(), UnitKind::Llm)];
        out_of_reach(&[Wish { kind: UnitKind::Llm, provider: wish.into() }], &known, &workers)
    }

    #[test]
    fn one_worker_that_knows_it_is_enough() {
        assert_eq!(missing("far", &[Some(&["near"])]), ["the provider “far”"]);
        assert!(missing("far", &[Some(&["near"]), Some(&["far"])]).is_empty());
        assert!(missing("", &[Some(&["near"])]).is_empty());
        assert_eq!(missing("", &[Some(&[])]), ["any provider of type llm"]);
    }

    #[test]
    fn nothing_is_said_about_workers_that_say_nothing() {
        assert!(missing("far", &[None]).is_empty());
        assert!(missing("far", &[]).is_empty());
    }
}
