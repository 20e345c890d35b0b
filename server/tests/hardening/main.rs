//! Clients that mean harm, or are merely very many: the server stays small and goes on answering.

#[path = "../common/mod.rs"]
mod common;

mod cross_site;
mod crowds;
mod database;
mod front;
mod holding;
mod http2;
mod malformed;
mod rates;
mod schemas;
mod sizes;
mod slow;

use common::Serving;
use std::{
    net::{IpAddr, SocketAddr},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpSocket,
};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Sends these bytes and reads what is answered until the connection ends.
async fn exchange(address: SocketAddr, request: &[u8]) -> std::io::Result<String> {
    exchange_from(address.ip(), address, request).await
}

/// The same from another address of this machine.
async fn exchange_from(from: IpAddr, address: SocketAddr, request: &[u8]) -> std::io::Result<String> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(from, 0))?;
    let mut stream = socket.connect(address).await?;
    // A request that is refused early may not be taken to its end.
    let _ = stream.write_all(request).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn status_of(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or_default()
}

/// How long `/health` takes, `n` times, sorted.
async fn health_times(address: SocketAddr, n: usize) -> Vec<Duration> {
    let mut times = Vec::new();
    for _ in 0..n {
        let began = Instant::now();
        let request = format!("GET /health HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        let answer = exchange(address, request.as_bytes()).await.unwrap();
        assert_eq!(status_of(&answer), 200, "{answer}");
        times.push(began.elapsed());
    }
    times.sort();
    times
}

fn p99(sorted: &[Duration]) -> Duration {
    sorted[(sorted.len() * 99).div_ceil(100) - 1]
}

/// Memory of the serving process.
fn resident_kib(server: &Serving) -> u64 {
    memory_kib(server, "VmRSS:")
}

/// The most it ever had, or had since [`reset_peak`].
fn peak_kib(server: &Serving) -> u64 {
    memory_kib(server, "VmHWM:")
}

/// The peak begins anew with what there is now.
fn reset_peak(server: &Serving) -> u64 {
    std::fs::write(format!("/proc/{}/clear_refs", server.pid()), "5").unwrap();
    peak_kib(server)
}

fn memory_kib(server: &Serving, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Processor time of the serving process with all its threads; the kernel counts in hundredths.
fn processor_seconds(server: &Serving) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}
