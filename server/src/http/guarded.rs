//! A stream that must show in time which protocol it speaks (until then hyper runs no timer of its own), and that
//! notes when nobody reads from it.

use super::activity::Activity;
use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::Sleep,
};

/// How an HTTP/2 client begins; anything else is HTTP/1.
const HTTP2_GREETING: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub struct GuardedStream {
    stream: TcpStream,
    /// How much of the HTTP/2 greeting has come; nothing else has.
    seen: usize,
    deadline: Option<Pin<Box<Sleep>>>,
    activity: Arc<Activity>,
}

impl GuardedStream {
    pub fn new(stream: TcpStream, patience: Duration, activity: Arc<Activity>) -> Self {
        Self { stream, seen: 0, deadline: Some(Box::pin(tokio::time::sleep(patience))), activity }
    }

    fn hear(&mut self, bytes: &[u8]) {
        let expected = &HTTP2_GREETING[self.seen..];
        let length = bytes.len().min(expected.len());
        self.seen += length;
        if bytes[..length] != expected[..length] || self.seen == HTTP2_GREETING.len() {
            self.deadline = None;
        }
    }

    fn note(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Pending => self.activity.blocked(Instant::now()),
            Poll::Ready(_) => self.activity.wrote(Instant::now()),
        }
        written
    }
}

impl AsyncRead for GuardedStream {
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

impl AsyncWrite for GuardedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.note(written)
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
