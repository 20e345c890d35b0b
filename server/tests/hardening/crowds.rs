//! Many at once at the sign-in: memory stays bounded, everyone is answered, and nothing tells who has an account.

use super::{exchange, health_times, p99, resident_kib, runtime, status_of};
use crate::common::{House, PASSWORD};
use std::time::{Duration, Instant};

const CROWD: usize = 1_000;

fn sign_in(host: &str, from: &str, email: &str, password: &str) -> String {
    let body = format!("email={email}&password={password}&next=%2F");
    format!(
        "POST /do/sign_in HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\nx-forwarded-for: {from}\r\n\
         content-type: application/x-www-form-urlencoded\r\naccept: text/html\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn a_thousand_sign_ins_at_once_are_all_answered_within_bounds() {
    let house = House::new();
    let server = house.serve(&[("JOBS_TRUST_FORWARDED", "true")]);
    let address = server.addr;
    runtime().block_on(async {
        health_times(address, 5).await;
        let before = resident_kib(&server);
        let host = address.to_string();
        let crowd: Vec<_> = (0..CROWD)
            .map(|i| {
                let from = format!("10.{}.{}.7", i / 250, i % 250);
                let request = sign_in(&host, &from, &format!("user{i}%40example.org"), "a+wrong+password");
                tokio::spawn(async move { exchange(address, request.as_bytes()).await })
            })
            .collect();
        let (mut most, began) = (0, Instant::now());
        let mut worst = Duration::ZERO;
        while crowd.iter().any(|one| !one.is_finished()) {
            most = resident_kib(&server).max(most);
            worst = p99(&health_times(address, 3).await).max(worst);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        for one in crowd {
            let status = status_of(&one.await.unwrap().unwrap());
            assert!(matches!(status, 200..=499), "{status}");
        }
        let whole = began.elapsed();
        let grown = most.saturating_sub(before) / 1_024;
        println!("grew by {grown} MiB, /health took {worst:?} at worst, all of them {whole:?}");
        // Four hashes of 19 MiB at a time, and a thousand connections of a few dozen KiB.
        assert!(grown < 256, "grew by {grown} MiB");
        assert!(worst * 4 < whole, "/health waited for the crowd: {worst:?} of {whole:?}");
    });
}

#[test]
fn whether_an_account_exists_cannot_be_told_by_the_clock() {
    let house = House::new();
    let user = ["user", "add", "ann@example.org", "--role", "super_admin", "--password-stdin"];
    house.json(&user, PASSWORD);
    let server = house.serve(&[("JOBS_TRUST_FORWARDED", "true")]);
    let address = server.addr;
    runtime().block_on(async {
        let host = address.to_string();
        // Each from an address of its own: nobody is made to wait.
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        for i in 0..9 {
            for (email, times) in [("ann", &mut known), ("nobody", &mut unknown)] {
                let from = format!("10.1.{i}.{}", email.len());
                let request = sign_in(&host, &from, &format!("{email}%40example.org"), "a+wrong+password");
                let began = Instant::now();
                let answer = exchange(address, request.as_bytes()).await.unwrap();
                assert!(!answer.contains("TOO_MANY"), "{answer}");
                times.push(began.elapsed());
            }
        }
        known.sort();
        unknown.sort();
        let (known, unknown) = (known[4].as_secs_f64(), unknown[4].as_secs_f64());
        let ratio = known / unknown;
        println!("medians: {known} s and {unknown} s");
        assert!((0.5..2.0).contains(&ratio), "known {known} s, unknown {unknown} s");
        // Both paths hash: neither is as quick as a page that does not.
        let idle = health_times(address, 9).await[4].as_secs_f64();
        assert!(unknown > idle * 2.0, "an unknown account is answered in {unknown} s, /health in {idle} s");
    });
}
