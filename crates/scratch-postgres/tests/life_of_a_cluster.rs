//! These need a Postgres server on the machine, as all tests of the Postgres store do.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use scratch_postgres::{ScratchPostgres, StartOptions};

/// Asks for a connection without a password, and says whether the server lets us in.
fn lets_us_in(url: &str) -> bool {
    let address = url.trim_start_matches("postgres://postgres@").trim_end_matches("/postgres");
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    let body = b"\0\x03\0\0user\0postgres\0database\0postgres\0\0";
    let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
    stream.write_all(&[&length[..], body].concat()).unwrap();
    let mut answer = [0_u8; 1];
    stream.read_exact(&mut answer).unwrap();
    answer[0] == b'R'
}

#[test]
fn a_cluster_answers_survives_a_crash_and_leaves_nothing_behind() {
    let cluster = ScratchPostgres::start(StartOptions { fsync: false }).unwrap();
    let url = cluster.url();
    assert!(lets_us_in(&url), "a fresh cluster accepts connections");

    cluster.stop_immediate().unwrap();
    assert!(!lets_us_in(&url), "a stopped server does not answer");
    cluster.start_again().unwrap();
    assert!(lets_us_in(&url), "the server is back on the same port");
    cluster.restart_immediate().unwrap();
    assert!(lets_us_in(&url));

    drop(cluster);
    assert!(!lets_us_in(&url), "nothing listens after drop");
    assert!(folders_of(std::process::id()).is_empty(), "the folder is removed");
}

/// Runs only as the child of the next test: starts a cluster and waits to be killed.
#[test]
#[ignore = "the child process of a_killed_process_takes_its_cluster_with_it"]
fn child_that_waits_to_be_killed() {
    let cluster = ScratchPostgres::start(StartOptions::default()).unwrap();
    println!("cluster at {}", cluster.url());
    std::thread::sleep(Duration::from_mins(1));
}

#[test]
fn a_killed_process_takes_its_cluster_with_it() {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--nocapture", "--exact", "child_that_waits_to_be_killed"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut stdout = child.stdout.take().unwrap();
    let mut byte = [0_u8; 1];
    while !said.contains("/postgres\n") && stdout.read(&mut byte).unwrap() == 1 {
        said.push(char::from(byte[0]));
    }
    let url = said.split("cluster at ").nth(1).expect("the child printed its address").trim().to_owned();
    assert!(lets_us_in(&url));

    child.kill().unwrap();
    child.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !folders_of(child.id()).is_empty() {
        assert!(Instant::now() < deadline, "the guardian did not clean up");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!lets_us_in(&url));
}

fn folders_of(pid: u32) -> Vec<String> {
    let prefix = format!("leasehold-postgres-{pid}-");
    std::fs::read_dir(std::env::temp_dir())
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with(&prefix))
        .collect()
}
