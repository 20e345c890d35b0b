//! Proxies whose word about the browser is believed.

use axum::http::HeaderMap;
use ipnet::IpNet;
use std::net::{IpAddr, SocketAddr};

/// Loopback, and the networks that are nobody's on the internet.
const PRIVATE: [&str; 8] = [
    "127.0.0.0/8",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "169.254.0.0/16",
    "::1/128",
    "fc00::/7",
    "fe80::/10",
];

#[derive(Clone, PartialEq, Debug, Default)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    pub fn private() -> Self {
        Self(PRIVATE.iter().filter_map(|text| text.parse().ok()).collect())
    }

    /// Addresses, networks, and the word `private`; the error is the item that is none of these.
    pub fn parse(items: &[String]) -> Result<Self, String> {
        let mut networks = Vec::new();
        for item in items {
            match item.as_str() {
                "private" => networks.extend(Self::private().0),
                text => {
                    let network = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
                    networks.push(network.map_err(|_| text.to_owned())?);
                }
            }
        }
        Ok(Self(networks))
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// Who sent the request: from the right, the first address that no trusted proxy has. Everything left of it is
    /// hearsay. What cannot be read ends the walk at the proxy that passed it on.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        let values = headers.get_all("x-forwarded-for").iter().rev();
        let mut hops = values.flat_map(|value| value.to_str().unwrap_or("?").rsplit(','));
        while self.contains(client) {
            match hops.next().and_then(|hop| address(hop.trim())) {
                Some(before) => client = before.to_canonical(),
                None => break,
            }
        }
        client
    }
}

/// Some proxies add the port.
fn address(hop: &str) -> Option<IpAddr> {
    let bare = hop.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(hop);
    bare.parse().ok().or_else(|| hop.parse::<SocketAddr>().ok().map(|socket| socket.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn client(trusted: &[&str], peer: &str, forwarded: &[&str]) -> String {
        let trusted: Vec<String> = trusted.iter().map(|item| (*item).to_owned()).collect();
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append("x-forwarded-for", HeaderValue::from_str(value).unwrap());
        }
        TrustedProxies::parse(&trusted).unwrap().client(peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn a_stranger_is_not_believed() {
        assert_eq!(client(&[], "1.2.3.4", &["6.6.6.6"]), "1.2.3.4");
        assert_eq!(client(&["10.0.0.1"], "1.2.3.4", &["6.6.6.6"]), "1.2.3.4");
    }

    #[test]
    fn the_walk_goes_from_the_right_past_trusted_hops() {
        let both = ["10.0.0.1", "10.0.0.2"];
        assert_eq!(client(&both, "10.0.0.1", &["6.6.6.6, 8.8.8.8, 10.0.0.2"]), "8.8.8.8");
        assert_eq!(client(&both, "10.0.0.1", &["6.6.6.6", "8.8.8.8", "10.0.0.2"]), "8.8.8.8");
        assert_eq!(client(&["10.0.0.1"], "10.0.0.1", &["8.8.8.8, 10.0.0.2"]), "10.0.0.2");
        assert_eq!(client(&["private"], "::ffff:127.0.0.1", &["10.0.0.9"]), "10.0.0.9");
    }

    #[test]
    fn what_cannot_be_read_ends_the_walk() {
        assert_eq!(client(&["private"], "127.0.0.1", &["8.8.8.8, unknown, 10.0.0.2"]), "10.0.0.2");
        assert_eq!(client(&["private"], "127.0.0.1", &[]), "127.0.0.1");
    }

    #[test]
    fn ports_and_brackets_are_understood() {
        assert_eq!(client(&["private"], "127.0.0.1", &["8.8.8.8:4711"]), "8.8.8.8");
        assert_eq!(client(&["private"], "127.0.0.1", &["[2001:db8::1]:4711"]), "2001:db8::1");
        assert_eq!(client(&["private"], "127.0.0.1", &["[2001:db8::1]"]), "2001:db8::1");
    }
}
