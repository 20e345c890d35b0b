//! Clients that hold connections for nothing: they read none of what they asked for, or ask for nothing at all.

use super::{exchange_from, http2, runtime, status_of};
use crate::common::{House, Serving, program::Programs};
use serde_json::json;
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

const ATTACKER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 3));
const EACH: usize = 400;
/// The same rules with less patience.
const SHORT: [(&str, &str); 2] =
    [("JOBS_HTTP_WRITE_TIMEOUT_SECONDS", "2"), ("JOBS_HTTP_IDLE_TIMEOUT_SECONDS", "2")];
/// Larger than any buffer on the way.
const LARGE: &str = "/pkg/leasehold.wasm";

async fn connect(server: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    socket.bind(SocketAddr::new(ATTACKER, 0)).unwrap();
    socket.connect(server).await.unwrap()
}

/// Asks for a large file again and again, and reads nothing.
async fn read_nothing(server: SocketAddr) -> TcpStream {
    let mut stream = connect(server).await;
    let request = format!("GET {LARGE} HTTP/1.1\r\nhost: x\r\n\r\n").repeat(20);
    // It may have been turned away.
    let _ = stream.write_all(request.as_bytes()).await;
    stream
}

/// Asks whether the server is well as long as `work` goes on; every single answer must be good.
async fn well_during<T>(server: SocketAddr, work: impl Future<Output = T>) -> (T, usize) {
    tokio::pin!(work);
    let mut asked = 0;
    loop {
        for path in ["/health", "/ready"] {
            let request = format!("GET {path} HTTP/1.1\r\nhost: {server}\r\nconnection: close\r\n\r\n");
            let answer = exchange_from(OTHER, server, request.as_bytes()).await.unwrap();
            assert_eq!(status_of(&answer), 200, "{path} after {asked}: {answer}");
        }
        asked += 1;
        tokio::select! {
            done = &mut work => return (done, asked),
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
        }
    }
}

fn figure(server: &Serving, sample: &str) -> u64 {
    let page = server.get("/metrics", &[]).body;
    let line = page.lines().find_map(|line| line.strip_prefix(sample));
    line.unwrap_or_else(|| panic!("no {sample} in {page}")).trim().parse().unwrap()
}

/// Waits until nobody but who asks holds a connection.
async fn all_gone(server: &Serving) {
    let began = Instant::now();
    while figure(server, "leasehold_connections_open ") > 1 {
        assert!(began.elapsed() < Duration::from_secs(60), "somebody still holds a connection");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// How many of the 800 got in.
async fn attack(server: &Serving) -> u64 {
    let address = server.addr;
    let ((unread, idle), asked) = well_during(address, async {
        let mut unread = Vec::new();
        for _ in 0..EACH {
            unread.push(read_nothing(address).await);
        }
        let idle: Vec<_> = (0..EACH)
            .map(|_| tokio::spawn(async move { http2::answer_pings(connect(address).await).await }))
            .collect();
        (unread, idle)
    })
    .await;
    let ((), more) = well_during(address, all_gone(server)).await;
    println!("asked {asked} times while they came, {more} times until they were gone");
    for client in idle {
        client.await.unwrap();
    }
    drop(unread);
    2 * EACH as u64 - figure(server, "leasehold_connections_refused_total ")
}

#[test]
fn eight_hundred_that_hold_connections_for_nothing_are_sent_away() {
    let house = House::new();
    let without_cap = [&SHORT[..], &[("JOBS_MAX_CONNECTIONS_PER_ADDRESS", "0")]].concat();
    let server = house.serve(&without_cap);
    let got_in = runtime().block_on(attack(&server));
    assert_eq!(got_in, 2 * EACH as u64, "nobody was turned away at the door");
    assert!(figure(&server, "leasehold_connections_closed_total{why=\"unread\"} ") >= EACH as u64);
    assert!(figure(&server, "leasehold_connections_closed_total{why=\"idle\"} ") >= EACH as u64);
}

#[test]
fn one_address_gets_no_more_than_its_share() {
    let house = House::new();
    let server = house.serve(&[&SHORT[..], &[("JOBS_MAX_CONNECTIONS_PER_ADDRESS", "100")]].concat());
    let got_in = runtime().block_on(attack(&server));
    // Some were sent away in time for others to come in.
    assert!((100..2 * EACH as u64).contains(&got_in), "{got_in} got in");
    assert!(figure(&server, "leasehold_connections_refused_total ") > 0);
}

#[test]
fn an_http2_stream_that_is_not_read_is_not_kept_either() {
    let house = House::new();
    let server = house.serve(&SHORT);
    runtime().block_on(async {
        let stream = connect(server.addr).await;
        let asking = http2::ask_and_keep_the_window_shut(stream, LARGE);
        let read = tokio::time::timeout(Duration::from_secs(60), asking).await.expect("it is given up");
        assert!(read > 0, "the answer began");
        all_gone(&server).await;
    });
    assert_eq!(figure(&server, "leasehold_connections_closed_total{why=\"unread\"} "), 1);
}

#[test]
fn who_reads_slowly_gets_it_all() {
    let house = House::new();
    let server = house.serve(&SHORT);
    runtime().block_on(async {
        let mut stream = connect(server.addr).await;
        let request = format!("GET {LARGE} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let (mut answer, mut pauses, mut buffer) = (Vec::new(), 0, vec![0; 16 * 1024]);
        loop {
            let n = stream.read(&mut buffer).await.expect("it is not cut off");
            if n == 0 {
                break;
            }
            answer.extend_from_slice(&buffer[..n]);
            if pauses < 12 && answer.len() / 32_768 > pauses {
                pauses += 1;
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
        }
        assert_eq!(pauses, 12, "together longer than a silent reader is given");
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
        let size = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        assert_eq!(size.trim().parse::<usize>().unwrap(), answer.len() - end - 4);
    });
}

#[test]
fn a_live_stream_may_be_silent_for_longer_than_that() {
    let house = House::new();
    let programs = Programs::with(house, &SHORT);
    let mut ear = programs.hear("/jobs/events/stream", &[]);
    // The first event says where the stream begins.
    ear.next().unwrap();
    std::thread::sleep(Duration::from_secs(7));
    let number = programs.enqueue(json!({}));
    let told = ear.next().expect("the stream goes on");
    assert_eq!(told.data["number"].as_i64().or(told.data["job_number"].as_i64()), Some(number), "{told:?}");
}
