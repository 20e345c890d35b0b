//! Who may have a connection: so many in all, so many per address, and a few kept for those who have none.

use crate::{proxies::TrustedProxies, rates::network};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Each connection costs memory and a file descriptor, also those that only wait.
const MAX_CONNECTIONS: u64 = 8_192;
/// File descriptors kept for the database, jobs and files.
const KEPT_FILES: u64 = 256;
/// The last places go to addresses that hold hardly any, and the very last ones to this machine: whoever asks whether
/// the server is well gets an answer however many others there are.
const RESERVE: usize = 32;
const HARDLY_ANY: usize = 2;

pub struct Places {
    all: usize,
    reserve: usize,
    per_address: usize,
    proxies: TrustedProxies,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    by_network: HashMap<IpAddr, usize>,
}

impl Places {
    /// As many as this process may open files, less those it needs.
    pub fn new(per_address: usize, proxies: TrustedProxies) -> Self {
        let files = open_files_limit().unwrap_or(1_024);
        let all = files.saturating_sub(KEPT_FILES).clamp(64, MAX_CONNECTIONS);
        Self::of(usize::try_from(all).unwrap_or(usize::MAX), per_address, proxies)
    }

    fn of(all: usize, per_address: usize, proxies: TrustedProxies) -> Self {
        // However few there are, one address does not get all of them.
        let per_address = if per_address == 0 { usize::MAX } else { per_address.min(all / 4 * 3) };
        Self { all, reserve: RESERVE.min(all / 4), per_address, proxies, taken: Mutex::default() }
    }

    pub fn enter(self: &Arc<Self>, peer: IpAddr) -> Option<Place> {
        let network = network(peer);
        let mut taken = self.taken();
        let (free, held) = (self.all - taken.all, taken.by_network.get(&network).copied().unwrap_or(0));
        // Behind a proxy are many.
        let within = held < self.per_address || self.proxies.contains(peer);
        let kept_back = match free {
            0 => true,
            free if free <= self.reserve / 2 => held >= HARDLY_ANY || !network.is_loopback(),
            free if free <= self.reserve => held >= HARDLY_ANY,
            _ => false,
        };
        if kept_back || !within {
            return None;
        }
        taken.all += 1;
        *taken.by_network.entry(network).or_default() += 1;
        Some(Place { network, places: self.clone() })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection's place, until it ends.
pub struct Place {
    network: IpAddr,
    places: Arc<Places>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.all -= 1;
        if let Some(held) = taken.by_network.get_mut(&self.network) {
            *held -= 1;
            if *held == 0 {
                taken.by_network.remove(&self.network);
            }
        }
    }
}

/// Raises the limit as far as it may be raised by oneself, and returns it.
fn open_files_limit() -> Option<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    let wanted = hard.min(MAX_CONNECTIONS + 2 * KEPT_FILES).max(soft);
    match setrlimit(Resource::RLIMIT_NOFILE, wanted, hard) {
        Ok(()) => Some(wanted),
        Err(_) => Some(soft),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn places(all: usize, per_address: usize, proxies: TrustedProxies) -> Arc<Places> {
        Arc::new(Places::of(all, per_address, proxies))
    }

    fn fill(places: &Arc<Places>, from: &str) -> Vec<Place> {
        std::iter::from_fn(|| places.enter(ip(from))).take(10_000).collect()
    }

    #[test]
    fn one_address_gets_its_share_and_gives_it_back() {
        let places = places(1_000, 100, TrustedProxies::default());
        let held = fill(&places, "10.0.0.1");
        assert_eq!(held.len(), 100);
        assert!(places.enter(ip("10.0.0.2")).is_some());
        drop(held);
        assert_eq!(fill(&places, "10.0.0.1").len(), 100);
        assert_eq!(places.taken().all, 0);
        assert!(places.taken().by_network.is_empty(), "nothing is remembered of those who left");
    }

    #[test]
    fn addresses_of_one_ipv6_network_share() {
        let places = places(1_000, 100, TrustedProxies::default());
        let held = fill(&places, "2001:db8::1");
        assert_eq!(held.len(), 100);
        assert!(places.enter(ip("2001:db8::ffff")).is_none());
        assert!(places.enter(ip("2001:db8:0:1::1")).is_some());
    }

    #[test]
    fn a_trusted_proxy_is_not_one_client() {
        let trusted = TrustedProxies::parse(&["10.0.0.1".to_owned()]).unwrap();
        let places = places(1_000, 100, trusted);
        assert_eq!(fill(&places, "10.0.0.1").len(), 1_000 - RESERVE);
    }

    #[test]
    fn however_many_there_are_somebody_new_and_this_machine_get_in() {
        let places = places(1_000, 0, TrustedProxies::default());
        let many: Vec<_> = fill(&places, "10.0.0.1");
        assert_eq!(many.len(), 1_000 - RESERVE);
        let new: Vec<_> = (0..=255).filter_map(|n| places.enter(IpAddr::from([10, 0, 1, n]))).collect();
        assert_eq!(new.len(), RESERVE / 2);
        assert!(places.enter(ip("127.0.0.1")).is_some(), "this machine still gets in");
    }

    #[test]
    fn few_places_are_not_for_one_address_either() {
        let places = places(64, 512, TrustedProxies::default());
        assert_eq!(fill(&places, "127.0.0.2").len(), 48);
        // Here it is not the reserve that ends it.
        let places = Arc::new(Places::of(1_000, 5_000, TrustedProxies::default()));
        assert_eq!(fill(&places, "127.0.0.2").len(), 750);
    }
}
