//! `fault-client enqueue|work URL LEDGER TENANT`: runs until it is killed, or until its stdin closes.

use leasehold_faults::{Ledger, enqueue_for_ever, open, work_for_ever};
use leasehold_types::TenantId;
use std::{io::Read, path::Path};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let [role, url, ledger, tenant] = args.as_slice() else { return Err("four arguments, please".into()) };
    // The test holds the other end: when it is gone, so are we.
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let store = loop {
        match open(url).await {
            Ok(store) => break store,
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
        }
    };
    let ledger = Ledger::open(Path::new(ledger))?;
    match role.as_str() {
        "enqueue" => enqueue_for_ever(store, tenant.parse::<TenantId>()?, ledger).await?,
        _ => work_for_ever(store, ledger).await?,
    }
    Ok(())
}
