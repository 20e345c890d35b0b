//! What `serve` says on standard output once it can be reached.

use super::Out;
use crate::{auth::setup, config::Config};
use leasehold_queue::Engine;
use leasehold_types::Problem;
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

pub async fn announce(engine: &Engine, config: &Config, bound: SocketAddr, out: Out) -> Result<(), Problem> {
    let url = format!("http://{}", reachable(bound));
    if let Some(token) = setup::offer(engine, config.setup_ttl).await? {
        let link = format!("{url}/setup?token={token}");
        out.say(&format!("Set up Leasehold: {link}"), &json!({"event": "setup", "url": link}));
    }
    out.say(&format!("Leasehold is listening on {url}"), &json!({"event": "listening", "url": url}));
    Ok(())
}

/// “Every address” is none a browser can open; this machine's own is among them.
fn reachable(bound: SocketAddr) -> SocketAddr {
    if bound.ip().is_unspecified() {
        return SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), bound.port());
    }
    bound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_address_can_be_opened() {
        assert_eq!(reachable("0.0.0.0:80".parse().unwrap()).to_string(), "127.0.0.1:80");
        assert_eq!(reachable("10.1.2.3:80".parse().unwrap()).to_string(), "10.1.2.3:80");
    }
}
