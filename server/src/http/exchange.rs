//! An answer's body, handed over in small pieces, so that it shows whose turn it is: ours, while there is nothing to
//! send, or the client's, while a piece waits to be read. (HTTP/2 clients may read the connection and yet not a stream.)

use super::activity::Exchange;
use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use std::{
    pin::Pin,
    task::{Context, Poll},
};

const PIECE: usize = 16 * 1024;

pub struct WatchedBody {
    body: Body,
    /// Of the last frame, what is still to be handed over.
    rest: Bytes,
    exchange: Exchange,
}

impl WatchedBody {
    pub fn new(body: Body, exchange: Exchange) -> Self {
        // Until it is asked for, the client has not read what came before it.
        exchange.waits_for_client();
        Self { body, rest: Bytes::new(), exchange }
    }

    fn piece(&mut self) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.exchange.waits_for_client();
        let length = self.rest.len().min(PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }
}

impl HttpBody for WatchedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if !self.rest.is_empty() {
            return self.piece();
        }
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        match frame {
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) if data.len() > PIECE => {
                    self.rest = data;
                    self.piece()
                }
                Ok(data) => {
                    self.exchange.waits_for_client();
                    Poll::Ready(Some(Ok(Frame::data(data))))
                }
                Err(other) => Poll::Ready(Some(Ok(other))),
            },
            Poll::Pending => {
                self.exchange.waits_for_us();
                Poll::Pending
            }
            ended => ended,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::{super::activity::Activity, *};
    use http_body_util::BodyExt;
    use std::sync::Arc;

    #[tokio::test]
    async fn a_large_body_comes_whole_and_in_pieces() {
        let bytes: Vec<u8> = (0..100_000_u32).map(|n| n as u8).collect();
        let activity = Arc::new(Activity::default());
        let mut body = WatchedBody::new(Body::from(bytes.clone()), activity.begin());
        let mut read = Vec::new();
        while !body.is_end_stream() {
            assert_eq!(body.size_hint().exact(), Some((bytes.len() - read.len()) as u64));
            let piece = body.frame().await.unwrap().unwrap().into_data().unwrap();
            assert!(piece.len() <= PIECE);
            read.extend_from_slice(&piece);
        }
        assert!(read == bytes);
    }
}
