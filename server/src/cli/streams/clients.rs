//! The readers of the streams: as little as a client can be.

use super::{House, failed};
use leasehold_types::Problem;
use std::time::{Duration, Instant};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    sync::mpsc,
    task::JoinSet,
};

/// An event of a new job as one client heard it.
pub struct Heard {
    pub number: i64,
    pub at: Instant,
}

pub struct Crowd {
    /// Dropped with the crowd, which ends the streams.
    _readers: JoinSet<()>,
    heard: mpsc::UnboundedReceiver<Heard>,
}

/// Opens so many streams and returns when each has been greeted.
pub async fn open(house: &House, streams: usize) -> Result<Crowd, Problem> {
    let (tell, heard) = mpsc::unbounded_channel();
    let mut readers = JoinSet::new();
    for i in 0..streams {
        let stream = connect(house, i).await.map_err(|error| failed("open a stream", error))?;
        readers.spawn(read(stream, tell.clone()));
    }
    Ok(Crowd { _readers: readers, heard })
}

async fn connect(house: &House, i: usize) -> std::io::Result<BufReader<TcpStream>> {
    let mut stream = TcpStream::connect(house.address).await?;
    let (address, cookie) = (house.address, house.cookie_of(i));
    let request = format!("GET /t/bench/live HTTP/1.1\r\nhost: {address}\r\ncookie: {cookie}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut stream = BufReader::with_capacity(2_048, stream);
    let mut line = String::new();
    while !line.starts_with("event: hello") {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Err(std::io::Error::other("the server did not open a stream"));
        }
    }
    Ok(stream)
}

async fn read(mut stream: BufReader<TcpStream>, tell: mpsc::UnboundedSender<Heard>) {
    let mut line = String::new();
    while stream.read_line(&mut line).await.is_ok_and(|length| length > 0) {
        let at = Instant::now();
        if let Some(number) = new_job(&line)
            && tell.send(Heard { number, at }).is_err()
        {
            return;
        }
        line.clear();
    }
}

/// The number in the event of a job that came in.
fn new_job(line: &str) -> Option<i64> {
    let (_, rest) = line.split_once("\"number\":")?;
    let (number, rest) = rest.split_once(',')?;
    rest.starts_with("\"kind\":\"job.created\"").then(|| number.parse().ok())?
}

impl Crowd {
    pub async fn wait_for(&mut self, events: usize, patience: Duration) -> Vec<Heard> {
        let mut all = Vec::with_capacity(events);
        let end = tokio::time::Instant::now() + patience;
        while all.len() < events {
            match tokio::time::timeout_at(end, self.heard.recv()).await {
                Ok(Some(heard)) => all.push(heard),
                Ok(None) | Err(_) => break,
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_jobs_are_timed() {
        assert_eq!(new_job(r#"data: {"id":3,"number":17,"kind":"job.created","domain":"x"}"#), Some(17));
        assert_eq!(new_job(r#"data: {"id":3,"number":17,"kind":"job.started"}"#), None);
        assert_eq!(new_job(": keep-alive"), None);
    }
}
