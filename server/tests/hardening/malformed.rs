//! Requests that are no requests: an answer, never a hang and never a 5xx.

use super::{exchange, runtime, status_of};
use crate::common::House;
use std::time::Duration;

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").into_bytes()
}

fn with_headers(headers: &str) -> Vec<u8> {
    format!("GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n").into_bytes()
}

#[test]
fn strange_requests_are_refused_in_time() {
    let house = House::new();
    let server = house.serve(&[]);
    let many: String = (0..300).map(|i| format!("x-{i}: 1\r\n")).collect();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("bad percent-encoding", get("/t/%zz/jobs")),
        ("half a percent", get("/t/acme/jobs/%")),
        ("not utf-8", get("/t/%ff%fe/jobs")),
        ("encoded NUL", get("/t/a%00b/jobs")),
        ("plain NUL", get("/t/a\0b/jobs")),
        ("up and out", get("/../../etc/passwd")),
        ("encoded up and out", get("/pkg/..%2f..%2fetc/passwd")),
        ("overlong path", get(&format!("/t/{}", "a".repeat(60_000)))),
        ("longer than any header", get(&format!("/t/{}", "a".repeat(200_000)))),
        ("bad query", get("/t/acme/live?after=%ff&job=x")),
        ("bad number", get("/api/v1/jobs/99999999999999999999999")),
        ("many headers", with_headers(&many)),
        ("a large header", with_headers(&format!("x-a: {}\r\n", "a".repeat(100_000)))),
        ("a header with a line in it", with_headers("x-a: b\rc\r\n")),
        ("no method", b"\r\n\r\n GARBAGE\r\n\r\n".to_vec()),
        ("two lengths", b"POST /do/sign_in HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx".to_vec()),
        ("length and chunks", b"POST /do/sign_in HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n".to_vec()),
        ("a chunk that lies", b"POST /do/sign_in HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n".to_vec()),
        ("not utf-8 in the host", b"GET /login HTTP/1.1\r\nhost: \xff\xfe\r\nconnection: close\r\n\r\n".to_vec()),
    ];
    runtime().block_on(async {
        for (name, request) in cases {
            let answer = tokio::time::timeout(Duration::from_secs(15), exchange(server.addr, &request)).await;
            let answer = answer.unwrap_or_else(|_| panic!("{name}: no answer")).unwrap();
            let status = status_of(&answer);
            // Nothing at all is an answer too: the connection was closed.
            assert!(answer.is_empty() || (200..500).contains(&status), "{name}: {answer}");
            assert!(!answer.contains("root:"), "{name}");
        }
        let large = exchange(server.addr, &with_headers(&many)).await.unwrap();
        assert!(matches!(status_of(&large), 400 | 431), "{large}");
    });
}

#[test]
fn no_address_takes_more_than_it_needs() {
    let house = House::new();
    // So small that two megabytes are enough for everything.
    let server = house.serve(&[("JOBS_MAX_JSON_BYTES", "100000")]);
    let routes = house.json(&["routes"], "");
    let functions = routes["functions"].as_array().unwrap().iter().map(|f| f.as_str().unwrap().to_owned());
    let paths: Vec<String> =
        functions.chain(["/api/v1/worker/jobs/claim".to_owned(), "/nowhere".to_owned()]).collect();
    assert!(paths.len() > 5, "{paths:?}");
    let megabyte = "x".repeat(1 << 20);
    runtime().block_on(async {
        for path in &paths {
            let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/x-www-form-urlencoded\r\n");
            let announced = format!("{head}content-length: 3000000\r\n\r\n");
            let answer = exchange(server.addr, announced.as_bytes()).await.unwrap();
            assert_eq!(status_of(&answer), 413, "{path}: {answer}");
            assert!(answer.contains("PAYLOAD_TOO_LARGE"), "{path}: {answer}");
            // Chunks announce nothing. Who needs no body to refuse does not read it at all.
            let chunk = format!("100000\r\n{megabyte}\r\n");
            let chunked = format!("{head}transfer-encoding: chunked\r\n\r\n{chunk}{chunk}{chunk}0\r\n\r\n");
            let answer = exchange(server.addr, chunked.as_bytes()).await.unwrap();
            let status = status_of(&answer);
            assert!(answer.is_empty() || (400..500).contains(&status), "{path}: {answer}");
        }
    });
}

/// Opens streams on one HTTP/2 connection and resets each at once.
#[test]
fn streams_reset_as_fast_as_they_are_opened_end_the_connection() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let house = House::new();
    let server = house.serve(&[]);
    runtime().block_on(async {
        let stream = tokio::net::TcpStream::connect(server.addr).await.unwrap();
        let (mut reading, mut writing) = stream.into_split();
        writing.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        writing.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
        // :method GET, :scheme http, :path /, :authority x, all from or beside the static table.
        let block = [0x82, 0x86, 0x84, 0x41, 0x01, b'x'];
        let attack = async {
            for i in 0..20_000_u32 {
                let id = (2 * i + 1).to_be_bytes();
                let mut frames = vec![0, 0, block.len() as u8, 1, 0x5];
                frames.extend(id);
                frames.extend(block);
                frames.extend([0, 0, 4, 3, 0]);
                frames.extend(id);
                frames.extend([0, 0, 0, 8]);
                if writing.write_all(&frames).await.is_err() {
                    return;
                }
            }
        };
        let told = async {
            let mut all = Vec::new();
            let _ = reading.read_to_end(&mut all).await;
            all
        };
        let (_, told) = tokio::time::timeout(Duration::from_secs(30), async { tokio::join!(attack, told) })
            .await
            .expect("the server ends the connection");
        // A GOAWAY frame (type 7) with ENHANCE_YOUR_CALM (11), or a connection that was simply cut.
        let calm = told.windows(9).any(|frame| frame[3] == 7);
        assert!(calm || told.len() < 100_000, "{} bytes and no GOAWAY", told.len());
        let answer = exchange(server.addr, &get("/health")).await.unwrap();
        assert_eq!(status_of(&answer), 200);
    });
}

#[test]
fn answers_of_the_api_are_compressed_on_request() {
    let house = House::new();
    let server = house.serve(&[]);
    let plain = server.get("/metrics", &[]);
    let small = server.get("/metrics", &[("accept-encoding", "gzip")]);
    assert_eq!((plain.header("content-encoding"), small.header("content-encoding")), (None, Some("gzip")));
    let described = server.get("/api/openapi.json", &[("accept-encoding", "gzip")]);
    assert_eq!(described.header("content-encoding"), Some("gzip"));
}
