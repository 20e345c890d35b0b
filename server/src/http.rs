//! The HTTP server: hyper with the timers axum's own `serve` lacks, HTTP/1 and HTTP/2 on one port, and a
//! shutdown that lets requests finish but does not wait for ever.

use axum::{Router, body::Body, extract::ConnectInfo, http::Request};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
    service::TowerToHyperService,
};
use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    time::Sleep,
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long requests that are still being answered may take once the server stops.
const LAST_ANSWERS: Duration = Duration::from_secs(3);
/// After a failed accept (out of file descriptors), trying at once would only burn the processor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until `stop`, then lets what is under way finish.
pub async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => connect(stream, peer, router.clone(), &graceful),
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

fn connect(stream: TcpStream, peer: SocketAddr, router: Router, graceful: &GracefulShutdown) {
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
    server.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    server.http2().timer(TokioTimer::new()).keep_alive_interval(Duration::from_secs(20));
    let io = TokioIo::new(Greeted::new(stream));
    let connection = server.serve_connection_with_upgrades(io, TowerToHyperService::new(service));
    let connection = graceful.watch(connection.into_owned());
    tokio::spawn(async move {
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
