//! Connections that trickle.

use super::{exchange, health_times, runtime, status_of};
use crate::common::House;
use std::time::{Duration, Instant};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const CONNECTIONS: usize = 500;

/// Sends a header that never ends, a byte a second, until the server has had enough of it.
async fn trickle(address: std::net::SocketAddr, start: &'static [u8]) {
    let began = Instant::now();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(start).await.unwrap();
    let mut buffer = [0; 1_024];
    loop {
        tokio::select! {
            read = stream.read(&mut buffer) => match read {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            },
            () = tokio::time::sleep(Duration::from_secs(1)) => {
                if stream.write_all(b"x").await.is_err() {
                    return;
                }
            }
        }
        assert!(began.elapsed() < Duration::from_secs(40), "the server waits for ever");
    }
}

#[test]
fn headers_that_trickle_slow_nobody_down_and_are_cut_off() {
    let house = House::new();
    let server = house.serve(&[]);
    let address = server.addr;
    runtime().block_on(async {
        let starts: [&'static [u8]; 3] = [b"GET /health HTTP/1.1\r\nhost: x\r\nx-a: ", b"G", b"PRI * HT"];
        let slow: Vec<_> =
            (0..CONNECTIONS).map(|i| tokio::spawn(trickle(address, starts[i % starts.len()]))).collect();
        tokio::time::sleep(Duration::from_secs(2)).await;
        // Two hundred are answered one after the other while they are still at it.
        health_times(address, 200).await;
        assert!(slow.iter().filter(|connection| !connection.is_finished()).count() > CONNECTIONS / 2);
        for connection in slow {
            connection.await.unwrap();
        }
    });
}

/// Until it is known which protocol a client speaks, no other limit holds here.
#[test]
fn who_says_nothing_or_half_a_greeting_is_cut_off() {
    let house = House::new();
    let server = house.serve(&[("JOBS_HTTP_IDLE_TIMEOUT_SECONDS", "3600")]);
    let address = server.addr;
    let silent = async |start: &[u8]| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(start).await.unwrap();
        let read = tokio::time::timeout(Duration::from_secs(40), stream.read(&mut [0])).await;
        assert!(matches!(read, Ok(Ok(0) | Err(_))), "{start:?} is waited for: {read:?}");
    };
    runtime().block_on(async { tokio::join!(silent(b""), silent(b"PRI * HT")) });
}

#[test]
fn bodies_that_never_come_keep_no_one_waiting() {
    let house = House::new();
    let server = house.serve(&[]);
    let address = server.addr;
    runtime().block_on(async {
        let begun = "POST /do/sign_in HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\
                     content-type: application/x-www-form-urlencoded\r\n\r\nemail=";
        let mut held = Vec::new();
        for _ in 0..200 {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(begun.as_bytes()).await.unwrap();
            held.push(stream);
        }
        health_times(address, 100).await;
        let nothing = held[0].try_read(&mut [0]).expect_err("a hundred are answered while it is waited for");
        assert_eq!(nothing.kind(), std::io::ErrorKind::WouldBlock);
        // Nor do they hold the turns of those who sign in.
        let body = "email=ann%40example.org&password=a+wrong+password";
        let whole = format!(
            "POST /do/sign_in HTTP/1.1\r\nhost: x\r\nconnection: close\r\naccept: text/html\r\ncontent-length: {}\r\n\
             content-type: application/x-www-form-urlencoded\r\n\r\n{body}",
            body.len()
        );
        let signed = tokio::time::timeout(Duration::from_secs(5), exchange(address, whole.as_bytes())).await;
        let signed = signed.expect("others can still sign in").unwrap();
        assert_eq!(status_of(&signed), 303, "{signed}");
        let mut first = held.remove(0);
        let mut answer = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(45), first.read_to_end(&mut answer)).await;
        read.expect("the server gives up by itself").unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert_eq!(status_of(&answer), 408, "{answer}");
        assert!(answer.contains("REQUEST_TIMEOUT"), "{answer}");
    });
}

#[test]
fn a_connection_too_many_is_closed_and_the_others_are_served() {
    let house = House::new();
    // 64 places are left when there are few file descriptors.
    let server = house.serve_limited(300);
    let address = server.addr;
    runtime().block_on(async {
        let mut held = Vec::new();
        for _ in 0..150 {
            held.push(TcpStream::connect(address).await.unwrap());
        }
        let mut closed = 0;
        for stream in &mut held {
            let mut byte = [0];
            let read = tokio::time::timeout(Duration::from_millis(200), stream.read(&mut byte)).await;
            closed += usize::from(matches!(read, Ok(Ok(0) | Err(_))));
            if closed > 50 {
                break;
            }
        }
        assert!(closed > 50, "only {closed} of 150 were turned away");
        drop(held);
        let began = Instant::now();
        loop {
            let request = format!("GET /health HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
            if exchange(address, request.as_bytes()).await.is_ok_and(|answer| status_of(&answer) == 200) {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(15), "places are not given back");
        }
    });
}
