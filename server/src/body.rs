//! The body of a request, bounded in size and in time: one that grows too large or stops coming is cut off, and the
//! reason is noted for the answer.

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use leasehold_types::{Problem, ProblemCode};
use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, Sleep};

/// How long a body may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Without a byte for so long, it is not coming any more.
    pub idle: Duration,
    /// Two megabytes take less on any line; a byte now and then does not keep a place for ever.
    pub whole: Duration,
}

pub const PATIENCE: Patience = Patience { idle: Duration::from_secs(30), whole: Duration::from_secs(120) };

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    TooLarge,
    TooSlow,
}

impl Cut {
    pub fn problem(self) -> Problem {
        match self {
            Self::TooLarge => Problem::new(
                ProblemCode::PayloadTooLarge,
                "A request may carry at most 2 MiB. Nothing was changed.",
            ),
            Self::TooSlow => {
                let detail = "The request's body did not arrive in time. Nothing was changed.";
                Problem::new(ProblemCode::RequestTimeout, detail)
            }
        }
    }
}

pub struct Bounded {
    body: Body,
    left: usize,
    idle: Duration,
    end: Instant,
    waiting: Pin<Box<Sleep>>,
    cut: Arc<OnceLock<Cut>>,
}

impl Bounded {
    pub fn new(body: Body, most: usize, patience: Patience, cut: Arc<OnceLock<Cut>>) -> Self {
        let now = Instant::now();
        let waiting = Box::pin(tokio::time::sleep_until(now + patience.idle));
        Self { body, left: most, idle: patience.idle, end: now + patience.whole, waiting, cut }
    }

    fn give_up(&self, why: Cut) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // The first reason stays.
        let _ = self.cut.set(why);
        Poll::Ready(Some(Err(axum::Error::new(why.problem()))))
    }
}

impl HttpBody for Bounded {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(frame) => frame,
            Poll::Pending if self.waiting.as_mut().poll(cx).is_ready() => return self.give_up(Cut::TooSlow),
            Poll::Pending => return Poll::Pending,
        };
        let length =
            frame.as_ref().and_then(|f| f.as_ref().ok()).and_then(Frame::data_ref).map_or(0, Bytes::len);
        if length > self.left {
            return self.give_up(Cut::TooLarge);
        }
        self.left -= length;
        let until = (Instant::now() + self.idle).min(self.end);
        self.waiting.as_mut().reset(until);
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream;
    use http_body_util::BodyExt;
    use std::convert::Infallible;

    #[tokio::test]
    async fn a_body_that_stops_coming_or_drips_is_cut_off() {
        let patience = Patience { idle: Duration::from_millis(200), whole: Duration::from_millis(600) };
        let never = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        let drip = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Some((Ok::<_, Infallible>(Bytes::from_static(b"x")), ()))
        });
        for (body, at_least) in [(never, patience.idle), (Body::from_stream(drip), patience.whole)] {
            let (cut, began) = (Arc::new(OnceLock::new()), Instant::now());
            let cut_off = Bounded::new(body, 10_000, patience, cut.clone()).collect();
            let read = tokio::time::timeout(Duration::from_secs(20), cut_off).await;
            assert!(read.expect("it ends").is_err());
            assert_eq!(cut.get(), Some(&Cut::TooSlow));
            assert!(began.elapsed() >= at_least, "{:?}", began.elapsed());
        }
    }

    #[tokio::test]
    async fn a_body_may_be_as_large_as_allowed_and_not_larger() {
        for (length, fits) in [(99, true), (100, true), (101, false)] {
            let cut = Arc::new(OnceLock::new());
            let body = Body::from(vec![b'x'; length]);
            assert_eq!(
                Bounded::new(body, 100, PATIENCE, cut.clone()).collect().await.is_ok(),
                fits,
                "{length}"
            );
            assert_eq!(cut.get().is_some(), !fits);
        }
    }
}
