//! Guessing is slowed down, over all processes, and nobody can keep somebody else out by it.

use crate::{
    ADA,
    common::{Answer, House, PASSWORD, Serving},
    settled,
};

crate::on_both_databases! {
    an_attacker_cannot_keep_the_owner_out,
    a_known_device_passes_when_its_address_is_braked,
    two_processes_count_together,
    an_account_that_does_not_exist_is_braked_alike,
}

const PROXY: (&str, &str) = ("JOBS_TRUST_FORWARDED", "true");
/// More than the free attempts at one account from one address.
const WRONG: usize = 7;

fn attempt(server: &Serving, email: &str, password: &str, from: &str, cookie: &str) -> Answer {
    let form = [("email", email), ("password", password), ("next", "/account")];
    server.post("/do/sign_in", &form, &[("x-forwarded-for", from), ("cookie", cookie)])
}

fn is_in(answer: &Answer) -> bool {
    answer.header("location") == Some("/account")
}

fn is_braked(answer: &Answer) -> bool {
    answer.header("location").is_some_and(|to| to.contains("wait="))
}

/// A thousand wrong passwords, from twenty addresses; how many of them were looked at.
fn attack(server: &Serving, email: &str) -> usize {
    let mut tried = 0;
    std::thread::scope(|scope| {
        let attackers = (0..4_usize).map(|part| {
            scope.spawn(move || {
                let tries = (0..250_usize).filter(|nth| {
                    let from = format!("10.66.{part}.{}", nth % 5);
                    let answer = attempt(server, email, &format!("guess number {nth}"), &from, "");
                    assert!(!is_in(&answer));
                    !is_braked(&answer)
                });
                tries.count()
            })
        });
        let attackers: Vec<_> = attackers.collect();
        tried = attackers.into_iter().map(|attacker| attacker.join().unwrap()).sum();
    });
    tried
}

fn an_attacker_cannot_keep_the_owner_out(house: House) {
    settled(&house);
    // The clock stands still: no delay is over because a test takes long.
    let server = house.serve(&[PROXY, ("JOBS_TEST_NOW_EPOCH", "1900000000"), ("JOBS_MAX_CONCURRENCY", "0")]);
    let looked_at = attack(&server, ADA);
    assert_eq!(looked_at, 100, "five from each of twenty addresses");
    let home = "192.0.2.7";
    let owner = attempt(&server, ADA, PASSWORD, home, "");
    assert!(is_in(&owner), "at once, from where she always comes: {}", owner.head);
    for other in ["198.51.100.1", "2001:db8::1"] {
        assert!(is_in(&attempt(&server, ADA, PASSWORD, other, "")), "and from a new place, {other}");
    }
}

fn a_known_device_passes_when_its_address_is_braked(house: House) {
    settled(&house);
    let server = house.serve(&[PROXY, ("JOBS_TEST_NOW_EPOCH", "1900000000"), ("JOBS_MAX_CONCURRENCY", "0")]);
    let office = "192.0.2.7";
    let device = attempt(&server, ADA, PASSWORD, office, "").device().expect("a device is remembered");
    for nth in 0..WRONG {
        attempt(&server, ADA, &format!("guess number {nth}"), office, "");
    }
    assert!(is_braked(&attempt(&server, ADA, PASSWORD, office, "")), "somebody else in the same office");
    let forged = format!("{}0", &device[..device.len() - 1]);
    for wrong in [forged.as_str(), "leasehold-device=x", "leasehold-device=a.9999999999.00"] {
        assert!(is_braked(&attempt(&server, ADA, PASSWORD, office, wrong)), "{wrong}");
    }
    let passed = attempt(&server, ADA, PASSWORD, office, &device);
    assert!(is_in(&passed), "her own browser passes: {}", passed.head);
    let head = passed.head.to_lowercase();
    let cookie = head.lines().find(|line| line.contains("leasehold-device=")).unwrap();
    assert!(cookie.contains("httponly") && cookie.contains("samesite=lax"), "{cookie}");
    // It is no licence to guess, and none for another account.
    for nth in 0..WRONG {
        attempt(&server, ADA, &format!("guess number {nth}"), office, &device);
    }
    assert!(is_braked(&attempt(&server, ADA, PASSWORD, office, &device)));
    for nth in 0..WRONG {
        attempt(&server, crate::SUE, &format!("guess number {nth}"), office, &device);
    }
    assert!(is_braked(&attempt(&server, crate::SUE, PASSWORD, office, &device)));
}

fn two_processes_count_together(house: House) {
    settled(&house);
    let env = [PROXY, ("JOBS_TEST_NOW_EPOCH", "1900000000"), ("JOBS_MAX_CONCURRENCY", "0")];
    let servers = [house.serve(&env), house.serve(&env)];
    let from = "192.0.2.7";
    let tries = (0..10).map(|nth| attempt(&servers[nth % 2], ADA, "a wrong password", from, ""));
    let braked: Vec<_> = tries.map(|answer| is_braked(&answer)).collect();
    assert_eq!(braked, [vec![false; 5], vec![true; 5]].concat());
    for server in &servers {
        assert!(is_braked(&attempt(server, ADA, PASSWORD, from, "")), "the right one has to wait as well");
        assert!(is_in(&attempt(server, ADA, PASSWORD, "192.0.2.8", "")));
    }
}

fn an_account_that_does_not_exist_is_braked_alike(house: House) {
    settled(&house);
    let server = house.serve(&[PROXY, ("JOBS_TEST_NOW_EPOCH", "1900000000"), ("JOBS_MAX_CONCURRENCY", "0")]);
    let answers = |email: &str, from: &str| -> Vec<_> {
        let answer = |_| attempt(&server, email, "a wrong password", from, "");
        let told = |answer: Answer| (answer.status, answer.header("location").map(str::to_owned));
        (0..WRONG).map(answer).map(told).collect()
    };
    let known = answers(ADA, "192.0.2.1");
    assert_eq!(known, answers("nobody@acme.example", "192.0.2.2"));
    assert_eq!(known, answers("no address at all", "192.0.2.3"));
}
