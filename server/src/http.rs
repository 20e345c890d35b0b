//! The HTTP server: hyper with the timers axum's own `serve` lacks, HTTP/1 and HTTP/2 on one port, and a
//! shutdown that lets requests finish but does not wait for ever.

use crate::metrics::ProcessFigures;
use axum::{Router, body::Body, extract::ConnectInfo, http::Request};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
    service::TowerToHyperService,
};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, atomic::Ordering::Relaxed},
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Sleep,
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long requests that are still being answered may take once the server stops.
const LAST_ANSWERS: Duration = Duration::from_secs(3);
/// After a failed accept (out of file descriptors), trying at once would only burn the processor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Headers of one request together; larger ones are answered with 431.
const MAX_HEADERS: usize = 64 * 1024;
/// Streams of one HTTP/2 connection at a time, and streams a client may reset before it is sent away.
const MAX_STREAMS: u32 = 128;
const MAX_RESETS: usize = 32;
/// More connections are closed at once: each costs memory and a file descriptor, also those that only wait.
const MAX_CONNECTIONS: u64 = 8_192;
/// File descriptors kept for the database, jobs and files.
const KEPT_FILES: u64 = 256;

/// How many connections there may be, given how many files this process may open.
fn places() -> usize {
    let files = open_files_limit().unwrap_or(1_024);
    usize::try_from(files.saturating_sub(KEPT_FILES).clamp(64, MAX_CONNECTIONS)).unwrap_or(usize::MAX)
}

/// Raises the limit as far as it may be raised by oneself, and returns it.
fn open_files_limit() -> Option<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    let wanted = hard.min(MAX_CONNECTIONS + 2 * KEPT_FILES).max(soft);
    match setrlimit(Resource::RLIMIT_NOFILE, wanted, hard) {
        Ok(()) => Some(wanted),
        Err(_) => Some(soft),
    }
}

/// Serves until `stop`, then lets what is under way finish.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    figures: Arc<ProcessFigures>,
    stop: CancellationToken,
) {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(places()));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => match places.clone().try_acquire_owned() {
                Ok(place) => {
                    let place = Connected::new(place, figures.clone());
                    connect(stream, peer, router.clone(), &graceful, place);
                }
                Err(_) => {
                    figures.connections_refused.fetch_add(1, Relaxed);
                }
            },
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    if tokio::time::timeout(LAST_ANSWERS, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish in time and are cut off");
    }
}

/// A connection's place, until it ends.
struct Connected {
    _place: OwnedSemaphorePermit,
    figures: Arc<ProcessFigures>,
}

impl Connected {
    fn new(place: OwnedSemaphorePermit, figures: Arc<ProcessFigures>) -> Self {
        figures.connections.fetch_add(1, Relaxed);
        Self { _place: place, figures }
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.figures.connections.fetch_sub(1, Relaxed);
    }
}

fn connect(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    graceful: &GracefulShutdown,
    place: Connected,
) {
    // Live events are small; waiting to fill a packet would delay each of them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY cannot be set");
    }
    let service = router.map_request(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        request
    });
    let mut server = auto::Builder::new(TokioExecutor::new());
    server
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_headers(100)
        .max_buf_size(MAX_HEADERS);
    server
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(20))
        .max_concurrent_streams(MAX_STREAMS)
        .max_pending_accept_reset_streams(MAX_RESETS)
        .max_header_list_size(MAX_HEADERS as u32);
    let io = TokioIo::new(Greeted::new(stream));
    let connection = server.serve_connection_with_upgrades(io, TowerToHyperService::new(service));
    let connection = graceful.watch(connection.into_owned());
    tokio::spawn(async move {
        let _place = place;
        if let Err(error) = connection.await {
            tracing::debug!(%error, %peer, "a connection ended badly");
        }
    });
}

/// How an HTTP/2 client begins; anything else is HTTP/1.
const HTTP2_GREETING: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A stream that must show in time which protocol it speaks. Until then hyper runs no timer of its own.
struct Greeted {
    stream: TcpStream,
    /// How much of the HTTP/2 greeting has come; nothing else has.
    seen: usize,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl Greeted {
    fn new(stream: TcpStream) -> Self {
        Self { stream, seen: 0, deadline: Some(Box::pin(tokio::time::sleep(HEADER_TIMEOUT))) }
    }

    fn hear(&mut self, bytes: &[u8]) {
        let expected = &HTTP2_GREETING[self.seen..];
        let length = bytes.len().min(expected.len());
        self.seen += length;
        if bytes[..length] != expected[..length] || self.seen == HTTP2_GREETING.len() {
            self.deadline = None;
        }
    }
}

impl AsyncRead for Greeted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if self.deadline.is_some() {
            self.hear(&buf.filled()[before..]);
        }
        let late =
            read.is_pending() && self.deadline.as_mut().is_some_and(|d| d.as_mut().poll(cx).is_ready());
        if late { Poll::Ready(Err(io::ErrorKind::TimedOut.into())) } else { read }
    }
}

impl AsyncWrite for Greeted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
