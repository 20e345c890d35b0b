//! Just enough HTTP/2 to be a nuisance.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const GREETING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const ACK: u8 = 1;
const END_OF_STREAM_AND_HEADERS: u8 = 5;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Says hello, asks for nothing, and answers every ping until the server closes the connection.
pub async fn answer_pings(stream: TcpStream) {
    talk(stream, &[]).await;
}

/// Asks for a file, lets the server send as much as it may unasked, and never allows more. Returns how much came.
pub async fn ask_and_keep_the_window_shut(stream: TcpStream, path: &str) -> usize {
    // GET, http, and the path and host as literals.
    let literal =
        |index: u8, text: &str| [&[index, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let headers = [vec![0x82, 0x86], literal(0x04, path), literal(0x01, "localhost")].concat();
    talk(stream, &frame(HEADERS, END_OF_STREAM_AND_HEADERS, 1, &headers)).await
}

async fn talk(mut stream: TcpStream, request: &[u8]) -> usize {
    let hello = [GREETING, &frame(SETTINGS, 0, 0, &[]), request].concat();
    // It may be turned away at any moment, and does not mind.
    if stream.write_all(&hello).await.is_err() {
        return 0;
    }
    let mut read = 0;
    loop {
        let mut head = [0; 9];
        if stream.read_exact(&mut head).await.is_err() {
            return read;
        }
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        if stream.read_exact(&mut payload).await.is_err() {
            return read;
        }
        let answer = match (head[3], head[4] & ACK) {
            (PING, 0) => frame(PING, ACK, 0, &payload),
            (SETTINGS, 0) => frame(SETTINGS, ACK, 0, &[]),
            (DATA, _) => {
                read += length;
                continue;
            }
            _ => continue,
        };
        if stream.write_all(&answer).await.is_err() {
            return read;
        }
    }
}
