//! The HTTP server: hyper with the timers axum's own `serve` lacks, HTTP/1 and HTTP/2 on one port, and a
//! shutdown that lets requests finish but does not wait for ever.
//!
//! No client holds a connection for nothing: [`places`] says who may have one, [`activity`] when one is given up.

mod activity;
mod exchange;
mod guarded;
mod places;

use crate::{metrics::ProcessFigures, proxies::TrustedProxies};
use activity::{Activity, Verdict};
use axum::{Router, body::Body, extract::ConnectInfo, http::Request};
use exchange::WatchedBody;
use guarded::GuardedStream;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulConnection},
};
use places::{Place, Places};
use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt;

const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long requests that are still being answered may take once the server stops.
const LAST_ANSWERS: Duration = Duration::from_secs(3);
/// After a failed accept (out of file descriptors), trying at once would only burn the processor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long a client may take to say goodbye once it was told to go.
const GOODBYE: Duration = Duration::from_secs(5);

/// Headers of one request together; larger ones are answered with 431.
const MAX_HEADERS: usize = 64 * 1024;
/// Streams of one HTTP/2 connection at a time, and streams a client may reset before it is sent away.
const MAX_STREAMS: u32 = 128;
const MAX_RESETS: usize = 32;
/// Of one HTTP/2 stream, what waits here to be read.
const MAX_UNREAD: usize = 64 * 1024;
/// What the kernel keeps of one connection until it is read. Larger ones would hide for minutes that a slow reader
/// still reads: there is room again only when a third of it is gone.
const SEND_BUFFER: u32 = 64 * 1024;
const BACKLOG: u32 = 1_024;

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ConnectionLimits {
    /// Connections one address may have; 0 is no limit.
    pub per_address: usize,
    /// What waits to be read must be read on within this.
    pub write_timeout: Duration,
    /// Without a request for so long, the connection ends.
    pub idle_timeout: Duration,
}

impl ConnectionLimits {
    /// How often a connection is looked at.
    fn every(&self) -> Duration {
        let shorter = self.write_timeout.min(self.idle_timeout);
        (shorter / 4).clamp(Duration::from_millis(50), Duration::from_secs(5))
    }

    /// The longest a connection lasts that is of no use to anybody.
    #[cfg(test)]
    pub fn longest_hold(&self) -> Duration {
        self.write_timeout.max(self.idle_timeout) + 2 * self.every() + GOODBYE
    }
}

/// Listens, with sockets that tell soon when a client has stopped reading.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    // Connections that are accepted have it from here.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// What all connections share.
pub struct Connections {
    pub router: Router,
    pub limits: ConnectionLimits,
    pub proxies: TrustedProxies,
    pub figures: Arc<ProcessFigures>,
}

impl Connections {
    /// Serves until `stop`, then lets what is under way finish.
    pub async fn serve(self, listener: TcpListener, stop: CancellationToken) {
        let places = Arc::new(Places::new(self.limits.per_address, self.proxies.clone()));
        let (shared, open) = (Arc::new(self), TaskTracker::new());
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => match places.enter(peer.ip()) {
                    Some(place) => {
                        open.spawn(shared.clone().connected(stream, peer, place, stop.clone()));
                    }
                    None => {
                        shared.figures.connections_refused.fetch_add(1, Relaxed);
                    }
                },
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(listener);
        open.close();
        if tokio::time::timeout(LAST_ANSWERS, open.wait()).await.is_err() {
            tracing::warn!("some requests did not finish in time and are cut off");
        }
    }

    /// One connection, from its first byte to its end.
    async fn connected(
        self: Arc<Self>,
        stream: TcpStream,
        peer: SocketAddr,
        place: Place,
        stop: CancellationToken,
    ) {
        let _counted = (place, Counted::new(self.figures.clone()));
        // Live events are small; waiting to fill a packet would delay each of them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY cannot be set");
        }
        let activity = Arc::new(Activity::default());
        let (router, exchanges) = (self.router.clone(), activity.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            let (router, exchange) = (router.clone(), exchanges.begin());
            async move {
                let mut request = request.map(Body::new);
                request.extensions_mut().insert(ConnectInfo(peer));
                let Ok(response) = router.oneshot(request).await;
                Ok::<_, Infallible>(response.map(|body| WatchedBody::new(body, exchange)))
            }
        });
        let io = TokioIo::new(GuardedStream::new(stream, HEADER_TIMEOUT, activity.clone()));
        let server = builder();
        let connection = std::pin::pin!(server.serve_connection(io, service));
        if let Err(error) = self.watched(connection, &activity, peer, stop).await {
            tracing::debug!(%error, %peer, "a connection ended badly");
        }
    }

    /// Drives a connection to its end, and ends it when it is of no use any more.
    async fn watched<C: GracefulConnection>(
        &self,
        mut connection: Pin<&mut C>,
        activity: &Activity,
        peer: SocketAddr,
        stop: CancellationToken,
    ) -> Result<(), C::Error> {
        let trusted = self.proxies.contains(peer.ip());
        let mut looks = tokio::time::interval(self.limits.every());
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut told_to_go: Option<Instant> = None;
        loop {
            tokio::select! {
                // On a busy machine a request may have been waiting to be read: it counts before the clock does.
                biased;
                ended = &mut connection => return ended,
                () = stop.cancelled(), if told_to_go.is_none() => {
                    told_to_go = Some(Instant::now());
                    connection.as_mut().graceful_shutdown();
                }
                _ = looks.tick() => match (activity.verdict(&self.limits, trusted, Instant::now()), told_to_go) {
                    (Verdict::Fine, _) => {}
                    (Verdict::Stalled, _) => {
                        self.figures.connections_stalled.fetch_add(1, Relaxed);
                        tracing::debug!(%peer, "a connection was closed: its answers are not read");
                        return Ok(());
                    }
                    (Verdict::Idle, None) => {
                        self.figures.connections_idle.fetch_add(1, Relaxed);
                        told_to_go = Some(Instant::now());
                        connection.as_mut().graceful_shutdown();
                    }
                    (Verdict::Idle, Some(since)) if since.elapsed() >= GOODBYE => return Ok(()),
                    (Verdict::Idle, Some(_)) => {}
                },
            }
        }
    }
}

fn builder() -> auto::Builder<TokioExecutor> {
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
        .max_send_buf_size(MAX_UNREAD)
        .max_header_list_size(MAX_HEADERS as u32);
    server
}

/// A connection in the figures, until it ends.
struct Counted(Arc<ProcessFigures>);

impl Counted {
    fn new(figures: Arc<ProcessFigures>) -> Self {
        figures.connections.fetch_add(1, Relaxed);
        Self(figures)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Relaxed);
    }
}
